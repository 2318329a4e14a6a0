"""Scenes: the lobby before the start, the draw in order of arrival or by the seed, and what happens to it meanwhile."""
import hashlib

from ledger import require
from line import SEED, SEED_HASH, START, Line, same
from scenes import outcome, scene

STARTS = START + 60000
ARRIVAL = {'startsAt': STARTS, 'batch': 1000, 'intervalMs': 1000}
LOTTERY = dict(ARRIVAL, lobby='lottery')


def gather(line, count, first=1):
    for n in range(first, first + count):
        reply = line.join('p%03d' % n)
        same(reply[0], 'lobby', n)
        same(reply[12], line.now >= STARTS and line.key('ZCARD', 'lobby') or n, 'how many are there')


def draw(line, most=500, me='A'):
    return line.call('draw', me, line.state('epoch'), most)


def draw_all(line, most=500):
    """The places in the order of their tickets, by ticks and draws as the publisher makes them."""
    drawn = []
    for _ in range(1000):
        tick = line.admit()
        if tick['phase'] != 'drawing':
            return drawn, tick
        reply = draw(line, most)
        same(reply[0], 'ok')
        for place, ticket, _ in zip(*[iter(reply[3:])] * 3):
            drawn.append(place)
            same(ticket, len(drawn), place)
    raise AssertionError('the draw has no end')


def by_seed(places):
    return sorted(places, key=lambda place: (int(hashlib.sha1((SEED + place).encode()).hexdigest()[:13], 16), place))


@scene(**ARRIVAL)
def the_lobby_is_drawn_in_order_of_arrival(line):
    gather(line, 12)
    same(line.admit()['phase'], 'lobby')
    line.now = STARTS - 1
    tick = line.admit()
    same((tick['now_admitted'], tick['held'], tick['lobby'], tick['start']), (0, 'not-started', 12, 1))
    line.now += 1
    drawn, tick = draw_all(line, 5)
    same(drawn, ['p%03d' % n for n in range(1, 13)])
    same((tick['phase'], tick['now_admitted'], tick['head'], tick['tail']), ('open', 12, 12, 12))


@scene(**LOTTERY)
def a_lottery_is_drawn_in_the_order_anybody_can_recompute(line):
    gather(line, 40)
    line.admit()
    same(line.call('info')[7:10], ['lottery', SEED_HASH, ''], 'the seed is not shown before the draw')
    line.now = STARTS
    drawn, tick = draw_all(line, 7)
    same(drawn, by_seed(drawn))
    require(drawn != sorted(drawn), 'scene', 'the order of the seed is that of arrival')
    same(line.call('info')[7:12], ['lottery', SEED_HASH, SEED, '1', '40'])
    same(hashlib.sha256(line.call('info')[9].encode()).hexdigest(), SEED_HASH)
    admissions = line.key('XRANGE', 'admissions', '-', '+')
    same([dict(zip(f[::2], f[1::2]))['place'] for _, f in admissions], drawn)


@scene(**LOTTERY)
def who_comes_during_the_draw_stands_behind_everybody_and_by_arrival(line):
    gather(line, 20)
    line.admit()
    line.now = STARTS
    gather(line, 3, 21)  # the start has passed, no tick has noticed yet
    same(line.admit()['phase'], 'drawing')
    first = draw(line, 8)
    gather(line, 3, 24)
    rest, _ = draw_rest(line, 8)
    order = [place for place in first[3::3]] + rest
    early = ['p%03d' % n for n in range(1, 21)]
    same(order[:20], by_seed(early))
    same(order[20:], ['p%03d' % n for n in range(21, 27)])
    same(line.call('info')[10:12], ['1', '20'], 'the tickets that the seed ordered')
    same(line.join('p099')[:4], ['waiting', 'p099', int(line.state('epoch')), 27])


def draw_rest(line, most):
    drawn, last = [], None
    while line.key('ZCARD', 'lobby') > 0:
        last = draw(line, most)
        drawn += last[3::3]
    return drawn, last


@scene(**LOTTERY)
def nobody_in_a_lottery_is_told_its_order(line):
    for reply in (line.join('a'), line.resume('a'), line.call('status', 'a', 'poll', 0, 0)):
        same((reply[0], reply[3]), ('lobby', 0))
    line.configure('delete', force='force')


@scene(**ARRIVAL)
def a_place_in_the_lobby_lives_like_any_other(line):
    gather(line, 6)
    same(line.resume('p001', server='g2.b', conn='new')[:5], ['lobby', 'p001', int(line.state('epoch')), 1, 2])
    same(line.resume('p001', conn='other', expect='p001:1')[0], 'moved')
    same(line.leave('p001', 1), ['stale'])
    same(line.leave('p001', 2)[:3], ['departed', 'g2.b', 0])
    same(line.leave('p001', 2), ['gone'])
    same(line.park('p002', 'p002:1'), ['parked'])
    same(line.park('p003', 'wrong'), ['stale'])
    same(line.call('reap', 'g1.b', '0')[1], 4)
    line.admit()
    same(line.resume('p003')[0], 'lobby')
    for _ in range(3):
        line.now += 5000
        line.admit()
    same(line.key('ZRANGE', 'lobby', 0, -1), ['p003'], 'whose grace passed is gone, and leaves no bit')
    same(line.key('EXISTS', 'departed'), 0)
    line.now = STARTS
    drawn, _ = draw_all(line)
    same(drawn, ['p003'])


@scene(**dict(ARRIVAL, graceMs=0))
def without_a_grace_the_lobby_is_left_at_once(line):
    gather(line, 1)
    same(line.park('p001', 'p001:1'), ['departed'])
    same((line.key('ZCARD', 'lobby'), line.key('HLEN', 'places')), (0, 0))


@scene(**dict(ARRIVAL, perUser='refuse', maxWaiting=3))
def a_user_has_one_place_in_the_lobby_and_the_cap_counts_it(line):
    same(line.join('a', 'user')[0], 'lobby')
    same(line.join('b', 'user'), ['already-waiting'])
    line.park('a', 'a:1')
    same(line.join('b', 'user')[:2], ['lobby', 'a'])
    gather_more = [line.join('c')[0], line.join('d')[0], line.join('e')[0]]
    same(gather_more, ['lobby', 'lobby', 'line-full'])


@scene(**dict(ARRIVAL, lobby='none'))
def without_a_lobby_nobody_is_let_in_early(line):
    same(line.join('a'), ['not-started', str(STARTS)])
    line.now = STARTS
    same(line.join('a')[0], 'waiting')


@scene(**LOTTERY)
def only_the_owner_draws_and_only_while_there_is_a_draw(line):
    gather(line, 3)
    same(outcome(draw(line)), 'fenced')
    line.admit()
    same(draw(line), ['gone'])
    line.now = STARTS
    line.admit()
    same(draw(line, me='B')[::2], ['fenced', 'A'])
    same(line.call('draw', 'A', int(line.state('epoch')) - 1, 500), ['lost'])
    line.now += 3000
    same(outcome(draw(line)), 'fenced', 'the lease ended')
    line.admit(me='B')
    same(draw(line, me='B')[0], 'ok')
    line.configure('delete', force='force')
    same(draw(line, me='B'), ['deleted'])


@scene(**LOTTERY)
def the_order_of_a_lobby_in_use_cannot_be_changed(line):
    gather(line, 2)
    same(line.configure('patch', lobby='arrival'), ['in-use', 2])
    same(line.configure('patch', lobby=''), ['in-use', 2])
    same(line.configure('patch', startsAt=STARTS + 5000)[0], 'ok', 'it may be put off')
    line.now = STARTS + 1000
    same(line.join('late')[0], 'lobby')
    line.admit()
    line.now = STARTS + 5000
    line.admit()
    same(line.configure('patch', startsAt=STARTS + 9000), ['in-use', 3], 'a draw that has begun may not')
    drawn, _ = draw_all(line)
    same(drawn, by_seed(drawn))


@scene(**ARRIVAL)
def without_a_start_the_lobby_is_drawn_at_once(line):
    gather(line, 2)
    line.admit()
    same(line.configure('patch', startsAt='')[0], 'ok')
    same(line.join('p003')[0], 'lobby')
    drawn, _ = draw_all(line)
    same(drawn, ['p001', 'p002', 'p003'])


@scene(**LOTTERY)
def a_second_lottery_has_a_seed_of_its_own_and_the_first_is_kept(line):
    gather(line, 2)
    line.admit()
    line.configure('patch', batch=7)
    line.now = STARTS
    draw_all(line)
    line.configure('patch', batch=8)
    same(line.state('seed'), SEED, 'a change without a new start keeps the seed')
    line.call('configure', 'patch', '*', '', 'op', 'patch', '{}', 'second', 'its hash', 'startsAt', line.now + 1000)
    same(line.call('info')[7:12], ['lottery', 'its hash', '', '0', '0'])
    fields = line.key('XREVRANGE', 'audit', '+', '-', 'COUNT', 1)[0][1]
    same(dict(zip(fields[::2], fields[1::2]))['seed'], SEED)


@scene(**ARRIVAL)
def who_is_in_the_lobby_is_let_go_when_all_is_over(line):
    gather(line, 3)
    for change, reason, joins in (({'status': 'closed'}, 'closed', 'closed'), ({'stock': 0}, 'sold-out', 'sold-out')):
        line = Line(line.redis, line.changes, **ARRIVAL)
        gather(line, 3)
        line.admit()
        line.configure('patch', **change)
        tick = line.admit()
        same((tick['closing'], tick['lobby']), (reason, 0))
        same(line.join('x'), [joins])
        same(line.resume('p001')[0], 'gone')
        same(line.key('HLEN', 'places'), 0)
        same(line.admit()['closing'], '')


@scene(**ARRIVAL)
def clear_empties_the_lobby(line):
    for start in range(0, 1000, 200):
        line.redis.pipeline([line.command('join', 'q%04d' % n, '', 'g1.b', 'q%04d:1' % n, 'stream', 0, 0, 'doorbell', 's')
                             for n in range(start, start + 200)])
    line.admit()
    line.configure('clear')
    same([line.admit()['lobby'], line.admit()['lobby']], [500, 0])
    same(line.state('cleared'), None)
    same(line.join('new')[0], 'lobby')
    tick = line.admit()
    same((tick['lobby'], tick['closing']), (1, ''))


@scene(stock=0, **ARRIVAL)
def stock_that_comes_back_opens_the_lobby_again(line):
    same(line.admit()['phase'], 'sold-out')
    same(line.join('a'), ['sold-out'])
    line.configure('patch', stock=5)
    same(line.admit()['phase'], 'lobby')
    same(line.join('a')[0], 'lobby')


@scene(batch=1)
def the_operators_word_stands_until_it_is_taken_back(line):
    line.join('a')
    line.admit()
    rev, version = int(line.state('rev')), line.key('HGET', 'config', 'version')
    same(line.call('configure', 'announce', '*', '', 'op', 'announce', '{}', 'x', 'x', 'message', 'Soon.')[0], 'ok')
    same(line.key('HGET', 'config', 'version'), version, 'the config is as it was')
    require(line.admit()['rev'] > rev + 1, 'scene', 'every gateway must notice a gap and fetch a picture')
    same(line.call('sync')[18:20], ['Soon.', str(line.now)])
    line.now += 5
    line.call('configure', 'announce', '*', '', 'op', 'announce', '{}', 'x', 'x', 'message', '')
    same(line.call('sync')[18:20], ['', str(line.now)])
