"""Scenes with whole daemons: the caller's half of the rules, with nothing left to chance but the order of calls."""
from ledger import require
from visitor import Visitor
from world import World

WORLD_SCENES = []


def scene(function):
    WORLD_SCENES.append((function.__name__, function))
    return function


CONFIG = {'graceMs': 8000, 'batch': 1, 'intervalMs': 3000, 'perUser': 'newest', 'stock': -1, 'activeLimit': 0, 'maxWaiting': 0,
          'status': 'paused', 'tokenTtlSeconds': 600}


def play(function, connection, changes, flags):
    world = World(connection, 'scene', changes, flags, CONFIG, faults=0)
    world.drain()
    world.read_all()
    function(world)


def run_world_scenes(connection, changes, flags):
    """(name, a function that plays it)."""
    for name, function in WORLD_SCENES:
        yield name, lambda: play(function, connection, changes, flags)


def visit(world, gateway, user=''):
    visitor = Visitor(world, user, 'stream')
    visitor.busy = True
    world.visitors.append(visitor)
    world.spawn(gateway, gateway.arrive(visitor, 'stream'))
    world.drain()
    return visitor


def tick(world, publisher=0):
    world.spawn(world.publishers[publisher], world.publishers[publisher].tick())


def seconds(world, count, beating):
    """COUNT seconds pass with ticks and the heartbeats of BEATING."""
    for _ in range(count):
        world.now += 1000
        world.mono += 1000
        for gateway in beating:
            world.spawn(gateway, gateway.second())
        tick(world)
        world.drain()


@scene
def a_gateway_that_was_frozen_takes_its_places_back(world):
    gateway = world.gateways[0]
    world.flags = gateway.flags = gateway.flags | {'no audit'}
    visitor = visit(world, gateway)
    seconds(world, 1, world.gateways)
    seconds(world, 8, world.gateways[1:])
    place = world.ledger.places[visitor.ticket[0]]
    require(place.kept is not None, 'scene', 'nobody parked', place)
    seconds(world, 1, world.gateways)
    require(place.kept is None, 'lost', place, 'is connected, and its grace runs')


@scene
def places_of_an_older_boot_are_parked_at_once(world):
    visitor = visit(world, world.gateways[0])
    seconds(world, 1, world.gateways)
    world.crash(world.gateways[0])
    world.revive(all=True)
    world.drain()
    seconds(world, 2, world.gateways)
    place = world.ledger.places[visitor.ticket[0]]
    require(place.kept is not None, 'zombie', place, 'has no connection and no deadline')


def lose_answer_of(world, name):
    """The next call of NAME is carried out, and its answer is lost."""
    step, real = world.commands, world.fate

    def commands(call):
        if call[0] == name:
            world.commands = step
            world.next_fate = 'answer lost'
        return step(call)

    def go_on(actor, task, lane, answer, hand_over=world.go_on):
        from gateway import Unanswered
        if world.next_fate:
            world.next_fate, answer = None, Unanswered()
        hand_over(actor, task, lane, answer)
    world.next_fate, world.commands, world.go_on, world.fate = None, commands, go_on, real


@scene
def nobody_is_left_behind_a_join_whose_answer_was_lost(world):
    lose_answer_of(world, 'join')
    visitor = visit(world, world.gateways[0])
    require(visitor.ticket is None, 'scene', 'the answer was not lost')
    require(len(world.ledger.line) == 1, 'scene', 'nobody joined')
    place = next(iter(world.ledger.places.values()))
    require(place.kept is not None, 'zombie', place, 'has no connection and no deadline')


@scene
def nobody_is_left_behind_a_resume_whose_answer_was_lost(world):
    visitor = visit(world, world.gateways[0])
    visitor.gateway.lose(visitor.connection)
    world.drain()
    lose_answer_of(world, 'resume')
    visitor.busy = True
    world.spawn(world.gateways[1], world.gateways[1].arrive(visitor, 'stream'))
    world.drain()
    place = world.ledger.places[visitor.ticket[0]]
    require(place.kept is not None and place.gen == 2, 'zombie', place, 'has no connection and no deadline')


@scene
def a_last_announcement_that_was_lost_costs_one_sweep(world):
    first, second = (visit(world, world.gateways[0]) for _ in range(2))
    seconds(world, 1, world.gateways)
    world.read_all()
    first.gateway.leave(first.ticket)
    world.drain()
    seconds(world, 1, [])
    for gateway in world.gateways:
        world.redis.call('XTRIM', 'server:%s:stream' % gateway.id, 'MAXLEN', 0)
    seconds(world, 1, world.gateways)
    require(second.connection.shown == 1, 'stale', 'the position is still', second.connection.shown)


@scene
def a_lost_announcement_is_noticed_by_the_next(world):
    first, second, third = (visit(world, world.gateways[0]) for _ in range(3))
    seconds(world, 1, world.gateways)
    world.read_all()
    for visitor in (first, second):
        world.redis.call('XTRIM', 'server:g0:stream', 'MAXLEN', 0)
        visitor.gateway.leave(visitor.ticket)
        world.drain()
        seconds(world, 1, [])
    world.read_all()
    require(third.connection.shown == 1, 'wrong position', 'shown is still', third.connection.shown)


@scene
def an_entry_that_was_lost_is_found(world):
    visitor = visit(world, world.gateways[0])
    seconds(world, 1, world.gateways)
    world.configure('patch', '*', status='open')
    seconds(world, 1, [])
    for gateway in world.gateways:
        world.redis.call('DEL', 'server:%s:stream' % gateway.id)
    for _ in range(4):
        seconds(world, 1, world.gateways)
    require(visitor.done, 'untold', 'the visitor was admitted and has heard nothing')


@scene
def the_stream_of_a_removed_server_is_not_made_again(world):
    """An owner freezes between its tick and its announcement; meanwhile the gateway dies and another owner removes it."""
    visit(world, world.gateways[0])
    seconds(world, 1, world.gateways)
    visit(world, world.gateways[1])
    tick(world)
    while world.publishers[0].id not in str(world.ledger.owner) or not world.ledger.rev:
        world.step(most=1)
    world.step(most=1)
    world.publishers[0].frozen_until = world.mono + 60000
    world.crash(world.gateways[0])
    world.revivals.clear()
    for _ in range(12):
        world.now += 1000
        world.mono += 1000
        for gateway in world.gateways[1:]:
            world.spawn(gateway, gateway.second())
        tick(world, 1)
        world.drain()
    require(not world.redis.call('EXISTS', 'server:g0:stream'), 'scene', 'the stream was not removed')
    world.publishers[0].frozen_until = 0
    while world.step(most=1):
        require(not world.redis.call('EXISTS', 'server:g0:stream'), 'leak', 'a stream that nobody reads was made')


@scene
def who_was_admitted_is_not_told_that_the_line_closed(world):
    """The entry is lost in a trimmed stream, then the line closes."""
    visitor = visit(world, world.gateways[0])
    visit(world, world.gateways[0])
    world.configure('patch', '*', status='open')
    seconds(world, 1, world.gateways[1:])
    world.redis.call('XTRIM', 'server:g0:stream', 'MAXLEN', 0)
    world.configure('patch', '*', status='closed')
    seconds(world, 1, world.gateways[1:])
    world.read_all()
    seconds(world, 3, world.gateways)
    require(visitor.done, 'untold', 'the visitor was admitted and has heard nothing')
