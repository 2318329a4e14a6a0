"""What really happened, seen from outside: every call that Redis carried out, whether its caller heard the answer or not.

The ledger knows nothing of how the scripts work. It writes down who joined, who was admitted and who left for which reason,
and raises Violation as soon as an answer contradicts what happened before: a ticket out of order, a wrong position, somebody
gone without a reason, too many admitted.
"""
import bisect

WAITING, ADMITTED, DEPARTED = 'waiting', 'admitted', 'departed'
SHORT_GRACE = 30000
LEASE = 3000


class Violation(Exception):
    """KIND is one word for the table of mutants; TEXT says what happened."""

    def __init__(self, kind, text):
        super().__init__(kind + ': ' + text)
        self.kind = kind


def require(truth, kind, *text):
    if not truth:
        raise Violation(kind, ' '.join(str(part) for part in text))


class Place:
    """KEPT: the place may not fall to a deadline before the line clock says so; None: it has no deadline at all.
    POLLED: until when, on the line clock as it looks ahead, somebody who polls counts as there; None: nobody polls."""

    __slots__ = ('id', 'ticket', 'user', 'kind', 'state', 'why', 'conn', 'gen', 'server', 'kept', 'token', 'settled',
                 'expired', 'told', 'released', 'polled')

    def __init__(self, id, ticket, user, kind, conn, server, kept):
        self.id, self.ticket, self.user, self.kind = id, ticket, user, kind
        self.state, self.why, self.conn, self.gen, self.server, self.kept = WAITING, None, conn, 1, server, kept
        self.token, self.settled, self.expired, self.told = None, False, False, False
        self.released, self.polled = False, None

    def __repr__(self):
        return '%s (ticket %d, user %r, %s%s, conn %s, gen %d, server %r, kept %s)' % (
            self.id, self.ticket, self.user, self.state, ' ' + self.why if self.why else '', self.conn, self.gen, self.server,
            self.kept)


def token_expiry(token):
    return int(token.split('.')[2])


class Ledger:
    def __init__(self, count, connected=lambda place: False):
        self.count = count  # a Counter of what happened
        self.connected = connected  # does a living gateway hold the connection of a place?
        self.places = {}
        self.admissions_seen = '0'
        self.config = {}
        self.issued = set()
        self.deleted = True
        self.owner, self.owner_until = None, 0
        self.new_line(0, 0)

    def new_line(self, epoch, now):
        self.epoch = epoch
        self.line, self.by_ticket = [], {}  # tickets of those waiting, ascending
        self.unsettled = {}  # place → expiry of its seat, None before a tick has said it
        self.seats = {}  # place → expiry, settled only
        self.tail = self.head = self.rev = self.base = 0
        self.admitted = 0
        self.clock = self.seen = now
        self.ticked = False
        self.cleared = 0
        self.closing_tail = 0
        self.phase = 'open'
        self.owner, self.owner_until = None, 0
        self.rate_changed()

    def rate_changed(self):
        self.rate_log, self.refilled, self.in_period = [], None, 0

    # ---- small questions ----

    def number(self, field, fallback):
        value = self.config.get(field, '')
        return int(value) if value != '' else fallback

    def grace(self):
        return self.number('graceMs', 300000)

    def waiting_now(self):
        return len(self.line)

    def rank(self, ticket):
        return bisect.bisect_left(self.line, ticket) + 1

    def waits(self, place_id):
        place = self.places.get(place_id)
        return place is not None and place.state == WAITING

    def clock_at_least(self, now):
        """The line clock at NOW, as the next admit will find it, or earlier."""
        return self.clock + min(max(0, now - self.seen), 5000)

    def clock_ahead(self, now):
        """The line clock at NOW as all scripts but admit see it."""
        return self.clock + min(max(0, now - self.seen), 180000) if self.ticked else now

    def present(self, place, now):
        """Somebody has the place: by a connection, or by polling."""
        return place.kept is None or place.polled is not None and place.polled > self.clock_ahead(now)

    def over(self, place_id, now):
        """Its token has expired, whether a tick has tidied up or not."""
        return self.places[place_id].expired or self.seats.get(place_id, now) <= now // 1000

    def past(self, place, now):
        """By Redis' clock as it is now, which may have gone back since a tick saw the token expire."""
        return place.id in self.seats and self.seats[place.id] <= now // 1000

    def by_conn(self, conn):
        for ticket in self.line:
            if self.by_ticket[ticket].conn == conn:
                return self.by_ticket[ticket]
        return None

    # ---- changes ----

    def remove(self, place):
        del self.line[bisect.bisect_left(self.line, place.ticket)]
        del self.by_ticket[place.ticket]

    def depart(self, place, why):
        require(place.state == WAITING, 'lost', place, 'departs for', why, 'but does not wait')
        self.remove(place)
        place.state, place.why = DEPARTED, why
        self.count['departed: ' + why] += 1

    # ---- what the scripts answered ----

    def observe(self, name, args, reply, now):
        getattr(self, 'saw_' + name)(args, reply, now)

    def common(self, outcome, name):
        require(outcome != 'lost', 'lost data', name, 'answers lost, though Redis lost nothing')
        require((outcome == 'deleted') == self.deleted or outcome == 'none', 'outcome', name, 'answers', outcome)
        return outcome in ('deleted', 'none')

    def saw_join(self, args, reply, now):
        minted, user, server, conn, mode = args[:5]
        outcome = reply[0]
        if self.common(outcome, 'join'):
            return
        per_user, rejoin = self.config.get('perUser', 'newest'), self.config.get('rejoin', 'keep')
        mapped = user != '' and per_user != 'many'
        mine = [self.by_ticket[t] for t in self.line if self.by_ticket[t].user == user] if mapped else []
        if outcome == 'waiting' and reply[1] == minted:
            require(not mine, 'duplicated', 'user', user, 'got', minted, 'beside', mine)
            require(mode != 'virtual' or self.config.get('virtual') == 'true', 'outcome', 'a virtual place')
            require(reply[3] == self.tail + 1, 'out of order', 'ticket', reply[3], 'after', self.tail)
            require(reply[5] == len(self.line) + 1, 'wrong position', 'join says', reply[5], 'for', len(self.line) + 1)
            require(reply[2] == self.epoch and reply[12] == len(self.line) + 1 and reply[9] == reply[3], 'wrong reply', reply)
            require(self.config.get('status', 'open') != 'closed', 'outcome', 'joined a closed session')
            most = self.number('maxWaiting', 0)
            require(most == 0 or len(self.line) < most, 'too many', 'wait:', len(self.line) + 1, 'of', most)
            require(not (mapped and rejoin == 'refuse' and user in self.issued), 'duplicated', user, 'entered already')
            kept = self.clock_at_least(now) + SHORT_GRACE if mode == 'poll' else None
            place = Place(minted, reply[3], user, 'v' if mode == 'virtual' else 'a', conn,
                          server if mode == 'stream' else '', kept)
            place.polled = self.clock_ahead(now) + SHORT_GRACE if mode == 'poll' else None
            self.places[minted] = self.by_ticket[place.ticket] = place
            self.line.append(place.ticket)
            self.tail = place.ticket
            self.count['joined'] += 1
        elif outcome in ('waiting', 'admitted', 'entered'):
            require(mapped and self.places[reply[1]].user == user, 'wrong person', user, 'got', reply[1])
            require(outcome == 'waiting' or rejoin == 'keep', 'duplicated', user, 'is', outcome, 'again by joining')
            require(per_user != 'refuse' or outcome != 'waiting' or not self.present(mine[0], now), 'duplicated', user, 'took',
                    mine, 'whom somebody has')
            self.taken(reply, server, conn, mode, '', now)
            self.count['taken over by user'] += 1
        else:
            self.refused(outcome, user, mode, mine, now)

    def refused(self, outcome, user, mode, mine, now):
        self.count['refused: ' + outcome] += 1
        truth = {
            'closed': self.config.get('status') == 'closed',
            'sold-out': self.phase == 'sold-out',
            'line-full': 0 < self.number('maxWaiting', 0) <= len(self.line),
            'already-waiting': self.config.get('perUser') == 'refuse' and bool(mine) and self.present(mine[0], now),
            'already-entered': self.config.get('rejoin') == 'refuse' and user in self.issued,
            'not-virtual': mode == 'virtual' and self.config.get('virtual') != 'true',
        }
        require(truth.get(outcome), 'outcome', 'join answers', outcome, 'to', user, mode)

    def saw_resume(self, args, reply, now):
        if not self.common(reply[0], 'resume'):
            self.taken(reply, args[1], args[2], args[3], args[4], now)
            self.count['resumed: ' + reply[0]] += 1

    def taken(self, reply, server, conn, mode, expect, now):
        """join and resume of a place that exists, or did."""
        outcome, place = reply[0], self.places[reply[1]]
        require(reply[2] == self.epoch, 'wrong reply', 'epoch', reply)
        if outcome == 'entered':
            require(place.state == ADMITTED and place.token == reply[3], 'token', 'for', place, 'is not', reply[3])
            require(not place.released, 'duplicated', place, 'is entered again after its release')
            require(not self.past(place, now), 'token', place, 'is handed a token that has expired')
        elif outcome == 'moved':
            require(expect not in ('', place.conn), 'outcome', 'moved, but the connection is the same:', place)
        elif outcome == 'gone':
            require(place.state == DEPARTED or self.over(place.id, now), 'lost', place, 'is said to be gone')
        else:
            require(outcome in ('waiting', 'admitted'), 'outcome', outcome)
            require(place.state == outcome and reply[3] == place.ticket, 'wrong reply', reply, 'for', place)
            require(expect in ('', place.conn), 'wrong person', expect, 'took', place)
            self.told_position(outcome, reply, place)
            require([reply[10], reply[11]] == [place.server, place.gen], 'wrong reply', reply[10:12], 'before', place)
            if not expect:
                place.gen, place.conn = place.gen + 1, conn
            require(reply[4] == place.gen, 'wrong reply', 'generation', reply[4], place)
            place.server = server if mode == 'stream' else ''
            place.kept = place.polled = None
            if mode != 'stream' and place.kind != 'v' and outcome == 'waiting':
                self.polls(place, now)

    def polls(self, place, now):
        grace = max(self.grace(), SHORT_GRACE)
        place.kept, place.polled = self.clock_at_least(now) + grace, self.clock_ahead(now) + grace

    def told_position(self, outcome, reply, place):
        if outcome == 'waiting':
            require(reply[5] == self.rank(place.ticket), 'wrong position', reply[5], 'is not', self.rank(place.ticket), place)
            require(reply[12] == len(self.line), 'wrong reply', 'waiting', reply)

    def saw_status(self, args, reply, now):
        outcome = reply[0]
        if self.common(outcome, 'status'):
            return
        place = self.places[args[0]]
        if outcome == 'entered':
            require(place.state == ADMITTED and place.token == reply[3], 'token', reply[3], 'for', place)
            require(not self.past(place, now), 'token', place, 'is told a token that has expired')
        elif outcome == 'gone':
            require(place.state == DEPARTED or self.over(place.id, now), 'lost', place, 'is said to be gone')
        else:
            require(outcome == place.state and reply[3] == place.ticket, 'wrong reply', reply, 'for', place)
            self.told_position(outcome, reply, place)
            if outcome == 'waiting' and args[1] == 'poll' and place.server == '' and place.kept is not None:
                self.polls(place, now)

    def saw_park(self, args, reply, now):
        outcome, place = reply[0], self.by_conn(args[1])
        self.count['parks: ' + outcome] += 1
        if outcome in ('stale', 'gone', 'none', 'deleted'):
            # "gone" also where the place waits under another user's name: then by_conn finds nothing.
            require(place is None, 'zombie', 'park of', args, 'answers', outcome, 'for', place)
            return
        require(place is not None, 'wrong person', 'park', args, 'acted, but nobody waits by that connection')
        grace = self.grace()
        if outcome == 'departed':
            require(grace == 0, 'lost', place, 'departed at once in spite of its grace')
            self.depart(place, 'no grace')
            return
        require(outcome == 'parked', 'outcome', reply)
        if args[3] == 'short' and not place.told:
            grace = min(grace, SHORT_GRACE)
        place.server, place.kept, place.polled = '', self.clock_at_least(now) + grace, None

    def saw_leave(self, args, reply, now):
        outcome, gen = reply[0], int(args[1])
        self.count['leaves: ' + outcome] += 1
        if outcome == 'none':
            require(self.deleted or not self.epoch, 'outcome', 'leave of', args, 'answers none')
            return
        place = self.places[args[0]]
        if outcome == 'departed':
            require(gen in (0, place.gen), 'wrong person', 'a ticket of generation', gen, 'made', place, 'leave')
            require(reply[1:] == [place.server, place.ticket, self.epoch], 'wrong reply', reply, place)
            self.depart(place, 'leave')
        elif outcome == 'stale':
            require(gen not in (0, place.gen), 'outcome', 'stale for', place)
        else:
            require(outcome == 'gone' and place.state != WAITING, 'outcome', reply, 'for', place)

    def saw_sync(self, args, reply, now):
        if self.common(reply[0], 'sync'):
            return
        require(reply[1] == self.epoch and reply[4] == self.head, 'wrong reply', 'sync', reply[:7], 'head', self.head)
        require(reply[5] == self.tail and reply[6] == len(self.line), 'wrong reply', 'sync', reply[:7], 'tail', self.tail)

    def saw_settle(self, args, reply, now):
        if reply[:1] == ['none']:
            return
        offered = dict(zip(args[::3], args[1::3]))
        for place_id, token, server in zip(reply[::3], reply[1::3], reply[2::3]):
            place = self.places[place_id]
            require(place.state == ADMITTED and not place.released, 'duplicated', 'a token for', place)
            if place.token is None:
                require(token == offered[place_id], 'token', token, 'was not offered')
                seat = self.unsettled[place_id]
                require(token_expiry(token) == seat, 'token', token, 'ends when its seat does not:', seat)
                place.token = token
                self.unsettled.pop(place_id, None)
                self.seats[place_id] = token_expiry(token)
            require(token == place.token, 'token', place_id, 'has two tokens:', place.token, 'and', token)
            require(server == place.server, 'wrong reply', 'settle sends to', server, 'but', place)

    def saw_release(self, args, reply, now):
        place = self.places[args[0]]
        self.count['releases: %s' % reply[1]] += 1
        require(reply[0] == 'ok' and (reply[1] == 1) <= (place.state == ADMITTED), 'outcome', reply, 'for', place)
        require(reply[1] == 1 or place.id not in self.seats or self.deleted, 'wrong reply', 'no seat of', place)
        if place.state == ADMITTED:
            require((reply[1] == 1) <= (not place.released), 'duplicated', place, 'is released twice')
            self.seats.pop(place.id, None)
            self.unsettled.pop(place.id, None)
            place.released = place.expired = True

    def saw_reap(self, args, reply, now, snapshot=None):
        """SNAPSHOT: the values of all places right after the call."""
        server, parked = args[0], 0
        values = dict(zip(snapshot[::2], snapshot[1::2]))
        for place in list(self.places.values()):
            if place.server == server and place.id in values and values[place.id].startswith('\t'):
                place.server = ''
                if place.state == WAITING:
                    place.kept = self.clock_at_least(now) + self.grace()
                    parked += 1
        require(reply[1] == parked, 'wrong reply', 'reap counts', reply[1], 'not', parked)
        self.count['parked by reaping'] += parked

    # ---- the tick ----

    def saw_admit(self, args, reply, now, admissions=None, line=None, state=None):
        """ADMISSIONS: new entries of the stream; LINE and STATE: what is there right after the call."""
        outcome = reply[0]
        if outcome == 'fenced':
            require(self.owner not in (None, args[0]), 'outcome', args[0], 'is fenced, the owner is', self.owner)
            self.owner_until = min(self.owner_until, now + LEASE)
            require(self.owner_until > now, 'stuck', args[0], 'is fenced, but the lease ended', now - self.owner_until, 'ms ago')
            self.count['ticks: fenced'] += 1
            return
        if self.common(outcome, 'admit'):
            return
        require(self.owner in (None, args[0]) or min(self.owner_until, now + LEASE) <= now, 'two owners', args[0], 'acts while',
                self.owner, 'has the lease for', self.owner_until - now, 'ms')
        self.owner, self.owner_until = args[0], now + LEASE
        self.count['ticks'] += 1
        self.check_clock(int(state[0]), now, int(args[2]))
        gone = self.check_admitted(reply, admissions, line, now)
        self.check_gone(reply, gone)
        after = [int(score) for score in line[1::2]]
        require(after == self.line, 'lost', 'the line is', after, 'and should be', self.line)
        require(not self.line or self.line[0] > self.head, 'out of order', self.line[:1], 'waits behind head', self.head)
        if self.admitted_now:
            self.check_rate(reply)
            self.check_limits(now)
        for place_id, expiry in zip(reply[24][::5], reply[24][4::5]):
            if place_id in self.unsettled:
                self.unsettled[place_id] = expiry
        self.check_announcement(reply, state)
        self.expire_seats(now)

    def check_clock(self, clock, now, step):
        """The line clock moves by the time since the last tick, by STEP at most, and never back."""
        moved = clock - self.clock
        require(0 <= moved <= min(step, max(0, now - self.seen)), 'clock', 'moved by', moved, 'in', now - self.seen, 'ms')
        self.clock, self.seen, self.ticked = clock, now, True

    def check_admitted(self, reply, admissions, line, now):
        """Who is not in LINE any more and was not admitted either: [place]."""
        self.admitted_now = 0
        still = set(line[::2])
        for stream_id, fields in admissions:
            self.admissions_seen = stream_id
            entry = dict(zip(fields[::2], fields[1::2]))
            place, ticket = self.places[entry['place']], int(entry['ticket'])
            require(place.state == WAITING, 'duplicated', 'admitted, but not waiting:', place)
            require(ticket == place.ticket and int(entry['epoch']) == self.epoch, 'wrong reply', entry, place)
            require(ticket > self.head, 'out of order', ticket, 'admitted after', self.head)
            if place.user and self.config.get('rejoin') == 'refuse' and self.config.get('perUser') != 'many':
                require(place.user not in self.issued, 'duplicated', place.user, 'entered twice')
                self.issued.add(place.user)
            self.remove(place)
            self.head = ticket
            place.state, place.kept = ADMITTED, None
            self.unsettled[place.id] = None
            self.admitted_now += 1
        self.admitted += self.admitted_now
        self.count['admitted'] += self.admitted_now
        require(reply[25] == self.admitted_now and reply[11] == self.admitted, 'wrong reply', 'admitted', reply[11], reply[25],
                'not', self.admitted, self.admitted_now)
        require(reply[4] == self.head and reply[5] == self.tail and reply[6] == len(line) // 2, 'wrong reply', reply[:7])
        return [self.by_ticket[t] for t in self.line if self.by_ticket[t].id not in still]

    def check_gone(self, reply, gone):
        expired, status = 0, self.config.get('status', 'open')
        stock = self.number('stock', -1)
        for place in gone:
            before = self.admitted - self.admitted_now
            if reply[17] == 'sold-out' and place.ticket <= reply[18] and 0 <= stock <= before:
                self.depart(place, 'sold-out')
            elif reply[17] == 'closed' and place.ticket <= reply[18] and status == 'closed':
                self.depart(place, 'closed')
            elif reply[17] == 'cleared' and place.ticket <= min(reply[18], self.cleared):
                self.depart(place, 'cleared')
            else:
                require(place.kept is not None and place.kept <= self.clock, 'lost', place, 'left the line at', self.clock,
                        'without a reason')
                self.depart(place, 'deadline')
                self.count['deadlines while connected'] += self.connected(place)
                expired += 1
        if reply[17] == '':
            require(reply[16] == expired, 'wrong reply', reply[16], 'expired, not', expired)
        self.phase = reply[8]

    def check_rate(self, reply):
        batch, interval = self.number('batch', 10), self.number('intervalMs', 5000)
        refilled = reply[15] - interval + self.clock
        if refilled != self.refilled:
            require(self.refilled is None or refilled - self.refilled >= interval, 'rate', 'refilled after',
                    refilled - (self.refilled or 0), 'ms')
            self.refilled, self.in_period = refilled, 0
        self.in_period += self.admitted_now
        require(self.in_period <= batch, 'rate', self.in_period, 'admitted in one interval, of', batch)
        self.rate_log.append((self.clock, self.admitted_now))
        del self.rate_log[:-200]
        for k in (1, 3):
            recent = sum(n for at, n in self.rate_log if at > self.clock - k * interval)
            require(recent <= (k + 1) * batch, 'rate', recent, 'admitted in', k, 'intervals, of', batch, 'each')

    def check_limits(self, now):
        require(self.config.get('status', 'open') == 'open', 'outcome', 'admitted while', self.config.get('status'))
        stock, limit = self.number('stock', -1), self.number('activeLimit', 0)
        require(stock < 0 or self.admitted <= stock, 'too many', 'admitted:', self.admitted, 'of a stock of', stock)
        inside = len(self.unsettled) + sum(expiry > now // 1000 for expiry in self.seats.values())
        require(limit == 0 or inside <= limit, 'too many', 'inside:', inside, 'of', limit)

    def check_announcement(self, reply, state):
        rev, announce = reply[2], reply[7]
        require(self.rev <= rev, 'wrong reply', 'rev', rev, 'after', self.rev)
        require(reply[3] == int(state[2]), 'wrong reply', 'base', reply[3], state[2])
        require(reply[3] <= self.tail, 'wrong reply', 'base', reply[3], 'above tail', self.tail)
        self.rev, self.base = rev, reply[3]

    def expire_seats(self, now):
        for place_id in [p for p, expiry in self.seats.items() if expiry <= now // 1000]:
            del self.seats[place_id]
            self.places[place_id].expired = True

    # ---- operators ----

    def saw_configure(self, args, reply, now):
        operation = args[0]
        if reply[0] != 'ok':
            self.count['operator refused: ' + reply[0]] += 1
            return
        self.count['operator: ' + operation] += 1
        if operation in ('create', 'delete'):
            for ticket in list(self.line):
                self.depart(self.by_ticket[ticket], 'deleted')
            for place in self.places.values():
                if place.state == ADMITTED:
                    place.state, place.why = DEPARTED, 'deleted'
            self.issued.clear()
        if operation == 'create':
            require(reply[2] > self.epoch, 'wrong reply', 'epoch', reply[2], 'after', self.epoch)
            self.new_line(reply[2], now)
            self.config = {}
            self.deleted = False
        elif operation == 'delete':
            self.deleted = True
        elif operation == 'clear':
            self.cleared = self.tail
        if operation != 'delete':
            for field, value in zip(args[6::2], args[7::2]):
                self.config[field] = value
                if field in ('batch', 'intervalMs'):
                    self.rate_changed()
            self.config['version'] = str(reply[1])
