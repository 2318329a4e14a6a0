"""A gateway as the scripts see it: connections by place, what it knows of the line, its own stream, parks on their way.

It follows gateway/*.c: positions from the picture and the announcements alone, lookups with its own conn as the condition,
parks repeated until there is an answer. An actor's methods that are generators are tasks: they yield calls to Redis and
get the answers; an answer that never comes is the exception Unanswered.
"""
import bisect

from ledger import WAITING, Violation

BEAT_LIMIT = 5000
SWEEP_AUDIT = 4


class Unanswered(Exception):
    """The call timed out. It may have been carried out."""


class Connection:
    __slots__ = ('place', 'ticket', 'conn', 'gen', 'epoch', 'user', 'visitor', 'shown', 'admitted', 'overdue', 'asked')

    def __init__(self, reply, conn, user, visitor):
        self.place, self.epoch, self.ticket, self.gen = reply[1], reply[2], reply[3], reply[4]
        self.conn, self.user, self.visitor = conn, user, visitor
        self.admitted = reply[0] == 'admitted'
        self.shown = None if self.admitted else reply[5]
        self.overdue, self.asked = None, False


class Knowledge:
    """One gateway's picture of the line: position(t) = (t − h) − |departed ∩ (h, t]|, h = max(head, base)."""

    def __init__(self, epoch, rev, base, head, tail, departed, url):
        self.epoch, self.rev, self.base, self.head, self.tail = epoch, rev, base, head, tail
        self.departed, self.url = departed, url

    def front(self, flags):
        return self.head if 'front is head' in flags else max(self.head, self.base)

    def ranks(self, flags):
        """A function from ticket to position; 0 for one that does not wait."""
        front = self.front(flags)
        gone = sorted(t for t in self.departed if t > front)

        def position(ticket):
            if ticket <= front or ticket in self.departed:
                return 0
            return ticket - front - bisect.bisect_right(gone, ticket)
        return position


def bits_to_tickets(first, bits):
    return {first + i * 8 + bit for i, char in enumerate(bits) if char != '\0'
            for bit in range(8) if ord(char) & (128 >> bit)}


class Gateway:
    kind = 'gateway'

    def __init__(self, world, id):
        self.world, self.id, self.flags = world, id, world.flags
        self.boot = 'b%d' % world.next_number()
        self.name = id + '.' + (self.boot if 'no boot' not in self.flags else '0')
        self.dead, self.frozen_until, self.open = False, 0, False
        self.connections, self.known = {}, None
        self.parks, self.minted = [], 0
        self.syncing = self.again = self.reading = False
        self.pending, self.has_group = True, False
        self.drained = False  # the last read found nothing
        self.beat_at = self.second_at = world.mono
        self.seconds = self.audited = 0

    # ---- life ----

    def start(self):
        while True:
            try:
                yield ('!', 'ZADD', 'servers', self.world.now, self.name)
                break
            except Unanswered:
                pass
        self.open, self.beat_at = True, self.world.mono
        yield from self.forget_older_boots()

    def forget_older_boots(self):
        listed = yield ('!', 'ZRANGE', 'servers', 0, -1)
        for name in listed:
            if name != self.name and name.split('.')[0] == self.id:
                yield ('!', 'ZREM', 'servers', name)

    def crash(self):
        self.dead = True
        for connection in list(self.connections.values()):
            connection.visitor.lost(connection)
        self.connections.clear()
        self.world.gateway_died(self)

    def mint(self):
        self.minted += 1
        return '%s:%d' % (self.boot, self.minted)

    def known_args(self):
        return (self.known.epoch, self.known.tail) if self.known else (0, 0)

    # ---- visitors ----

    def arrive(self, visitor, mode):
        """A stream or a POST join: the old place by its ticket, else a new one."""
        conn, place, joined = self.mint(), None, False
        try:
            if not self.known:
                yield from self.sync_once()
            place = visitor.ticket[0] if visitor.ticket else None
            if place:
                answer = yield ('resume', place, self.name, conn, mode, '') + self.known_args()
            if not place or answer[0] == 'gone':
                place, joined = self.world.mint_place(), True
                answer = yield ('join', place, visitor.user, self.name, conn, mode) + self.known_args() + ('doorbell', 's')
        except Unanswered:
            if place and 'no park after silence' not in self.flags:
                self.park(place, conn, visitor.user, joined)
            visitor.refused('unavailable')
            return
        finally:
            visitor.busy = False
        self.arrived(visitor, mode, conn, answer, joined)

    def arrived(self, visitor, mode, conn, answer, joined):
        outcome = answer[0]
        if visitor.aborted:
            visitor.aborted = False
            if outcome in ('waiting', 'admitted'):
                self.park(answer[1], conn, visitor.user, joined)
        elif outcome == 'entered':
            visitor.entered(answer[1], answer[3])
        elif outcome in ('waiting', 'admitted'):
            self.world.ledger.places[answer[1]].told = True
            visitor.placed(answer)
            if mode == 'stream':
                self.connect(visitor, conn, answer)
        else:
            visitor.refused(outcome)
        if outcome in ('waiting', 'admitted', 'entered') and self.known and answer[2] != self.known.epoch:
            self.sync()

    def connect(self, visitor, conn, answer):
        older = self.connections.get(answer[1])
        if older:
            self.end(older, 'superseded')
        self.connections[answer[1]] = visitor.connection = Connection(answer, conn, visitor.user, visitor)
        visitor.gateway = self
        if answer[10] not in ('', self.name):
            self.spawn(self.send(answer[10], 'type', 'superseded', 'epoch', answer[2], 'place', answer[1], 'gen', answer[11]))

    def send(self, server, *fields):
        yield ('!', 'XADD', 'server:%s:stream' % server.split('.')[0], 'NOMKSTREAM', 'MAXLEN', '~', 1000, '*') + fields

    def end(self, connection, why, token=None):
        """The last event of a stream: the place is forgotten here, Redis knows already."""
        if self.connections.get(connection.place) is connection:
            del self.connections[connection.place]
        connection.visitor.told_end(connection, why, token)

    def lose(self, connection):
        """The stream broke."""
        if self.connections.get(connection.place) is connection:
            del self.connections[connection.place]
            connection.visitor.lost(connection)
            self.park(connection.place, connection.conn, connection.user, False)

    def poll(self, visitor):
        try:
            answer = yield ('status', visitor.ticket[0], 'poll') + self.known_args()
        finally:
            visitor.busy = False
        if answer[0] == 'entered':
            visitor.entered(visitor.ticket[0], answer[3])
        elif answer[0] in ('gone', 'deleted'):
            visitor.refused(answer[0])

    def release(self, place):
        yield ('release', place, 900, '%d (released)' % self.world.now, 'doorbell', 's')

    def leave(self, ticket):
        connection = self.connections.get(ticket[0])
        self.spawn_repeated(('leave', ticket[0], ticket[3]))
        if connection and connection.gen == ticket[3]:
            self.end(connection, 'left')

    def park(self, place, conn, user, short):
        self.spawn_repeated(('park', place, conn, user, 'short' if short else ''))

    def spawn(self, task, lane='line'):
        self.world.spawn(self, task, lane)

    def spawn_repeated(self, call):
        def repeated():
            try:
                yield call
            except Unanswered:
                self.parks.append(call)
        self.spawn(repeated())

    # ---- what is known of the line ----

    def sync(self):
        if self.syncing:
            self.again = True
            return
        self.syncing = True
        self.spawn(self.sync_task())

    def sync_task(self):
        try:
            yield from self.sync_once()
        except Unanswered:
            pass
        self.syncing = False
        if self.again:
            self.again = False
            self.sync()

    def sync_once(self):
        if 'torn sync' in self.flags and self.known:
            bits = yield ('!', 'GETRANGE', 'session:{s}:departed', 0, -1)
            self.known.departed = bits_to_tickets(self.known.base, bits)
            numbers = yield ('!', 'HMGET', 'session:{s}:state', 'epoch', 'rev', 'base', 'head', 'tail')
            url = yield ('!', 'HGET', 'session:{s}:config', 'entryUrl')
            if None in numbers:
                return
            answer = ['ok'] + [int(number) for number in numbers] + [0, '', '', int(numbers[2]), bits, url or '']
        else:
            answer = yield ('sync',)
        if answer[0] == 'deleted':
            self.close_all('closed', 1 << 60)
            self.known = None
        elif answer[0] == 'ok':
            self.take_picture(answer)

    def take_picture(self, answer):
        epoch, rev, base, head, tail = answer[1:6]
        if self.known and self.known.epoch == epoch and rev < self.known.rev:
            return
        departed = bits_to_tickets(answer[9], answer[10])
        self.known = Knowledge(epoch, rev, base, head, tail, departed, answer[11])
        self.world.count['pictures'] += 1
        self.push()

    def push(self):
        """Shows everybody their position, and asks the ledger whether anybody was promised too much."""
        position, ledger = self.known.ranks(self.flags), self.world.ledger
        for connection in self.connections.values():
            shown = position(connection.ticket)
            if connection.admitted or connection.epoch != self.known.epoch or shown == 0:
                continue
            if connection.shown is not None and shown > connection.shown:
                shown = connection.shown
            place = ledger.places[connection.place]
            if place.state == WAITING and not ledger.deleted and connection.epoch == ledger.epoch:
                if shown < ledger.rank(connection.ticket):
                    raise Violation('wrong position', '%s shows %d to %r, it is %d; knows rev %d head %d base %d' % (
                        self.name, shown, place, ledger.rank(connection.ticket), self.known.rev, self.known.head,
                        self.known.base))
            connection.shown = shown

    def take_state(self, message):
        epoch, rev = int(message['epoch']), int(message['rev'])
        known = self.known
        if known and (epoch, rev) <= (known.epoch, known.rev) and 'no order of revs' not in self.flags:
            return
        if not known or epoch != known.epoch or message['departed'] == '*' or \
                (rev != known.rev + 1 and 'gaps are ignored' not in self.flags):
            self.sync()
            return
        known.rev, known.base = rev, int(message['base'])
        known.head, known.tail = int(message['head']), int(message['tail'])
        if message['departed']:
            known.departed.update(int(ticket) for ticket in message['departed'].split(','))
        if len(known.departed) > 500:
            known.departed = {t for t in known.departed if t > max(known.head, known.base)}
        self.push()

    def close_all(self, reason, tail):
        for connection in list(self.connections.values()):
            if connection.ticket <= tail:
                self.end(connection, reason)

    def closed(self, reason, tail):
        """Everybody up to TAIL was let go, but for those admitted before whose entry may have been lost on its way: asked."""
        if 'closed unasked' in self.flags:
            self.close_all(reason, tail)
            return
        for connection in list(self.connections.values()):
            if connection.ticket <= tail:
                self.look_up(connection, reason)

    def take_message(self, message):
        connection = self.connections.get(message.get('place'))
        kind = message['type']
        if kind == 'waiting-state':
            self.take_state(message)
        elif kind == 'entry' and connection:
            self.end(connection, 'entered', message['token'])
        elif kind == 'superseded' and connection and connection.gen <= int(message['gen']):
            self.end(connection, 'superseded')
        elif kind == 'closed' and self.known and int(message['epoch']) == self.known.epoch:
            self.closed(message['reason'], int(message['tail']))

    # ---- its stream ----

    def read(self):
        self.reading = True
        key = 'server:%s:stream' % self.id
        try:
            if not self.has_group:
                yield ('!', 'XGROUP', 'CREATE', key, 'gateway', '0', 'MKSTREAM')
                self.has_group = self.pending = True
                self.resynchronise()
            answer = yield ('!', 'XREADGROUP', 'GROUP', 'gateway', self.id, 'COUNT', 10, 'STREAMS', key,
                            '0' if self.pending else '>')
            if isinstance(answer, Exception):
                self.has_group = False
                return
            entries = answer[0][1] if answer else []
            self.drained = not entries and not self.pending
            if self.pending and not entries:
                self.pending = False
            for _, fields in entries:
                if fields:
                    self.take_message(dict(zip(fields[::2], fields[1::2])))
            if entries:
                ids = tuple(entry[0] for entry in entries)
                yield ('!', 'XACK', key, 'gateway') + ids
                yield ('!', 'XDEL', key) + ids
        except Unanswered:
            self.pending = True
        finally:
            self.reading = False

    # ---- each second ----

    def second(self):
        """Heartbeat, then what was put off, then the sweep. After a silence in which others may have parked our places they
        are taken back, but only once the heartbeat is there: else the next reaper parks them again."""
        try:
            yield ('!', 'ZADD', 'servers', self.world.now, self.name)
            silent, self.beat_at = self.world.mono - self.beat_at > BEAT_LIMIT, self.world.mono
            if silent and 'no reclaim' not in self.flags:
                self.resynchronise()
            yield from self.forget_older_boots()
        except Unanswered:
            pass
        put_off, self.parks = self.parks, []
        for call in put_off:
            self.spawn_repeated(call)
        self.seconds += 1
        if self.connections and 'no sweep' not in self.flags:
            yield from self.sweep()

    def sweep(self):
        epoch, rev, phase = yield ('!', 'HMGET', 'session:{s}:state', 'epoch', 'rev', 'phase')
        if phase == 'deleted' or not self.known or (int(epoch or 0), int(rev or 0)) != (self.known.epoch, self.known.rev):
            self.sync()
        connections = list(self.connections.values())
        if self.known:
            for connection in connections:
                self.check_overdue(connection)
        for _ in range(min(SWEEP_AUDIT, len(connections)) if 'no audit' not in self.flags else 0):
            self.audited += 1
            self.look_up(connections[self.audited % len(connections)])

    def check_overdue(self, connection):
        """Behind the head and no entry for two seconds, or departed: what happened to it?"""
        if connection.ticket > self.known.front(self.flags):
            connection.overdue = None
        elif connection.overdue is None:
            connection.overdue = self.world.mono
        elif self.world.mono - connection.overdue >= 2000:
            self.look_up(connection)
        if connection.ticket in self.known.departed:
            self.look_up(connection)

    def resynchronise(self):
        self.world.count['resynchronised'] += 1
        self.sync()
        for connection in list(self.connections.values()):
            self.look_up(connection)

    def look_up(self, connection, reason='expired'):
        if not connection.asked:
            connection.asked = True
            self.spawn(self.look_up_task(connection, reason))

    def look_up_task(self, connection, reason):
        try:
            answer = yield ('resume', connection.place, self.name, connection.conn, 'stream', connection.conn, 0, 0)
        except Unanswered:
            return
        finally:
            connection.asked = False
        if self.connections.get(connection.place) is not connection:
            return
        outcome = answer[0]
        if outcome == 'entered':
            self.world.count['entries found by the sweep'] += 1
            self.end(connection, 'entered', answer[3])
        elif outcome in ('waiting', 'admitted'):
            connection.gen, connection.admitted = answer[4], outcome == 'admitted'
        elif outcome == 'moved':
            self.end(connection, 'superseded')
        elif outcome in ('gone', 'deleted'):
            self.end(connection, reason)


