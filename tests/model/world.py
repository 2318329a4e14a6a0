"""The simulated world: time, actors, calls in the order in which each actor sent them, and everything that can go wrong.

An actor's calls travel in lanes, as on one connection each: Redis carries out what is in a lane in order, and which lane is
next is chance. Four lanes' calls go to Redis in one write; that is only for speed.
"""
import collections
import json
import random

from check import check_quiet, check_state
from gateway import Gateway, Unanswered
from ledger import Ledger, Violation
from publisher import LOAD_KEY, Publisher
from resp import RedisError
from scripts import PREFIX, Scripts
from visitor import Visitor

START = 1_000_000_000_000
GATEWAYS, PUBLISHERS, VISITORS = 3, 2, 45
TASKS_MOST = 60
CHECK_EVERY = 25
STATE = PREFIX + 'state'
TOLERATED = ('NOGROUP', 'BUSYGROUP', 'UNBLOCKED', 'ERR The XGROUP subcommand requires', 'ERR no such key')


def choose_config(random):
    return {
        'batch': random.choice((1, 2, 3, 10, 40)),
        'intervalMs': random.choice((200, 500, 1000, 3000)),
        'activeLimit': random.choice((0, 0, 0, 5, 15)),
        'maxWaiting': random.choice((0, 0, 0, 20)),
        'stock': random.choice((-1, -1, -1, 60, 300)),
        'perUser': random.choice(('newest', 'newest', 'many', 'refuse')),
        'rejoin': random.choice(('keep', 'keep', 'back', 'refuse')),
        'graceMs': random.choice((0, 4000, 8000, 8000, 20000, 300000)),
        'tokenTtlSeconds': random.choice((5, 20, 60, 600)),
        'virtual': random.choice(('false', 'false', 'true')),
        'status': 'open',
    }


ADAPTIVE = json.dumps({'minTps': 0, 'maxTps': 100, 'minCount': 2, 'maxCount': 1000000, 'onMissing': 'hold', 'loadKey': LOAD_KEY})


class World:
    """One run over one session, from an empty Redis."""

    def __init__(self, connection, seed, changes=(), flags=(), config=None, faults=None, watch=''):
        self.watch = watch  # a place: whatever is said of it is printed
        self.redis, self.seed, self.flags = connection, seed, frozenset(flags)
        self.random = random.Random(seed)
        self.count = collections.Counter()
        self.ledger = Ledger(self.count, self.connected)
        small = self.random.random() < 0.8
        connection.call('FLUSHALL')
        self.scripts = Scripts(connection, changes, small)
        self.now, self.mono = START, START  # Redis' clock, which may jump, and everybody else's, which does not
        self.operations = self.numbers = self.places = 0
        self.lanes, self.lane_of, self.waiting_tasks = [], {}, 0
        self.faults = self.random.choice((0.5, 1, 1, 3)) if faults is None else faults
        self.visitors = []
        self.released = []  # places: the last that somebody asked to release
        self.standing = False  # nobody is admitted, and nobody is told so: a new configuration would refresh every picture
        self.visitors_most = self.random.choice((12, VISITORS, VISITORS, 110))
        self.users = ['user%d' % i for i in range(self.random.choice((5, 30)))]
        self.revivals = []  # (mono, gateway id): gateways that stay away for a while
        self.configure('create', 'absent', **dict(choose_config(self.random), adaptive=ADAPTIVE, **(config or {})))
        self.gateways = [Gateway(self, 'g%d' % i) for i in range(GATEWAYS)]
        self.publishers = [Publisher(self, 'publisher%d' % i) for i in range(PUBLISHERS)]
        for gateway in self.gateways:
            self.spawn(gateway, gateway.start())
        self.wishes = self.build_wishes()

    # ---- names ----

    def connected(self, place):
        holders = [g.connections.get(place.id) for g in self.gateways if not g.dead and g.frozen_until <= self.mono]
        return any(connection is not None and connection.conn == place.conn for connection in holders)

    def elapsed(self):
        return self.mono - START

    def next_number(self):
        self.numbers += 1
        return self.numbers

    def mint_place(self):
        self.places += 1
        return 'place%06d' % self.places

    def load(self):
        """What the site reports: nothing (nobody is admitted), all is well, or a load at which two an interval are."""
        if self.standing:
            return 'missing'
        return self.random.choice(('0', '0', '0', '0', '0', '0', '100', 'missing'))

    # ---- calls ----

    def spawn(self, actor, task, lane='line'):
        """TASK's first call is sent at once."""
        self.go_on(actor, task, lane, None)

    def go_on(self, actor, task, lane, answer):
        """Hands the answer over and sends the task's next call."""
        try:
            call = task.throw(answer) if isinstance(answer, Unanswered) else task.send(answer)
        except (StopIteration, Unanswered):
            return
        key = (id(actor), lane)
        queue = self.lane_of.get(key)
        if queue is None:
            queue = self.lane_of[key] = (actor, lane, collections.deque())
            self.lanes.append(queue)
        queue[2].append((task, call))
        self.waiting_tasks += 1

    def drop_lanes(self, actor):
        for queue in [queue for queue in self.lanes if queue[0] is actor]:
            self.lanes.remove(queue)
            del self.lane_of[(id(actor), queue[1])]
            self.waiting_tasks -= len(queue[2])
            for task, _ in queue[2]:
                task.close()
            queue[2].clear()

    def commands(self, call):
        """The command of a call, and what else the ledger wants to see in the same moment."""
        if call[0] == '!':
            return [call[1:]]
        commands = [self.scripts.command(call[0], call[1:], self.now)]
        if call[0] == 'admit':
            commands += [('XRANGE', PREFIX + 'admissions', '(' + self.ledger.admissions_seen, '+'),
                         ('ZRANGE', PREFIX + 'waiting', 0, -1, 'WITHSCORES'),
                         ('HMGET', STATE, 'clock', 'rev', 'base')]
        elif call[0] == 'reap':
            commands.append(('HGETALL', PREFIX + 'places'))
        return commands

    def observe(self, call, replies):
        answer = replies[0]
        if self.watch and self.watch in str(call) + str(answer):
            print('%d.%d %s\n    %s' % (self.operations, self.mono - START, call, str(answer)[:300]))
        if call[0] == '!':
            if isinstance(answer, RedisError) and not str(answer).startswith(TOLERATED):
                raise Violation('error', '%s: %s' % (call, answer))
            return
        for reply in replies:
            if isinstance(reply, RedisError):
                raise Violation('error', '%s: %s' % (call, reply))
        args = [str(arg) for arg in call[1:]]
        if len(replies) > 1:
            getattr(self.ledger, 'saw_' + call[0])(args, answer, self.now, *replies[1:])
        else:
            self.ledger.observe(call[0], args, answer, self.now)

    def fate(self):
        """What becomes of a call: None (it is carried out and answered) or one of four faults."""
        chance = self.random.random()
        if chance > 0.006 * self.faults:
            return None
        return self.random.choice(('crash before', 'crash after', 'never arrives', 'never arrives', 'answer lost', 'answer lost'))

    def step(self, most=4):
        """Some actors' next calls. False when nobody has any."""
        ready = [queue for queue in self.lanes if queue[2] and queue[0].frozen_until <= self.mono]
        if not ready:
            return False
        chosen = ready if len(ready) <= most else self.random.sample(ready, most)
        sent, batch = [], []
        for actor, lane, queue in chosen:
            if not queue:
                continue  # its actor died a moment ago
            task, call = queue.popleft()
            self.waiting_tasks -= 1
            fate = self.fate()
            if fate == 'crash before' and not actor.dead:
                self.crash(actor)
                task.close()
                continue
            commands = [] if fate in ('never arrives', 'crash before') else self.commands(call)
            # A call that changes what the others' extra reads would show goes alone: see commands().
            sent.append((actor, lane, task, call, fate, len(commands)))
            batch += commands
            if len(commands) > 1:
                break
        # those after a break stay at the head of their lanes
        replies = self.redis.pipeline(batch) if batch else []
        at = 0
        for actor, lane, task, call, fate, length in sent:
            mine, at = replies[at:at + length], at + length
            if length:
                self.observe(call, mine)
            if fate == 'crash after':
                self.crash(actor)
            if actor.dead:
                task.close()
            elif fate in ('never arrives', 'answer lost'):
                self.count['calls: ' + fate] += 1
                self.go_on(actor, task, lane, Unanswered())
            else:
                self.go_on(actor, task, lane, mine[0])
        return True

    def crash(self, actor):
        if not actor.dead:
            self.count['crashes: ' + actor.kind] += 1
            actor.crash()
            self.drop_lanes(actor)

    def gateway_died(self, gateway):
        self.revivals.append((self.mono + self.random.choice((0, 500, 3000, 20000)), gateway.id))

    def publisher_died(self, publisher):
        at = self.publishers.index(publisher)
        self.publishers[at] = Publisher(self, 'publisher%d-%d' % (at, self.next_number()))

    def revive(self, all=False):
        for entry in [entry for entry in self.revivals if all or entry[0] <= self.mono]:
            self.revivals.remove(entry)
            at = next(i for i, gateway in enumerate(self.gateways) if gateway.id == entry[1])
            self.gateways[at] = Gateway(self, entry[1])
            self.spawn(self.gateways[at], self.gateways[at].start())

    # ---- operations ----

    def build_wishes(self):
        weights = [(self.wish_arrive, 24), (self.wish_drop, 8), (self.wish_leave, 3), (self.wish_poll, 5), (self.wish_read, 24),
                   (self.wish_second, 14), (self.wish_tick, 17), (self.wish_notice, 3), (self.wish_release, 4),
                   (self.wish_operate, 0.25),
                   (self.wish_reopen, 0.7), (self.wish_recreate, 0.02)]
        weights += [(wish, weight * self.faults * self.random.choice((0, 0.3, 1, 3))) for wish, weight in (
            (self.wish_crash, 0.15), (self.wish_freeze, 0.25), (self.wish_lose_stream, 0.25), (self.wish_trim_stream, 0.25),
            (self.wish_outage, 0.06), (self.wish_clock_jump, 0.06), (self.wish_idle, 0.3))]
        return [wish for wish, _ in weights], list(self.cumulated(weights))

    @staticmethod
    def cumulated(weights):
        total = 0
        for _, weight in weights:
            total += weight
            yield total

    def operate(self):
        passed = self.random.randrange(60)
        self.now += passed
        self.mono += passed
        if self.revivals:
            self.revive()
        wish = self.random.choices(self.wishes[0], cum_weights=self.wishes[1])[0]
        wish()
        self.operations += 1

    def open_gateway(self):
        choice = [g for g in self.gateways if g.open and not g.dead and g.frozen_until <= self.mono]
        return self.random.choice(choice) if choice else None

    def wish_arrive(self):
        gateway, random = self.open_gateway(), self.random
        if not gateway or self.waiting_tasks > TASKS_MOST:
            return
        if len(self.visitors) < self.visitors_most and (not self.visitors or random.random() < 0.6):
            mode = random.choices(('stream', 'poll', 'virtual'), (80, 15, 5))[0]
            visitor = Visitor(self, random.choice(self.users) if random.random() < 0.6 else '', mode)
            self.visitors.append(visitor)
        else:
            visitor = random.choice(self.visitors)
            if visitor.done:
                self.visitors.remove(visitor)
            if visitor.busy or visitor.done:
                return
            if visitor.connection and random.random() < 0.8:
                return
            visitor.gateway = visitor.connection = None  # the old stream stays half open at its gateway
        visitor.busy = True
        visitor.aborted = random.random() < 0.03
        mode = visitor.mode if random.random() < 0.9 else random.choice(('stream', 'poll', 'virtual'))
        self.spawn(gateway, gateway.arrive(visitor, mode))

    def wish_drop(self):
        visitor = self.random.choice(self.visitors) if self.visitors else None
        if visitor and visitor.connection:
            visitor.gateway.lose(visitor.connection)
            if self.random.random() < 0.15:
                visitor.finish()  # never comes back

    def wish_leave(self):
        gateway = self.open_gateway()
        visitor = self.random.choice(self.visitors) if self.visitors else None
        if gateway and visitor and visitor.ticket:
            ticket = visitor.ticket
            if visitor.older and self.random.random() < 0.3:
                ticket = self.random.choice(visitor.older)
            gateway.leave(ticket)

    def wish_poll(self):
        gateway = self.open_gateway()
        visitor = self.random.choice(self.visitors) if self.visitors else None
        if gateway and visitor and visitor.ticket and not visitor.busy and not visitor.done:
            visitor.busy = True
            self.spawn(gateway, gateway.poll(visitor))

    def wish_release(self):
        """Somebody who was let in is done, perhaps a second time; the site asks any gateway."""
        gateway, inside = self.open_gateway(), list(self.ledger.seats)
        if self.released and self.random.random() < 0.1 or not inside:
            inside = self.released
        if gateway and inside:
            self.released = self.released[-20:] + [self.random.choice(inside)]
            self.spawn(gateway, gateway.release(self.released[-1]))

    def wish_read(self):
        gateway = self.open_gateway()
        if gateway and not gateway.reading:
            self.spawn(gateway, gateway.read(), 'stream')

    def wish_second(self):
        gateway = self.open_gateway()
        if gateway and self.mono - gateway.second_at >= 500:
            gateway.second_at = self.mono
            self.spawn(gateway, gateway.second())

    def wish_tick(self):
        publisher = self.random.choice(self.publishers)
        if not publisher.busy and publisher.frozen_until <= self.mono:
            self.spawn(publisher, publisher.tick())

    def wish_notice(self):
        """A gateway finds out that a half open stream is dead."""
        gateway = self.open_gateway()
        if gateway:
            for connection in list(gateway.connections.values()):
                if connection.visitor.connection is not connection and self.random.random() < 0.5:
                    gateway.lose(connection)

    def wish_crash(self):
        self.crash(self.random.choice(self.publishers + [g for g in self.gateways if not g.dead]))

    def wish_freeze(self):
        actor = self.random.choice(self.publishers + self.gateways)
        actor.frozen_until = self.mono + self.random.choice((1000, 4000, 8000, 30000))
        self.count['frozen: ' + actor.kind] += 1

    def wish_lose_stream(self):
        self.count['streams deleted'] += self.redis.call('DEL', 'server:%s:stream' % self.random.choice(self.gateways).id)

    def wish_trim_stream(self):
        self.redis.call('XTRIM', 'server:%s:stream' % self.random.choice(self.gateways).id, 'MAXLEN', 0)
        self.count['streams trimmed'] += 1

    def wish_outage(self):
        """Nobody reaches Redis for long."""
        passed = self.random.randrange(10000, 400000)
        self.now += passed
        self.mono += passed
        self.count['outages'] += 1

    def wish_clock_jump(self):
        self.now += self.random.choice((-400000, -20000, -700, 5000, 90000, 3600000))
        self.count['clock jumps'] += 1

    def wish_idle(self):
        passed = self.random.randrange(6000)
        self.now += passed
        self.mono += passed

    def wish_operate(self):
        random = self.random
        change = random.choice((
            {'batch': random.choice((1, 3, 10, 40))}, {'intervalMs': random.choice((200, 500, 1000, 3000))},
            {'activeLimit': random.choice((0, 5, 15))}, {'stock': self.ledger.admitted + random.choice((-5, 5, 40))},
            {'stock': -1}, {'stock': -1}, {'graceMs': random.choice((0, 4000, 8000, 300000))}, {'status': 'paused'},
            {'status': 'open'}, {'status': 'open'}, {'status': 'closed'}, {'tokenTtlSeconds': random.choice((5, 20, 600))},
            {'maxWaiting': random.choice((0, 20))}, {'entryUrl': 'https://example.test/%d' % random.randrange(1000)}, None))
        if change is None:
            self.configure('clear', '*')
        else:
            self.configure('patch', '*', **{k: max(v, -1) if k == 'stock' else v for k, v in change.items()})

    def wish_reopen(self):
        """A line that stands still teaches nothing."""
        if self.ledger.config.get('status') != 'open':
            self.configure('patch', '*', status='open')
        elif self.ledger.phase == 'sold-out':
            self.configure('patch', '*', stock=self.random.choice((-1, self.ledger.admitted + 30)))

    def wish_recreate(self):
        config = {field: value for field, value in self.ledger.config.items() if field != 'version'}
        self.configure('delete', '*', 'force')
        self.now += 1
        self.configure('create', 'absent', **config)

    def configure(self, operation, expected, force='', **fields):
        call = ('configure', operation, expected, force, 'operator', operation, '{}', 'seed', 'hash')
        for field, value in fields.items():
            call += (field, str(value))
        self.observe(call, self.redis.pipeline(self.commands(call)))

    # ---- the run ----

    def run(self, operations):
        quiet_at = self.random.randrange(300, 900)
        while self.operations < operations:
            if self.waiting_tasks and self.random.random() < 0.62:
                self.step()
            else:
                self.operate()
                if self.operations % CHECK_EVERY == 0:
                    check_state(self)
            if self.operations >= quiet_at:
                self.come_to_rest()
                quiet_at = self.operations + self.random.randrange(300, 900)
        self.come_to_rest()

    def come_to_rest(self):
        """Faults off, everybody back, all messages read, sweeps run; the line goes on at first and stands at the end, so that
        nothing is under way: now everything has to be right."""
        faults, self.faults = self.faults, 0
        for actor in self.publishers + self.gateways:
            actor.frozen_until = 0
        self.revive(all=True)
        self.drain()
        for gateway in self.gateways:
            for connection in list(gateway.connections.values()):
                if connection.visitor.connection is not connection:
                    gateway.lose(connection)
        for turn in range(8):
            self.standing = turn >= 3
            self.now += 2100
            self.mono += 2100
            for gateway in self.gateways:
                self.spawn(gateway, gateway.second())
            self.drain()
            for publisher in self.publishers:
                self.spawn(publisher, publisher.tick())
            self.drain()
            self.read_all()
        check_state(self)
        check_quiet(self)
        self.standing = False
        self.count['came to rest'] += 1
        self.visitors = [visitor for visitor in self.visitors if not visitor.done]
        self.faults = faults

    def drain(self):
        steps = 0
        while self.step():
            steps += 1
            if steps > 100000:
                raise Violation('endless', 'the actors never come to rest')

    def read_all(self):
        for _ in range(200):
            for gateway in self.gateways:
                if not gateway.reading:
                    self.spawn(gateway, gateway.read(), 'stream')
            self.drain()
            if all(gateway.drained for gateway in self.gateways):
                return
        raise Violation('endless', 'the streams are never empty')
