"""Fixed scenes: what chance would meet too seldom, with the scripts' real chunks and limits. A scene's name is a sentence."""
from ledger import require
from line import Line, START, attempt, same
from scripts import PREFIX, keys

SCENES = []


def scene(**config):
    def register(function):
        SCENES.append((function.__name__, function, config))
        return function
    return register


def run_scenes(connection, changes, flags):
    """(name, a function that plays it). FLAGS concern daemons, and there are none here."""
    for name, function, config in SCENES:
        yield name, lambda: function(Line(connection, changes, **config))


def outcome(reply):
    return reply['ok'] if isinstance(reply, dict) else reply[0]


def pick(tick, *fields):
    return [tick[field] for field in fields]


# ---- what every script promises ----

def furnished(connection, changes):
    """A line in which every script has something to do and every key is in use."""
    line = Line(connection, changes, perUser='newest', rejoin='refuse', batch=2, tokenTtlSeconds=60, virtual='true')
    line.configure('patch', maxWaiting=1000)
    for n in range(8):
        line.join('p%d' % n, 'user%d' % n, 'g%d.b' % (n % 2))
    line.settle_all(line.admit())
    line.leave('p4')
    line.park('p5', 'p5:1')
    line.now += 2000
    line.admit()  # two more, unsettled
    line.leave('p7')
    return line


CALLS = {
    'join': ('q1', 'user9', 'g1.b', 'q1:1', 'poll', 0, 0, 'doorbell', 's'),
    'resume': ('p6', 'g3.b', 'new:1', 'stream', '', 0, 0),
    'park': ('p6', 'p6:1', 'user6', ''),
    'leave': ('p6', 1),
    'status': ('p5', 'poll', 0, 0),
    'sync': (),
    'admit': ('A', 3000, 5000, 'run', 0, 0, 0, 0, '', 500, 'p0'),
    'settle': ('p2', 'a token', 'p3', 'another'),
    'reap': ('g0.b', '0'),
    'configure': ('patch', '*', '', 'me', 'patch', '{}', 'batch', 7),
}


@scene(create=False)
def a_key_of_a_wrong_type_makes_a_script_fail_or_does_not_concern_it(line):
    connection, changes = line.redis, line.changes
    for name, args in CALLS.items():
        line = furnished(connection, changes)
        line.now += 10000
        before = line.dump()
        expected = attempt(line, name, args)
        require(not isinstance(expected, str), 'scene', name, 'fails untouched:', expected)
        changed = {key for key, value in line.dump().items() if before.get(key) != value}
        for key in keys(name):
            line = furnished(connection, changes)
            line.now += 10000
            line.redis.call('DEL', PREFIX + key)
            if key in ('departed',):
                line.redis.call('LPUSH', PREFIX + key, 'wrong')
            else:
                line.redis.call('SET', PREFIX + key, 'wrong')
            poisoned = line.dump()
            reply, after = attempt(line, name, args), line.dump()
            if isinstance(reply, str):
                require(reply.startswith('WRONGTYPE'), 'half done', name, 'with a wrong', key, 'fails with', reply)
                same(after, poisoned, 'half done: %s with a wrong %s' % (name, key))
            else:
                require(PREFIX + key not in changed, 'half done', name, 'writes', key, 'but took a wrong type of it')


@scene(create=False)
def arguments_that_make_no_sense_change_nothing(line):
    connection, changes = line.redis, line.changes
    cases = [('admit', at, value) for at, value in ((1, 'x'), (2, 'x'), (4, ''), (5, 'x'), (6, 'x'), (7, ''), (8, 'much'), (9, ''))]
    cases += [('join', 5, 'x'), ('resume', 5, 'x'), ('leave', 1, 'x'), ('status', 2, 'x'), ('settle', 3, None),
              ('configure', 7, None)]
    for name, at, value in cases:
        line = furnished(connection, changes)
        before, args = line.dump(), list(CALLS[name])
        if value is None:
            del args[at]
        else:
            args[at] = value
        reply = attempt(line, name, args)
        require(isinstance(reply, str), 'scene', name, args, 'was taken:', reply)
        same(line.dump(), before, 'half done: %s %s' % (name, args))


@scene()
def a_script_answers_lost_to_who_knows_more_and_writes_nothing(line):
    line.join('a')
    epoch, before = int(line.state('epoch')), line.dump()
    for known in ((epoch + 1, 0), (epoch, 2)):
        same(line.join('b', known=known), ['lost'])
        same(line.resume('a', known=known), ['lost'])
        same(line.call('status', 'a', 'poll', *known), ['lost'])
    same(line.admit(epoch=epoch + 1), ['lost'])
    same(line.admit(epoch=epoch, rev=int(line.state('rev')) + 1), ['lost'])
    same(line.dump(), before)
    same(line.join('b', known=(epoch, 1))[0], 'waiting')
    same(line.join('c', known=(epoch - 1, 99))[0], 'waiting')


@scene()
def a_deleted_session_says_so_and_comes_back_with_a_higher_epoch(line):
    line.join('a', 'user')
    epoch = int(line.state('epoch'))
    same(line.configure('delete'), ['in-use', 1])
    same(line.configure('delete', force='force')[0], 'ok')
    for reply in (line.join('b'), line.resume('a'), line.call('status', 'a', '', 0, 0), line.call('sync'), line.admit()):
        same(reply, ['deleted'])
    same(line.park('a', 'a:1'), ['gone'])
    same(line.leave('a'), ['gone'])
    same(line.call('reap', 'g1.b', '0'), ['0', 0])
    require(0 < line.key('TTL', 'state') <= 86400, 'scene', 'the tombstone stays', line.key('TTL', 'state'))
    line.now -= 5000
    same(line.configure('create', 'absent', batch=1, intervalMs=1000)[0], 'ok')
    require(int(line.state('epoch')) > epoch, 'scene', 'epoch', line.state('epoch'), 'after', epoch)
    same(line.key('TTL', 'state'), -1)
    same(line.join('b')[3], 1)


@scene(create=False)
def nothing_is_known_of_a_session_that_never_was(line):
    for reply in (line.join('a'), line.resume('a'), line.park('a', 'a:1'), line.leave('a'), line.call('status', 'a', '', 0, 0),
                  line.call('sync'), line.admit(), line.call('settle', 'a', 't'), line.configure('patch', '*', batch=1)):
        same(reply, ['none'])
    same(line.dump(), {})


# ---- connections ----

@scene()
def a_late_park_of_an_older_connection_changes_nothing(line):
    """A, then B, then A again: the server is the same, the connection is not."""
    line.join('a', server='g1.b', conn='g1:1')
    line.resume('a', server='g2.b', conn='g2:1')
    line.resume('a', server='g1.b', conn='g1:2')
    same(line.park('a', 'g1:1'), ['stale'])
    same(line.key('ZCARD', 'parked'), 0)
    same(line.park('a', 'g1:2'), ['parked'])
    same(line.resume('a', conn='g1:2', expect='g1:2')[0], 'waiting')
    same(line.key('ZCARD', 'parked'), 0)
    same(line.resume('a', conn='g1:1', expect='g1:1')[0], 'moved')


@scene()
def a_leave_with_an_older_ticket_changes_nothing(line):
    line.join('a')
    same(line.resume('a')[4], 2)
    same(line.leave('a', 1), ['stale'])
    same(line.leave('a', 2), ['departed', 'g1.b', 1])
    same(line.leave('a', 2), ['gone'])


@scene()
def a_park_after_a_lost_answer_finds_the_older_place_of_the_user(line):
    line.join('a', 'user', conn='one')
    same(line.join('b', 'user', conn='two')[:2], ['waiting', 'a'])
    same(line.park('b', 'two', 'user', 'short'), ['parked'])
    require(line.key('ZSCORE', 'parked', 'a') is not None, 'scene', 'a was not parked')


@scene(graceMs=300000)
def only_a_ticket_that_nobody_ever_had_is_kept_shortly(line):
    line.join('a', 'user', conn='one')
    line.join('b', 'user', conn='two')  # takes a; the answer is lost
    line.park('b', 'two', 'user', 'short')
    line.join('c', conn='three')
    line.park('c', 'three', '', 'short')
    same(line.key('ZRANGE', 'parked', 0, -1, 'WITHSCORES'), ['c', str(START + 30000), 'a', str(START + 300000)])


@scene(graceMs=0)
def without_grace_a_parked_place_departs_at_once(line):
    line.join('a', 'user')
    line.join('b', 'user2')
    same(line.park('a', 'a:1'), ['departed'])
    same(line.resume('a')[0], 'gone')
    same(line.key('HGET', 'users', 'user'), None)
    same(line.call('status', 'b', '', 0, 0)[5], 1)
    same(line.key('GETBIT', 'departed', 1), 1)


@scene(virtual='false')
def asking_to_be_virtual_does_not_free_a_place_of_its_deadline(line):
    line.join('a', 'user', mode='poll')
    same(line.join('b', 'user', mode='virtual'), ['not-virtual'])
    line.configure('patch', virtual='true')
    same(line.join('b', 'user', mode='virtual')[:2], ['waiting', 'a'])
    require(line.key('ZSCORE', 'parked', 'a') is not None, 'zombie', 'a has neither connection nor deadline')
    line.join('v', mode='virtual')
    same(line.key('ZSCORE', 'parked', 'v'), None)


@scene(graceMs=60000)
def polling_keeps_a_place_and_silence_does_not(line):
    line.join('a', mode='poll')
    same(line.key('ZSCORE', 'parked', 'a'), str(START + 30000))
    line.call('status', 'a', 'poll', 0, 0)
    same(line.key('ZSCORE', 'parked', 'a'), str(START + 60000))
    line.call('status', 'a', '', 0, 0)
    same(line.resume('a')[0], 'waiting')
    same(line.key('ZSCORE', 'parked', 'a'), None)


@scene(perUser='refuse')
def a_second_place_is_refused_while_the_first_is_connected(line):
    line.join('a', 'user')
    same(line.join('b', 'user'), ['already-waiting'])
    line.park('a', 'a:1')
    same(line.join('b', 'user')[:2], ['waiting', 'a'])


@scene(batch=1)
def rejoin_decides_what_somebody_admitted_gets(line):
    line.join('a', 'user')
    line.settle_all(line.admit())
    same(line.join('b', 'user')[:2], ['entered', 'a'])
    line.configure('patch', rejoin='back')
    same(line.join('b', 'user')[:2], ['waiting', 'b'])
    line.configure('patch', rejoin='refuse')
    line.now += 1000
    line.admit()
    same(line.join('c', 'user'), ['already-entered'])


@scene()
def reaping_parks_a_dead_servers_places_and_no_others(line):
    line.join('a', server='g1.b')
    line.join('b', server='g2.b')
    line.join('c', server='g1.c')
    same(line.call('reap', 'g1.b', '0'), ['0', 1])
    same(line.key('ZRANGE', 'parked', 0, -1), ['a'])
    same(sorted(line.key('HKEYS', 'servers')), ['g1.c', 'g2.b'])
    same(line.resume('a', server='g1.b', conn='a:1', expect='a:1')[0], 'waiting')
    same(line.key('ZCARD', 'parked'), 0)
    require('g1.b' in line.key('HKEYS', 'servers'), 'zombie', 'the server that took its place back is not told')


# ---- time ----

@scene(graceMs=8000, status='paused')
def an_outage_or_a_clock_step_kills_nobody(line):
    line.join('a')
    line.admit()
    line.park('a', 'a:1')
    line.now += 3600000
    same(line.admit()['parked'], 1)
    line.now -= 7200000
    same(line.admit()['parked'], 1)
    line.now += 2000
    same(line.admit()['parked'], 1)
    line.now += 2000
    same(line.admit()['expired'], 1)


@scene(graceMs=8000, status='paused')
def a_grace_begins_where_the_line_clock_will_be_after_an_outage(line):
    line.join('a')
    line.admit()
    line.now += 5000  # the next tick will move the line clock by as much
    line.park('a', 'a:1')
    line.now += 1
    same(line.admit()['expired'], 0)
    for _ in range(3):
        line.now += 2500
        same(line.admit()['expired'], 0)
    line.now += 600
    same(line.admit()['expired'], 1)


@scene(batch=3, intervalMs=1000)
def tokens_do_not_add_up(line):
    line.join_many(20)
    same(line.admit()['now_admitted'], 3)
    same(line.admit()['now_admitted'], 0)
    line.now += 4999
    same(line.admit()['now_admitted'], 3)
    line.now += 1
    same(line.admit()['now_admitted'], 3)
    line.now += 3600000
    same(line.admit()['now_admitted'], 3)
    same(line.admit()['now_admitted'], 0)


@scene(batch=5, intervalMs=1000)
def the_loads_cap_counts_for_the_whole_interval(line):
    line.join_many(20)
    same(line.admit(cap='missing')['held'], 'load-missing')
    same(line.admit(cap='2')['now_admitted'], 2)
    same(line.admit(cap='3')['now_admitted'], 1)
    same(line.admit(cap='1')['now_admitted'], 0)
    same(line.admit(cap='4.7')['now_admitted'], 1)


@scene()
def the_lease_fences_others_and_ends(line):
    line.join('a')
    same(line.admit()['now_admitted'], 1)
    line.now += 2999
    same(line.admit(me='B'), ['fenced', 1, 'A'])
    line.now += 1
    same(outcome(line.admit(me='B')), 'ok')
    same(outcome(line.admit()), 'fenced')


@scene()
def a_dead_owners_lease_ends_though_the_clock_stepped_back(line):
    line.admit()
    line.now -= 3600000
    same(line.admit(me='B'), ['fenced', 3000, 'A'])
    line.now += 3000
    same(outcome(line.admit(me='B')), 'ok')


# ---- admission ----

@scene(batch=5000)
def a_tick_admits_five_hundred_and_stops_at_a_thousand_unconfirmed(line):
    line.join_many(1300)
    for expected in (500, 500, 0):
        tick = line.admit()
        same(tick['now_admitted'], expected)
        same([len(tick['outbox']), tick['more']], [2500, 1])
    same(line.key('ZCARD', 'outbox'), 1000)
    same(line.key('ZRANGE', 'waiting', 0, 0), ['p01001'])
    settled = line.settle_all(tick)[::3]
    same(len(settled), 500)
    tick = line.admit(*settled)
    same([tick['now_admitted'], tick['head'], tick['waiting']], [300, 1300, 0])
    tickets = [int(entry[1][5]) for entry in line.key('XRANGE', 'admissions', '-', '+')]
    same(tickets, list(range(1, 1301)))


@scene(batch=5, activeLimit=5, tokenTtlSeconds=60)
def a_seat_is_taken_when_somebody_is_admitted_and_kept_while_the_token_waits(line):
    line.join_many(20)
    same(line.admit()['now_admitted'], 5)
    line.now += 1000
    same(line.admit()['now_admitted'], 0)
    line.now += 3600000  # the owner died before it signed
    tick = line.admit(me='B')
    same([tick['now_admitted'], tick['held']], [0, 'active-limit'])
    same(tick['outbox'][3:5], [line.now // 1000, line.now // 1000 + 60])
    line.settle_all(tick)
    line.now += 60000
    same(line.admit(*tick['outbox'][::5], me='B')['now_admitted'], 5)


@scene(batch=5, activeLimit=5, tokenTtlSeconds=600)
def a_token_is_never_issued_in_the_future(line):
    line.join('a')
    line.admit()
    line.configure('patch', tokenTtlSeconds=5)
    same(line.admit()['outbox'][3:], [START // 1000, START // 1000 + 600])


@scene(batch=1)
def a_token_is_never_written_twice(line):
    line.join('a', server='g1.b')
    tick = line.admit()
    same(line.settle_all(tick, 'first'), ['a', 'token.a.first', 'g1.b'])
    line.resume('a', server='g2.b')
    same(line.settle_all(tick, 'second'), ['a', 'token.a.first', 'g1.b'])
    same(line.call('settle', 'nobody', 'token'), [])
    same(line.resume('a'), ['entered', 'a', int(line.state('epoch')), 'token.a.first'])


@scene(batch=1)
def an_entry_goes_where_the_place_is_when_it_is_settled(line):
    line.join('a', server='g1.b')
    tick = line.admit()
    same(line.resume('a', server='g2.b')[0], 'admitted')
    same(line.settle_all(tick)[2], 'g2.b')


@scene(batch=1)
def the_outbox_keeps_whoever_has_no_token(line):
    line.join('a')
    line.admit()
    same(line.admit('a')['outbox'][:1], ['a'])
    line.settle_all(line.admit())
    same(line.admit('a')['outbox'], [])


@scene(batch=2, stock=3)
def the_stock_ends_the_line_and_raising_it_opens_it_again(line):
    line.join_many(5)
    line.admit()
    line.now += 1000
    tick = line.admit()
    same([tick['now_admitted'], tick['phase'], tick['left'], tick['more']], [1, 'sold-out', 0, 1])
    same(line.join('x'), ['sold-out'])
    tick = line.admit()
    same([tick['closing'], tick['closing_tail'], tick['waiting']], ['sold-out', 5, 0])
    line.configure('patch', stock=4)
    line.now += 1000
    same(line.admit()['phase'], 'open')
    line.join_many(2, first=6)
    line.now += 1000
    same(line.admit()['now_admitted'], 1)


@scene(batch=1)
def paused_and_closed_admit_nobody(line):
    line.join_many(3)
    line.configure('patch', status='paused')
    same(pick(line.admit(), 'now_admitted', 'held', 'waiting'), [0, 'paused', 3])
    line.configure('patch', status='closed')
    same(pick(line.admit(), 'now_admitted', 'closing', 'waiting'), [0, 'closed', 0])
    same(line.join('x'), ['closed'])


@scene(batch=1)
def a_line_that_ended_or_has_not_begun_takes_nobody(line):
    line.configure('patch', startsAt=START + 1000, endsAt=START + 2000)
    same(line.join('a'), ['not-started', str(START + 1000)])
    same(line.admit()['now_admitted'], 0)
    line.now += 1000
    line.join('a')
    line.join('b')
    same(line.admit()['now_admitted'], 1)
    line.now += 1000
    same(line.join('c'), ['closed'])
    same(pick(line.admit(), 'now_admitted', 'closing', 'waiting'), [0, 'closed', 0])


@scene(batch=10)
def who_is_cleared_is_not_admitted(line):
    line.join_many(600)
    line.configure('clear')
    line.join('after')
    tick = line.admit()
    same([tick['now_admitted'], tick['closing'], tick['closing_tail'], tick['more'], tick['waiting']], [0, 'cleared', 500, 1, 101])
    tick = line.admit()
    same([tick['now_admitted'], tick['closing_tail'], tick['head'], tick['waiting']], [1, 600, 601, 0])
    same(line.admit()['closing'], '')


@scene(batch=1)
def only_those_let_go_in_this_chunk_are_told(line):
    line.join_many(700)
    line.configure('patch', status='closed')
    same(pick(line.admit(), 'closing', 'closing_tail', 'more'), ['closed', 500, 1])
    line.configure('patch', status='paused')
    same(pick(line.admit(), 'closing', 'waiting'), ['', 200])


@scene(batch=1, maxWaiting=2)
def a_full_line_takes_nobody(line):
    line.join('a', 'user')
    line.join('b')
    same(line.join('c'), ['line-full'])
    same(line.join('c', 'user')[:2], ['waiting', 'a'])


@scene(batch=10, tokenTtlSeconds=60)
def an_expired_entry_is_forgotten(line):
    line.join('a', 'user')
    tick = line.admit()
    line.settle_all(tick)
    line.admit('a')
    line.now += 59999
    line.admit()
    same(line.resume('a')[0], 'entered')
    line.now += 1001
    same(line.admit()['active'], 0)
    same(line.resume('a')[0], 'gone')
    for key in ('places', 'users', 'entries'):
        same(line.key('HLEN', key), 0, key)


# ---- announcements and positions ----

@scene(batch=1)
def what_a_dead_owner_did_not_announce_is_not_lost(line):
    line.join_many(4)
    first = line.admit()
    line.configure('patch', status='paused')
    told = line.admit(told_epoch=first['epoch'], told_rev=first['rev'])
    line.leave('p00003')
    lost = line.admit(told_epoch=told['epoch'], told_rev=told['rev'])
    same([lost['announce'], lost['departures']], [1, ['3']])
    line.now += 3000
    next_owner = line.admit(me='B')
    same([next_owner['announce'], next_owner['rev'], next_owner['departures']], [1, lost['rev'], '*'])
    line.leave('p00004')
    same(pick(line.admit(me='B'), 'rev', 'departures'), [lost['rev'] + 1, '*'])
    quiet = line.admit(me='B', told_epoch=lost['epoch'], told_rev=lost['rev'] + 1)
    same([quiet['announce'], quiet['rev'], quiet['departures']], [0, lost['rev'] + 1, []])


@scene(batch=1)
def a_changed_configuration_is_fetched_though_the_line_moves(line):
    line.join_many(4)
    first = line.admit()
    line.configure('patch', entryUrl='https://example.test/')
    line.leave('p00003')
    tick = line.admit(told_epoch=first['epoch'], told_rev=first['rev'])
    same([tick['announce'], tick['departures']], [1, '*'])
    same(line.call('sync')[11], 'https://example.test/')


@scene(batch=1)
def after_the_line_was_empty_the_front_is_the_base(line):
    line.join_many(4)
    line.admit()
    for place in ('p00002', 'p00003', 'p00004'):
        line.leave(place)
    reply = line.join('x')
    same(reply[3:10], [5, 1, 1, 1, 4, reply[8], 5])
    sync = line.call('sync')
    same(sync[3:6] + sync[9:11], [4, 1, 5, 4, ''])
    same(line.key('EXISTS', 'departures'), 0)


@scene(batch=1)
def the_picture_has_a_bit_for_each_departure(line):
    line.join_many(40)
    line.admit()
    for n in (3, 17, 40):
        line.leave('p%05d' % n)
    sync = line.call('sync')
    same(bits(sync), [3, 17, 40])
    same(line.admit()['departures'], '*')


def bits(sync):
    from gateway import bits_to_tickets
    return sorted(bits_to_tickets(sync[9], sync[10]))


@scene(batch=1)
def a_long_line_does_not_let_the_bitmap_grow_for_ever(line):
    """Base is 0 and ticket 1,048,571 is next: six more admissions, and the bits behind the head go."""
    line.key('HSET', 'state', 'tail', 1048570, 'head', 1048570)
    line.join_many(40)
    for n in (9, 11, 30):
        line.leave('p%05d' % n)
    for expected in range(1, 11):
        tick = line.admit()
        same(tick['now_admitted'], 1)
        line.now += 1000
        same(bits(line.call('sync'))[-1:], [1048600])
        departed = [t for t in bits(line.call('sync')) if t > tick['head']]
        front = max(tick['head'], tick['base'])
        waiting = [int(t) for t in line.key('ZRANGE', 'waiting', 0, -1, 'WITHSCORES')[1::2]]
        same(sorted(departed + waiting), list(range(front + 1, 1048611)))
    same(tick['base'] % 8, 0)
    require(1048570 <= tick['base'] + 8 <= tick['head'] + 8, 'scene', 'base', tick['base'])
    require(line.key('STRLEN', 'departed') < 10, 'scene', 'the bitmap has', line.key('STRLEN', 'departed'), 'bytes')


@scene(batch=1, status='paused')
def more_than_4096_departures_are_not_listed(line):
    line.join_many(4200)
    tick = line.admit()
    told = {'told_epoch': tick['epoch'], 'told_rev': tick['rev']}
    for n in range(1, 4096):
        line.redis.pipeline([line.command('leave', 'p%05d' % n, 0)])
    tick = line.admit(**told)
    same(len(tick['departures']), 4095)
    line.join_many(4100, first=5001)
    told['told_rev'] = tick['rev']
    for n in range(5001, 9101):
        line.redis.pipeline([line.command('leave', 'p%05d' % n, 0)])
    same(line.key('LLEN', 'departures'), 4096)
    same(line.admit(**told)['departures'], '*')
    same(line.key('LLEN', 'departures'), 0)


@scene(graceMs=1000, status='paused')
def two_hundred_deadlines_pass_in_one_tick(line):
    line.join_many(450)
    line.admit()
    for n in range(1, 451):
        line.redis.pipeline([line.command('park', 'p%05d' % n, 'p%05d:1' % n, '', '')])
    line.now += 2000
    for expected, more in ((200, 1), (200, 1), (50, 0)):
        tick = line.admit()
        same([tick['expired'], tick['more']], [expected, more])
    same([tick['base'], tick['waiting']], [450, 0])


@scene(batch=1)
def a_line_without_news_is_not_announced(line):
    line.join('a')
    tick = line.admit()
    told = {'told_epoch': tick['epoch'], 'told_rev': tick['rev']}
    same(pick(line.admit(**told), 'announce', 'rev'), [0, tick['rev']])
    line.join('b')
    line.now += 10
    same(pick(line.admit(**told), 'announce', 'rev'), [1, tick['rev'] + 1])


# ---- operators ----

@scene(batch=1)
def versions_guard_changes(line):
    same(line.configure('create', 'absent', batch=1)[0], 'conflict')
    same(line.configure('patch', '7', batch=2), ['conflict', 1])
    same(line.configure('patch', '1', batch=2)[:2], ['ok', 2])
    line.join('a')
    same(line.configure('replace', '*', batch=3, intervalMs=1000), ['in-use', 1])
    same(line.configure('replace', '2', batch=3, intervalMs=1000)[:2], ['ok', 3])
    same(line.key('HGETALL', 'config'), ['batch', '3', 'intervalMs', '1000', 'version', '3'])
    same(line.configure('patch', intervalMs='')[:2], ['ok', 4])
    same(line.admit(), ['none'])
