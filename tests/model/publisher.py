"""A publisher as the scripts see it: admit, sign, settle, entries to the streams, the announcement; then dead servers.

It follows publisher/*.c. Nothing but an answered call counts as done; the next admit confirms what was.
"""
from gateway import Unanswered
from ledger import LEASE

LOAD_KEY = 'load'

STEP = 5000
STALE = 5000     # a heartbeat seen unchanged for so long, of this publisher's own ticking time
LOOK_MOST = 1500  # time between two looks counts for no more than this


class Publisher:
    kind = 'publisher'

    def __init__(self, world, id):
        self.world, self.id, self.flags = world, id, world.flags
        self.dead, self.frozen_until, self.busy = False, 0, False
        self.known, self.announced, self.settled = (0, 0), (0, 0), []
        self.beats = {}

    def crash(self):
        self.dead = True
        self.world.publisher_died(self)

    def tick(self):
        self.busy = True
        try:
            settled, self.settled = self.settled, []
            world = self.world
            answer = yield ('admit', self.id, LEASE, STEP, 'run', *self.known, *self.announced, world.load(), LOAD_KEY, 500,
                            *settled)
            if answer[0] != 'ok':
                return
            self.known = (answer[1], answer[2])
            yield from self.deliver(answer)
            yield from self.announce(answer)
            yield from self.reap(answer[23])
        except Unanswered:
            pass  # nothing is confirmed that was not answered: the next tick gets the rest again
        finally:
            self.busy = False

    def stream(self, server):
        make = () if 'streams are made again' in self.flags else ('NOMKSTREAM',)
        return ('!', 'XADD', 'server:%s:stream' % server.split('.')[0]) + make + ('MAXLEN', '~', 1000, '*')

    def deliver(self, answer):
        outbox, offered = answer[24], []
        for place, _, _, _, expiry in zip(*[iter(outbox)] * 5):
            offered += [place, '%s.%d.%d' % (place, self.world.random.randrange(10 ** 9), expiry), expiry]  # signatures differ
        if not offered:
            return
        if 'confirm before settle' in self.flags:
            self.settled = offered[::3]
        tokens = yield ('settle', *offered)
        for place, token, server in zip(*[iter(tokens)] * 3):
            if server:
                yield self.stream(server) + ('type', 'entry', 'epoch', answer[1], 'place', place, 'token', token)
            self.settled.append(place)

    def announce(self, answer):
        servers, closing = answer[23], answer[17]
        if answer[7]:
            departed = answer[22] if answer[22] == '*' else ','.join(str(ticket) for ticket in answer[22])
            for server in servers:
                yield self.stream(server) + ('type', 'waiting-state', 'epoch', answer[1], 'rev', answer[2], 'base', answer[3],
                                             'head', answer[4], 'tail', answer[5], 'departed', departed)
            self.announced = (answer[1], answer[2])
        if closing:
            for server in servers:
                yield self.stream(server) + ('type', 'closed', 'epoch', answer[1], 'reason', closing, 'tail', answer[18])

    def reap(self, serving):
        """Servers that serve this session and have no heartbeat, or one that stood still while this publisher was looking."""
        listed = yield ('!', 'ZRANGE', 'servers', 0, -1, 'WITHSCORES')
        listed = dict(zip(listed[::2], listed[1::2]))
        dead = [server for server in serving if server not in listed]
        for server, beat in listed.items():
            if self.stands_still(server, beat):
                dead.append(server)
        self.beats = {server: seen for server, seen in self.beats.items() if server in listed}
        for server in dead:
            self.world.count['servers reaped'] += 1
            cursor = '0'
            while True:
                answer = yield ('reap', server, cursor)
                cursor = answer[0]
                if cursor == '0':
                    break
            yield from self.remove(server, listed, listed.get(server))

    def stands_still(self, server, beat):
        now = self.world.mono
        seen, passed, looked = self.beats.get(server, (None, 0, now))
        passed = passed + min(now - looked, LOOK_MOST) if seen == beat else 0
        self.beats[server] = (beat, passed, now)
        return passed >= STALE

    def remove(self, server, listed, beat):
        """The heartbeat goes unless it moved meanwhile. The stream goes in any case while no other boot of this server reads
        it: a server that lives after all learns by it that its places were parked."""
        if beat is not None and (yield ('!', 'ZSCORE', 'servers', server)) == beat:
            yield ('!', 'ZREM', 'servers', server)
        if not any(name != server and name.split('.')[0] == server.split('.')[0] for name in listed):
            yield ('!', 'DEL', 'server:%s:stream' % server.split('.')[0])
