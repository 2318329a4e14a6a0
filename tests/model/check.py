"""What must hold: CHECK_STATE at any moment, between any two calls; CHECK_QUIET once everything came to rest."""
from gateway import bits_to_tickets
from ledger import ADMITTED, WAITING, require
from scripts import PREFIX

PARTS = [('ZRANGE', 'waiting', 0, -1, 'WITHSCORES'), ('HGETALL', 'places'), ('HGETALL', 'users'),
         ('ZRANGE', 'parked', 0, -1, 'WITHSCORES'), ('GET', 'departed'), ('HKEYS', 'servers'),
         ('ZRANGE', 'outbox', 0, -1, 'WITHSCORES'), ('HGETALL', 'entries'), ('ZRANGE', 'active', 0, -1, 'WITHSCORES'),
         ('HMGET', 'state', 'epoch', 'tail', 'head', 'base', 'rev', 'admitted', 'phase')]


def pairs(reply):
    return dict(zip(reply[::2], reply[1::2]))


class State:
    """Everything Redis holds of the session."""

    def __init__(self, redis):
        (waiting, places, users, parked, departed, servers, outbox, entries, active, numbers) = redis.pipeline(
            [(part[0], PREFIX + part[1]) + part[2:] for part in PARTS])
        self.waiting = {place: int(ticket) for place, ticket in pairs(waiting).items()}
        self.places = {place: value.split('\t') for place, value in pairs(places).items()}  # server conn gen joined kind user
        self.users, self.servers, self.entries = pairs(users), servers, pairs(entries)
        self.parked = {place: int(deadline) for place, deadline in pairs(parked).items()}
        self.outbox = {place: int(ticket) for place, ticket in pairs(outbox).items()}
        self.active, self.bits = pairs(active), departed or ''
        self.epoch, self.tail, self.head, self.base, self.rev, self.admitted = [int(number or 0) for number in numbers[:6]]
        self.phase = numbers[6]


def check_state(world):
    ledger, state = world.ledger, State(world.redis)
    if ledger.deleted:
        require(not (state.waiting or state.places or state.outbox or state.parked), 'lost', 'something outlived the session')
        return state
    world.count['checks'] += 1
    waiting = {ledger.by_ticket[ticket].id: ticket for ticket in ledger.line}
    require(state.waiting == waiting, 'lost', 'the line differs:', set(state.waiting.items()) ^ set(waiting.items()))
    require((state.tail, state.head, state.admitted) == (ledger.tail, ledger.head, ledger.admitted), 'wrong state',
            state.tail, state.head, state.admitted, 'and not', ledger.tail, ledger.head, ledger.admitted)
    for place_id in waiting:
        check_waiting(ledger.places[place_id], state, world)
    check_bits(ledger, state)
    check_admitted(ledger, state)
    for place_id in state.parked:
        require(place_id in waiting, 'leak', place_id, 'has a deadline, but does not wait')
    for place_id in state.places:
        require(place_id in waiting or place_id in state.outbox or place_id in state.entries, 'leak', place_id, 'is kept')
    for user, place_id in state.users.items():
        require(place_id in state.places and state.places[place_id][5] == user, 'leak', 'the user', user, 'has', place_id)
    return state


def check_waiting(place, state, world):
    value = state.places.get(place.id)
    require(value is not None, 'lost', place, 'waits without a value')
    require((value[0], value[1], int(value[2]), value[5]) == (place.server, place.conn, place.gen, place.user), 'wrong state',
            value, place)
    deadline = state.parked.get(place.id)
    require((deadline is None) == (place.kept is None), 'zombie' if deadline is None else 'lost', 'deadline', deadline, place)
    if deadline is not None:
        require(deadline >= place.kept, 'lost', 'deadline', deadline, 'comes too early for', place)
    elif place.server == '':
        require(place.kind == 'v', 'zombie', 'no connection and no deadline:', place)
    else:
        require(place.server in state.servers, 'zombie', 'nobody would look for', place, 'among', state.servers)
    if place.user and world.ledger.config.get('perUser') != 'many':
        require(state.users.get(place.user) == place.id, 'duplicated', place, 'is not its user\'s:', state.users.get(place.user))


def check_bits(ledger, state):
    """Above max(head, base) every ticket waits or has its bit."""
    front = max(state.head, state.base)
    departed = bits_to_tickets(state.base, state.bits)
    for ticket in range(front + 1, state.tail + 1):
        require((ticket in departed) != (ticket in ledger.by_ticket), 'wrong position', 'ticket', ticket, 'of',
                (state.base, state.head, state.tail), 'has bit' if ticket in departed else 'has no bit')
    require(not departed or max(departed) <= state.tail, 'wrong position', 'a bit above the tail')
    require(state.waiting or state.base == state.tail, 'wrong position',
            'the line is empty, base', state.base, 'tail', state.tail)


def check_admitted(ledger, state):
    for place_id in ledger.unsettled:
        place = ledger.places[place_id]
        require(state.outbox.get(place_id) == place.ticket, 'lost', place, 'is not in the outbox and has no token')
        require(place_id in state.active and place_id in state.places, 'lost', place, 'has no seat or no value')
    for place_id in state.outbox:
        place = ledger.places[place_id]
        require(place.state == ADMITTED and not place.released, 'duplicated', 'in the outbox:', place)
    for place_id in ledger.seats:
        require(place_id in state.entries and place_id in state.places, 'lost', ledger.places[place_id], 'has lost its entry')
    for place_id in state.active:
        require(not ledger.places[place_id].released, 'leak', ledger.places[place_id], 'has a seat after its release')
    for place_id, token in state.entries.items():
        require(not ledger.places[place_id].released, 'leak', ledger.places[place_id], 'has an entry after its release')
        require(ledger.places[place_id].token == token, 'token', token, 'is stored for', ledger.places[place_id])


def check_quiet(world):
    ledger, state = world.ledger, State(world.redis)
    rank = {place: i + 1 for i, place in enumerate(state.waiting)}
    require(not state.outbox, 'lost', 'still in the outbox:', state.outbox)
    url = ledger.config.get('entryUrl', '')
    connected = {}
    for gateway in world.gateways:
        require(not gateway.parks, 'endless', 'parks of', gateway.name, gateway.parks)
        if gateway.connections:
            known = gateway.known
            require(known is not None and (known.epoch, known.rev) == (state.epoch, state.rev), 'stale', gateway.name, 'knows',
                    known and (known.epoch, known.rev), 'of', (state.epoch, state.rev))
            require(known.url == url, 'stale', gateway.name, 'has the entry URL', known.url, 'not', url)
            require(gateway.name in state.servers, 'zombie', gateway.name, 'serves, but nobody knows:', state.servers)
            position = known.ranks(world.flags)
        for connection in gateway.connections.values():
            place = ledger.places[connection.place]
            connected[place.id] = connection
            require(place.state == WAITING, 'untold', place, 'is still connected to', gateway.name)
            require((place.conn, place.server) == (connection.conn, gateway.name), 'zombie', gateway.name, connection.conn,
                    'holds', place)
            require(position(connection.ticket) == rank[place.id] == connection.shown, 'wrong position', 'known',
                    position(connection.ticket), 'shown', connection.shown, 'true', rank[place.id], place)
    for place_id in rank:
        place = ledger.places[place_id]
        require(place_id in connected or place_id in state.parked or place.kind == 'v' and place.server == '', 'zombie',
                'no connection and no deadline:', place)
    for visitor in world.visitors:
        connection = visitor.connection
        require(connection is None or connected.get(connection.place) is connection, 'untold', 'a visitor believes to have',
                connection and connection.place)
        require(not visitor.busy, 'endless', 'a visitor never got an answer')
    server_names = {gateway.name for gateway in world.gateways}
    require(set(state.servers) <= server_names, 'leak', 'dead servers are still told:', state.servers)
