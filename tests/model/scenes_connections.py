"""Scenes: who holds a place, and what happens to one that nobody holds."""
from ledger import require
from line import START, same
from scenes import scene


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
    same(line.leave('a', 2), ['departed', 'g1.b', 1, int(line.state('epoch'))])
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


@scene(perUser='refuse', graceMs=40000, status='paused')
def who_polls_is_there_until_the_deadline_passes(line):
    line.join('a', 'user', mode='poll')
    same(line.join('b', 'user'), ['already-waiting'])
    line.now += 20000
    line.call('status', 'a', 'poll', 0, 0)
    line.now += 39999
    same(line.join('b', 'user', mode='poll'), ['already-waiting'])
    line.now += 1  # at the deadline, and no tick has tidied up
    same(line.join('b', 'user', mode='poll')[:2], ['waiting', 'a'])
    same(line.join('c', 'user'), ['already-waiting'])
    same(line.resume('a')[4], 3)  # a ticket is not asked who is there
    line.park('a', 'x')
    same(line.join('c', 'user')[:2], ['waiting', 'a'])


@scene(perUser='refuse', graceMs=40000, status='paused')
def whose_stream_is_gone_and_who_polls_instead_is_there_too(line):
    line.join('a', 'user')
    line.park('a', 'a:1')
    line.call('status', 'a', '', 0, 0)
    line.call('status', 'a', 'poll', 0, 0)
    same(line.join('b', 'user'), ['already-waiting'])
    line.now += 40000
    same(line.join('b', 'user')[:2], ['waiting', 'a'])


@scene(perUser='refuse', graceMs=40000, status='paused')
def a_poller_who_never_heard_the_answer_is_not_there(line):
    line.join('a', 'user', mode='poll')
    line.park('a', 'a:1', 'user', 'short')
    same(line.join('b', 'user')[:2], ['waiting', 'a'])


@scene(graceMs=8000, status='paused')
def at_its_deadline_a_place_is_kept_or_gone_by_who_comes_first(line):
    line.join('a')
    line.join('b')
    line.admit()
    for place in ('a', 'b'):
        line.park(place, place + ':1')
    for _ in range(2):
        line.now += 4000
        if _ == 1:
            same(line.resume('a')[:4:3], ['waiting', 1])
        line.admit()
    same(line.resume('a')[5], 1)
    same(line.resume('b')[0], 'gone')
    same(line.call('status', 'a', '', 0, 0)[12], 1)


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


@scene()
def a_server_that_takes_a_place_back_while_it_is_reaped_stays_listed(line):
    limit = line.redis.call('CONFIG', 'GET', 'hash-max-listpack-entries')[1]
    line.redis.call('CONFIG', 'SET', 'hash-max-listpack-entries', 8)  # as a long line is stored: HSCAN goes in chunks
    try:
        line.join_many(1000)
    finally:
        line.redis.call('CONFIG', 'SET', 'hash-max-listpack-entries', limit)
    cursor, parked = line.call('reap', 'g1.b', '0')
    require(cursor != '0' and 0 < parked < 1000, 'scene', 'one chunk was everything:', cursor, parked)
    place = line.key('ZRANGE', 'parked', 0, 0)[0]
    same(line.resume(place, conn=place + ':1', expect=place + ':1')[0], 'waiting')
    while cursor != '0':
        cursor, more = line.call('reap', 'g1.b', cursor)
        parked += more
    same([parked, line.key('ZCARD', 'parked'), line.key('HKEYS', 'servers')], [1000, 999, ['g1.b']])
    same(line.call('reap', 'g1.b', '0')[0] != '0', True)
    cursor = '0'
    while True:
        cursor = line.call('reap', 'g1.b', cursor)[0]
        if cursor == '0':
            break
    same([line.key('ZCARD', 'parked'), line.key('HKEYS', 'servers')], [1000, []])
