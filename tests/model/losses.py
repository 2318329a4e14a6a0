"""Redis loses its data again and again while people join, leave, reconnect and are let in: a random simulation of what gateways and
publishers do about it (gateway/restoration.c, gateway/sweep.c, publisher/recovery.c), with the real scripts.

Its ledger is no account of every call, as in ledger.py, but of persons: whoever is connected to a gateway that stays awake keeps the number of
the first ticket until an entry, and nobody who had an entry is let in again. What is not promised is not asked for: a frozen gateway's
places, and what nobody alive had heard of.
"""
import collections
import copy
import random

from gateway import bits_to_tickets
from ledger import Violation, require
from resp import RedisError
from scripts import PREFIX, Scripts

START = 1_000_000_000_000
GATEWAYS, PUBLISHERS, PERSONS = 3, 2, 40
WINDOW, LEASE, STEP = 6000, 3000, 5000
STATE = PREFIX + 'state'


class Silence(Exception):
    """No answer came; the command may have been carried out."""


class Person:
    def __init__(self, place):
        self.place, self.number, self.gen, self.epoch, self.state, self.gateway = place, None, 0, 0, 'new', None
        self.conn, self.admissions, self.ghost = '', 0, False
        self.shown_at = 0  # put back by the ticket: no later ticket tells of that, should it be lost too
        self.forfeited = False  # nothing is promised any more: the gateway was frozen, or nobody alive knew

    def __repr__(self):
        return '%s (number %s, gen %d, %s, admitted %d times)' % (self.place, self.number, self.gen, self.state, self.admissions)


class Actor:
    """What a process knows of the line; frozen until a time."""

    def __init__(self, world, name):
        self.world, self.name, self.frozen_until = world, name, 0
        self.epoch = self.rev = self.tail = self.head = self.admitted = 0
        self.kept = None
        self.since = world.now  # awake since then

    @property
    def awake(self):
        return self.frozen_until <= self.world.now

    def keep(self):
        reply = self.world.call('keep')
        if reply[0] == 'ok' and (not self.kept or reply[2] >= self.kept[2]):
            self.kept = reply

    def reopen(self, servers=()):
        """Opens the session again with all that is known here."""
        if not self.kept or not self.epoch:
            return 0
        config, state = self.kept[3], self.kept[4]
        reply = self.world.call('reopen', self.epoch, self.rev, max(self.tail, self.head), self.head, self.admitted, WINDOW, self.kept[2], len(config),
                                *config, len(state), *state, *servers)
        self.world.count['reopened by a ' + type(self).__name__.lower()] += reply[0] == 'ok' and reply[3]
        return reply[1] if reply[0] == 'ok' else 0


class Gateway(Actor):
    def __init__(self, world, name):
        super().__init__(world, name)
        self.persons, self.opened, self.restored, self.restoring, self.looked = {}, 0, 0, False, 0

    def conn(self):
        self.world.numbers += 1
        return '%s:%d' % (self.name, self.world.numbers)

    def known(self):
        return self.epoch, self.tail

    def open(self):
        self.opened = self.reopen() or self.opened
        self.sync()

    def sync(self):
        picture = self.world.call('sync')
        if picture[0] == 'none':
            self.open_again()
        if picture[0] != 'ok':
            return
        epoch, rev, _, head, tail, _, phase = picture[1:8]
        restoring = phase == 'restoring'
        if self.epoch and (epoch < self.epoch or restoring and epoch > self.epoch and epoch != self.opened):
            self.opened = self.reopen() or self.opened
            if epoch < self.epoch:
                return
        if epoch == self.epoch and rev < self.rev:
            return
        if epoch != self.epoch:
            self.tail, self.head = tail, head
        self.epoch, self.rev, self.restoring = epoch, rev, restoring
        self.tail, self.head, self.admitted = max(self.tail, tail), max(self.head, head), int(picture[20])
        self.keep()
        self.put_back()

    def open_again(self):
        self.opened = self.reopen() or self.opened

    def put_back(self):
        """Those of an older epoch, some a call; the last call says that it is done."""
        while True:
            lost = [p for p in self.persons.values() if p.epoch < self.epoch][:4]
            done = len(lost) < 4
            if not lost and not (self.restoring and self.restored != self.epoch):
                return
            words = [word for p in lost for word in (p.place, p.number, 0, p.gen, p.conn, '', p.epoch)]
            reply = self.world.call('restore', 'open', self.name, int(done), *words)
            if reply[0] != 'ok':
                return
            if done:
                self.restored = self.epoch
            for person, outcome in zip(lost, reply[2:]):
                self.decided(person, outcome, reply[1])

    def decided(self, person, outcome, epoch):
        self.world.count['put back: ' + outcome] += 1
        if outcome in ('waiting', 'admitted'):
            person.epoch = epoch
            self.world.put_back_by_a_ghost(person)
        elif outcome == 'entered':
            person.epoch = epoch
            self.look_up(person)
        else:
            require(person.forfeited, 'lost', person, 'is', outcome, 'to', self.name, 'which never slept')
            self.lose(person, 'gone')

    def look_up(self, person):
        reply = self.world.call('resume', person.place, self.name, person.conn, 'stream', person.conn, max(self.epoch, person.epoch),
                                max(self.tail, person.number) if self.epoch == person.epoch else self.tail, person.gen)
        if reply[0] == 'entered':
            self.enter(person, reply[3])
        elif reply[0] == 'lost':
            self.open()
        elif reply[0] == 'gone' and reply[2] == person.epoch:
            require(person.forfeited, 'lost', person, 'is said to be gone')
            self.lose(person, 'gone')
        elif reply[0] == 'moved':
            require(person.forfeited, 'lost', person, 'is said to have moved')
            self.lose(person, 'gone')
        elif reply[0] in ('waiting', 'admitted'):
            require(reply[3] == person.number or person.forfeited, 'wrong number', person, 'has', reply[3])
            person.number = reply[3]

    def enter(self, person, token):
        require(person.ghost or token == self.world.tokens.setdefault(person.place, token) or person.forfeited, 'token', person, 'is told a second one')
        self.head = max(self.head, person.number)
        self.lose(person, 'entered')
        self.world.count['entered'] += 1

    def lose(self, person, state):
        self.persons.pop(person.place, None)
        person.state, person.gateway = state, None

    def second(self):
        """Looks when Redis is there again, and then every other second."""
        if self.world.now - self.looked < 1900 and self.looked > self.world.lost_at:
            return
        self.looked = self.world.now
        epoch, rev, tail = [int(word or 0) for word in self.world.redis_call('HMGET', STATE, 'epoch', 'rev', 'tail')]
        if self.persons or self.epoch:
            if (epoch, rev) < (self.epoch, self.rev) or epoch == self.epoch and tail < self.tail:
                self.open()
            elif (epoch, rev) > (self.epoch, self.rev):
                self.sync()
        self.put_back()
        for person in list(self.persons.values()):
            if person.number <= self.head or self.world.random.random() < 0.1:
                self.look_up(person)


class Publisher(Actor):
    def __init__(self, world, name):
        super().__init__(world, name)
        self.servers, self.settled, self.announced = (), [], (0, 0)

    def tick(self):
        settled, self.settled = self.settled, []
        reply = self.world.call('admit', self.name, LEASE, STEP, self.world.run_id, self.epoch, self.rev, *self.announced, '', '', 500, *settled)
        if reply[0] == 'lost' or reply[0] == 'none' and self.epoch:
            if self.reopen(self.servers):
                self.epoch = self.rev = 0
            return
        if reply[0] != 'ok':
            return
        self.epoch, self.rev, self.head, self.tail, self.admitted = reply[1], reply[2], reply[4], reply[5], reply[11]
        self.servers = reply[23]
        self.keep()
        outbox, words = reply[24], []
        for place, expiry in zip(outbox[::5], outbox[4::5]):
            self.world.numbers += 1
            words += [place, 'token-%d' % self.world.numbers, expiry]
        tokens = self.world.call('settle', *words) if words else []
        for place, token, server in zip(tokens[::3], tokens[1::3], tokens[2::3]):
            self.settled.append(place)
            self.tell(place, token, server)
        self.announced = (reply[1], reply[2])
        for gateway in self.world.gateways:
            if gateway.name in self.servers and gateway.awake and gateway.epoch == reply[1] and self.world.random.random() < 0.9:
                gateway.rev, gateway.head, gateway.tail = max(gateway.rev, reply[2]), max(gateway.head, reply[4]), max(gateway.tail, reply[5])

    def tell(self, place, token, server):
        """An entry message; one in five is lost."""
        for gateway in self.world.gateways:
            person = gateway.persons.get(place)
            if gateway.name == server and gateway.awake and person and self.world.random.random() < 0.8:
                gateway.enter(person, token)


class LossWorld:
    def __init__(self, connection, seed, changes=(), count=None):
        self.redis, self.random, self.count = connection, random.Random(seed), count if count is not None else collections.Counter()
        connection.call('FLUSHALL')
        self.scripts = Scripts(connection, changes, self.random.random() < 0.8)
        self.now, self.numbers, self.run_id = START, 0, 'run0'
        self.persons, self.tokens, self.admissions_seen = [], {}, '0'
        self.silence = 0.0
        self.snapshot, self.over = None, False
        self.lost_at = START - 60000
        self.doubt_until = 0  # newcomers are told to come back until everybody has looked (gateway: after Redis was away)
        self.call('configure', 'create', 'absent', '', 'operator', 'create', '{}', 'seed', 'hash', 'batch', self.random.choice((1, 3, 10)),
                  'intervalMs', self.random.choice((300, 1000, 3000)), 'graceMs', 600000, 'tokenTtlSeconds', 3600)
        self.gateways = [Gateway(self, 'g%d.b0' % n) for n in range(GATEWAYS)]
        self.publishers = [Publisher(self, 'p%d' % n) for n in range(PUBLISHERS)]

    # ---- calls ----

    def call(self, name, *args):
        return self.redis_call(*self.scripts.command(name, args, self.now), name=name)

    def redis_call(self, *words, name=''):
        lost = name in ('join', 'resume', 'restore', 'reopen', 'admit', 'settle', 'park', '') and self.random.random() < self.silence
        if lost and self.random.random() < 0.5:
            raise Silence
        replies = self.redis.pipeline([words, ('XRANGE', PREFIX + 'admissions', '(' + self.admissions_seen, '+')])
        if isinstance(replies[0], RedisError):
            raise Violation('error', '%s: %s' % (name, replies[0]))
        for stream_id, fields in replies[1]:
            self.admissions_seen = stream_id
            self.saw_admission(dict(zip(fields[::2], fields[1::2])))
        if lost:
            raise Silence
        return replies[0]

    def saw_admission(self, entry):
        person = next(p for p in self.persons if p.place == entry['place'])
        self.count['admitted'] += 1
        require(person.state != 'left', 'wrong person', person, 'left and is let in')
        require(person.forfeited or person.state != 'entered', 'duplicated', person, 'entered and is let in again')
        person.admissions += 1
        number = int(entry['ticket'])
        require(number == person.number or person.forfeited, 'wrong number', person, 'is let in as', number)
        # Data may have been lost with an entry on its way: then the connection is put back in front, never behind.
        for other in self.persons:
            if other.state == 'connected' and not other.forfeited and other.number < number and not other.admissions:
                require(self.waits(other), 'out of order', person, 'is let in before', other)

    def waits(self, person):
        return self.redis.call('ZSCORE', PREFIX + 'waiting', person.place) is not None

    def attempt(self, act, *args):
        try:
            act(*args)
        except Silence:
            self.count['answers lost'] += 1

    # ---- what people do ----

    def awake(self):
        return [gateway for gateway in self.gateways if gateway.awake]

    def arrive(self):
        gateways = self.awake()
        if not gateways or self.now < self.doubt_until:
            return
        gateway = self.random.choice(gateways)
        away = [p for p in self.persons if p.state == 'away']
        if away and self.random.random() < 0.5:
            self.come_back(gateway, self.random.choice(away))
        elif self.random.random() < 0.1:
            self.come_back_beside(gateway)
        elif len([p for p in self.persons if p.state in ('connected', 'away')]) < PERSONS:
            self.join(gateway)

    def come_back_beside(self, gateway):
        """The old connection is half open: its gateway does not know yet."""
        there = [p for p in self.persons if p.state == 'connected' and p.gateway is not gateway]
        if there:
            person = self.random.choice(there)
            ghost = copy.copy(person)
            ghost.ghost = ghost.forfeited = True
            person.gateway.persons[person.place] = ghost
            person.state, person.gateway = 'away', None
            self.count['half open'] += 1
            self.come_back(gateway, person)

    def put_back_by_a_ghost(self, ghost):
        """A stream that is half open is an open one to its gateway, and no entry came by it: its place is let in once more."""
        if ghost.ghost:
            for person in self.persons:
                person.forfeited = person.forfeited or person.place == ghost.place and person.state == 'entered'

    def join(self, gateway):
        if not gateway.epoch:
            gateway.sync()
        self.numbers += 1
        person = Person('place%06d' % self.numbers)
        person.conn = gateway.conn()
        self.persons.append(person)
        person.state = 'unheard'
        person.forfeited = True  # until somebody has the ticket
        reply = self.call('join', person.place, '', gateway.name, person.conn, 'stream', *gateway.known(), 'doorbell', 's')
        if reply[0] in ('lost', 'none'):
            gateway.open()
        if reply[0] != 'waiting':
            self.persons.remove(person)
            return
        number = reply[3]
        for other in self.persons:
            if other is not person and other.number is not None and other.number >= number and other.state in ('connected', 'away'):
                # Nobody alive who was awake had heard of that ticket: its holder has lost it.
                require(other.forfeited or other.state == 'away' and self.heard() < other.number, 'out of order', 'a newcomer gets', number,
                        'of or before', other)
                other.forfeited = True
        person.number, person.gen, person.epoch, person.state, person.gateway = number, 1, reply[2], 'connected', gateway
        person.forfeited = False
        gateway.persons[person.place] = person
        gateway.tail = max(gateway.tail, reply[9])
        self.count['joined'] += 1

    def heard(self):
        """The highest ticket that anybody awake knows of."""
        return max([actor.tail for actor in self.gateways + self.publishers if actor.awake], default=0)

    def come_back(self, gateway, person):
        """With the ticket: the place, or first what the ticket proves."""
        conn = gateway.conn()
        known = (person.epoch, person.number) if person.epoch > gateway.epoch else \
            (gateway.epoch, max(gateway.tail, person.number) if person.epoch == gateway.epoch else gateway.tail)
        reply = self.call('resume', person.place, gateway.name, conn, 'stream', '', *known, person.gen)
        if reply[0] in ('lost', 'none'):
            gateway.open()
            return
        if reply[0] == 'gone' and person.epoch < reply[2]:
            shown = self.call('restore', 'shown', gateway.name, 0, person.place, person.number, 0, person.gen, conn, '', person.epoch)
            self.count['shown: ' + (shown[2] if shown[0] == 'ok' else shown[0])] += 1
            if shown[0] != 'ok':
                return
            if shown[2] == 'gone':
                head = int(self.redis.call('HGET', STATE, 'head') or 0)
                require(person.number <= head or person.forfeited, 'lost', person, 'comes with a ticket above head', head, 'and is gone')
                person.state = 'gone'
                return
            person.shown_at = self.now
            reply = self.call('resume', person.place, gateway.name, conn, 'stream', '', *known, person.gen)
        if reply[0] == 'entered':
            gateway.enter(person, reply[3])
        elif reply[0] in ('waiting', 'admitted'):
            require(reply[3] == person.number or person.forfeited, 'wrong number', person, 'has', reply[3])
            person.number, person.gen, person.epoch, person.conn = reply[3], reply[4], reply[2], conn
            person.state, person.gateway = 'connected', gateway
            gateway.persons[person.place] = person
            for other in self.gateways:  # told that another connection has the place; one in five never hears it
                if other is not gateway and other.name == reply[10] and other.awake and self.random.random() < 0.8:
                    other.persons.pop(person.place, None)
        elif reply[0] == 'gone':
            require(person.forfeited or person.admissions, 'lost', person, 'comes back and is gone')
            person.state = 'gone'

    def drop(self):
        connected = [p for p in self.persons if p.state == 'connected' and p.gateway.awake]
        if connected:
            person = self.random.choice(connected)
            gateway = person.gateway
            gateway.lose(person, 'away')
            self.call('park', person.place, person.conn, '', '')

    def leave(self):
        connected = [p for p in self.persons if p.state == 'connected' and p.gateway.awake]
        if connected:
            person = self.random.choice(connected)
            person.gateway.lose(person, 'leaving')
            person.forfeited = True  # said goodbye: whether it was heard or was lost with the data, they are gone
            self.call('leave', person.place, person.gen)

    # ---- what breaks ----

    def lose(self):
        """Redis comes back empty, or as it was a moment or long ago."""
        older = self.snapshot is not None and self.random.random() < 0.6
        self.redis.call('FLUSHALL')
        if older:
            for key, value in self.snapshot:
                self.redis.call('RESTORE', key, 0, value)
        last = self.redis.call('XREVRANGE', PREFIX + 'admissions', '+', '-', 'COUNT', 1)
        self.admissions_seen = last[0][0] if last else '0'
        self.run_id = 'run%d' % self.numbers
        self.numbers += 1
        self.doubt_until, self.lost_at = self.now + 3000, self.now
        self.count['lost: ' + ('older' if older else 'empty')] += 1
        self.who_knows_nothing()

    def who_knows_nothing(self):
        """Whom a frozen gateway holds, or whose admission or ticket nobody awake knows of, is promised nothing."""
        head, tail = max(a.head for a in self.gateways + self.publishers if a.awake) if self.any_awake() else 0, self.heard()
        for person in self.persons:
            if person.state == 'connected' and not person.gateway.awake or person.state in ('away', 'unheard') and person.number and person.number > tail \
                    or person.state == 'entered' and person.number > head or person.shown_at > self.now - 2000:
                person.forfeited = True

    def any_awake(self):
        return any(a.awake for a in self.gateways + self.publishers)

    def take_snapshot(self):
        keys = self.redis.call('KEYS', PREFIX + '*')
        if self.redis.call('HGET', STATE, 'run') is None:
            return  # nobody could tell that it is older than the first tick
        self.snapshot = [(key, self.redis.call('DUMP', key)) for key in keys]

    def freeze(self):
        actor = self.random.choice(self.gateways + self.publishers)
        actor.frozen_until = self.now + self.random.choice((2000, 8000, 20000))
        self.count['frozen'] += 1
        if self.now < self.lost_at + WINDOW + 5000:
            self.who_knows_nothing()

    def crash(self):
        if self.random.random() < 0.5:
            at = self.random.randrange(PUBLISHERS)
            self.publishers[at] = Publisher(self, 'p%d-%d' % (at, self.numbers))
        else:
            at = self.random.randrange(GATEWAYS)
            for person in list(self.gateways[at].persons.values()):
                self.gateways[at].lose(person, 'away')
            self.gateways[at] = Gateway(self, 'g%d.b%d' % (at, self.numbers))
        self.numbers += 1
        self.count['crashed'] += 1
        self.who_knows_nothing()

    # ---- time ----

    def pass_time(self, ms):
        """A second at most: everybody awake has looked by then."""
        self.now += ms
        for actor in self.random.sample(self.gateways + self.publishers, GATEWAYS + PUBLISHERS):
            if actor.awake:
                self.attempt(actor.second if isinstance(actor, Gateway) else actor.tick)

    def run(self, operations):
        acts = [(self.arrive, 30), (self.drop, 8), (self.leave, 3), (self.take_snapshot, 1), (self.freeze, 0.3), (self.crash, 0.3), (self.lose, 0.5),
                (lambda: self.pass_time(self.random.randrange(1000)), 12)]
        acts, weights = zip(*acts)
        self.silence = self.random.choice((0, 0, 0.01, 0.03))
        for number in range(operations):
            if self.over:
                return
            self.attempt(self.random.choices(acts, weights)[0])
            if number % 200 == 199:
                self.come_to_rest()

    def come_to_rest(self):
        silence, self.silence = self.silence, 0.0
        for actor in self.gateways + self.publishers:
            actor.frozen_until = 0
        for _ in range(30):
            self.pass_time(1000)
        self.now += 2000
        for gateway in self.gateways:  # what the last ticks did, and was not heard
            gateway.second()
        self.check()
        self.silence = silence

    def check(self):
        numbers = self.redis.pipeline([('HMGET', STATE, 'phase', 'base', 'head', 'tail'), ('ZRANGE', PREFIX + 'waiting', 0, -1, 'WITHSCORES'),
                                       ('GET', PREFIX + 'departed')])
        phase, base, head, tail = numbers[0]
        if phase is None:
            require(not any(actor.kept and actor.epoch for actor in self.gateways + self.publishers), 'stuck', 'nobody opens the session again')
            self.over = True  # all who knew it are gone
            return
        base, head, tail = int(base), int(head), int(tail)
        require(phase == 'open', 'stuck', 'the session is', phase)
        line = dict(zip(numbers[1][::2], map(int, numbers[1][1::2])))
        require(len(set(line.values())) == len(line), 'duplicated', 'two have one number:', line)
        gone = bits_to_tickets(base, numbers[2] or '')
        for ticket in range(max(base, head) + 1, tail + 1):
            require((ticket in gone) != (ticket in line.values()), 'wrong position', 'ticket', ticket, 'of', (base, head, tail), 'waits and left, or neither')
        for gateway in self.gateways:
            for person in gateway.persons.values():
                require(person.ghost or line.get(person.place) == person.number or self.redis.call('ZSCORE', PREFIX + 'outbox', person.place) is not None,
                        'lost', person, 'is connected to', gateway.name, 'and does not wait:', line.get(person.place))
        self.count['came to rest'] += 1
