"""One session driven by hand, for the fixed scenes: the scripts with their real chunks and limits, and a clock."""
import hashlib

from ledger import Violation, require
from resp import RedisError
from scripts import PREFIX, Scripts

START = 1_000_000_000_000
SEED = '00' * 32
SEED_HASH = hashlib.sha256(SEED.encode()).hexdigest()
ADMIT = {'me': 'A', 'lease': 3000, 'step': 5000, 'run': 'run', 'epoch': 0, 'rev': 0, 'told_epoch': 0, 'told_rev': 0, 'load': '',
         'load_key': '', 'most': 500}
REPLY = ('ok epoch rev base head tail waiting announce phase status held admitted active parked left refill expired closing '
         'closing_tail more now ttl departures servers outbox now_admitted virtual lobby start load_key cap version').split()


class Line:
    def __init__(self, connection, changes=(), **config):
        self.redis, self.changes, self.now = connection, changes, START
        connection.call('FLUSHALL')
        self.scripts = Scripts(connection, changes, small=False)
        self.conns = 0
        if config.pop('create', True):
            self.configure('create', 'absent', **dict({'batch': 10, 'intervalMs': 1000, 'graceMs': 8000}, **config))

    def command(self, name, *args):
        return self.scripts.command(name, args, self.now)

    def call(self, name, *args):
        return self.redis.call(*self.command(name, *args))

    def state(self, field):
        return self.redis.call('HGET', PREFIX + 'state', field)

    def key(self, *command):
        return self.redis.call(command[0], PREFIX + command[1], *command[2:])

    def configure(self, operation, expected='*', force='', **fields):
        words = [word for field, value in fields.items() for word in (field, value)]
        return self.call('configure', operation, expected, force, 'operator', operation, '{}', SEED, SEED_HASH, *words)

    def join(self, place, user='', server='g1.b', conn=None, mode='stream', known=(0, 0)):
        return self.call('join', place, user, server, conn or place + ':1', mode, *known, 'doorbell', 's')

    def join_many(self, count, first=1, **more):
        """Places p00001…: pipelined."""
        for at in range(first, first + count, 1000):
            commands = [self.command('join', 'p%05d' % n, '', 'g1.b', 'p%05d:1' % n, 'stream', 0, 0, 'doorbell', 's')
                        for n in range(at, min(at + 1000, first + count))]
            for reply in self.redis.pipeline(commands):
                require(reply[0] == 'waiting', 'outcome', reply)

    def resume(self, place, server='g1.b', conn='x', mode='stream', expect='', known=(0, 0), gen=0):
        return self.call('resume', place, server, conn, mode, expect, *known, gen)

    def park(self, place, conn, user='', short=''):
        return self.call('park', place, conn, user, short)

    def leave(self, place, gen=0):
        return self.call('leave', place, gen)

    def release(self, place, ttl=100, mark='0 (released)'):
        return self.call('release', place, ttl, mark, 'doorbell', 's')

    def admit(self, *settled, **changed):
        """The reply as a dictionary; or its first word where that is not ok."""
        arguments = dict(ADMIT, **changed)
        reply = self.call('admit', *arguments.values(), *settled)
        return dict(zip(REPLY, reply)) if reply[0] == 'ok' else reply

    def settle_all(self, tick, nonce='n'):
        outbox = tick['outbox']
        words = [word for place, expiry in zip(outbox[::5], outbox[4::5]) for word in (place, 'token.%s.%s' % (place, nonce), expiry)]
        return self.call('settle', *words) if words else []

    def dump(self):
        """Everything in Redis, but for the times at which streams were written."""
        names = sorted(self.redis.call('KEYS', '*'))
        types = self.redis.pipeline([('TYPE', name) for name in names])
        read = {'hash': ('HGETALL',), 'zset': ('ZRANGE', 0, -1, 'WITHSCORES'), 'set': ('SMEMBERS',), 'string': ('GET',),
                'list': ('LRANGE', 0, -1), 'stream': ('XRANGE', '-', '+')}
        values = self.redis.pipeline([(read[kind][0], name) + read[kind][1:] for name, kind in zip(names, types)])
        return {name: [entry[1] for entry in value] if kind == 'stream' else value
                for name, kind, value in zip(names, types, values)}


def same(actual, expected, what=''):
    if actual != expected:
        raise Violation('scene', '%s %r is not %r' % (what, actual, expected))


def attempt(line, name, args):
    """The reply, an error as its text."""
    reply = line.redis.pipeline([line.command(name, *args)])[0]
    return str(reply) if isinstance(reply, RedisError) else reply
