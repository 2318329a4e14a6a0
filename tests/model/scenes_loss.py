"""Scenes: Redis comes back empty or older, and places are put back with their numbers."""
import hashlib

from gateway import bits_to_tickets
from ledger import require
from line import SEED, Line, same
from scenes import outcome, scene
from scripts import PREFIX

MARGIN = 10000


def kept(line):
    return line.call('keep')


def reopen(line, kept_reply, epoch, rev=1, tail=0, head=0, admitted=0, window=5000, servers=()):
    config, state = kept_reply[3], kept_reply[4]
    return line.call('reopen', epoch, rev, tail, head, admitted, window, kept_reply[2], len(config), *config, len(state), *state,
                     *servers)


def put(line, places, mode='open', server='g1.b', done=0):
    """PLACES: (place, number, order, gen, conn, user, epoch)."""
    reply = line.call('restore', mode, server, done, *[word for place in places for word in place])
    return reply[2:] if reply[0] == 'ok' else reply


def lose(line):
    """Everything is gone; what a daemon kept and the epoch it knew."""
    reply, epoch = kept(line), int(line.state('epoch'))
    line.redis.call('FLUSHALL')
    return reply, epoch


def end_window(line, **more):
    for _ in range(3):
        line.now += 4000
        tick = line.admit(**more)
        if tick['phase'] != 'restoring':
            return tick
    require(False, 'scene', 'the window has no end')


def position(line, ticket):
    """As a gateway reckons it from a picture."""
    picture = line.call('sync')
    base, head, first, bits = picture[3], picture[4], picture[9], picture[10]
    gone = bits_to_tickets(first, bits)
    front = max(base, head)
    return 0 if ticket <= front or ticket in gone else ticket - front - sum(1 for t in gone if front < t <= ticket)


@scene(batch=3, intervalMs=86400000)
def numbers_come_back_whatever_the_bitmap_was(line):
    """Every head and tail of a byte or two and everybody put back in any order: positions are ranks."""
    connection, changes = line.redis, line.changes
    for head in (0, 1, 6, 7, 8, 9, 15, 16):
        for tail in (head, head + 1, head + 7, head + 8, head + 9, head + 17):
            line = Line(connection, changes, status='paused')
            words, epoch = lose(line)
            line.now += 10
            same(reopen(line, words, epoch, tail=tail, head=head)[0], 'ok')
            back = [n for n in range(head + 1, tail + 1) if n % 3 != head % 3]
            same(put(line, [('p%03d' % n, n, 0, 1, 'c%d' % n, '', epoch) for n in reversed(back)]), ['waiting'] * len(back))
            tick = end_window(line)
            same((tick['phase'], tick['head'], tick['waiting']), ('open', head, len(back)), (head, tail))
            for rank, n in enumerate(back):
                same(line.resume('p%03d' % n)[5], rank + 1, (head, tail, n))
                same(position(line, n), rank + 1, ('by the bitmap', head, tail, n))
            same(line.join('new')[3], tail + MARGIN + 1 if tick['waiting'] or tail + MARGIN else None)
            same(position(line, tail + MARGIN + 1), len(back) + 1, ('the newcomer', head, tail))


@scene(status='paused')
def who_knows_nothing_opens_nothing(line):
    words = kept(line)
    same(reopen(line, words, int(line.state('epoch')), tail=0)[2:], ['open', 0], 'nothing was lost')
    line.redis.call('FLUSHALL')
    same(line.call('reopen', 5, 1, 0, 0, 0, 5000, 0, 0, 0), ['none'])
    same(line.dump(), {})


@scene(status='paused')
def a_deleted_session_is_not_opened_again(line):
    words, epoch = kept(line), int(line.state('epoch'))
    line.configure('delete')
    same(reopen(line, words, epoch, tail=10), ['deleted'])
    same(put(line, [('a', 3, 0, 1, 'c', '', epoch)]), ['deleted'])


@scene(status='paused')
def the_second_to_open_adds_what_it_knows(line):
    words, epoch = lose(line)
    line.now += 10
    first = reopen(line, words, epoch, tail=20, head=2, admitted=2)
    same((first[2], first[3]), ('restoring', 1))
    second = reopen(line, words, epoch, tail=MARGIN + 40, head=5, admitted=7)
    same(second, ['ok', first[1], 'restoring', 0])
    same([line.state(f) for f in ('tail', 'head', 'admitted')], [str(MARGIN + 40), '5', '7'])
    same(put(line, [('a', MARGIN + 40, 0, 1, 'c', '', epoch), ('b', 6, 0, 1, 'c', '', epoch)]), ['waiting', 'waiting'])
    end_window(line)
    same([position(line, 6), position(line, MARGIN + 40)], [1, 2])
    same(reopen(line, words, epoch, tail=99999)[2:], ['open', 0], 'too late to add anything')
    same(line.state('tail'), str(MARGIN + 40))


@scene(status='paused')
def the_newest_config_wins(line):
    old = kept(line)
    line.configure('patch', batch=77)
    words, epoch = lose(line)
    line.now += 10
    reopen(line, old, epoch)
    reopen(line, words, epoch)
    reopen(line, old, epoch)
    same(line.key('HGET', 'config', 'batch'), '77')
    reopen(line, old, int(line.state('epoch')), rev=99)  # older data, but a newer configuration than the caller's
    same(line.key('HGET', 'config', 'batch'), '77')
    same(line.state('seed'), SEED, 'the seed of the lottery comes with it')


@scene(batch=100, intervalMs=1000)
def in_the_window_nobody_joins_and_nobody_is_admitted(line):
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=3)
    put(line, [('a', 1, 0, 1, 'c', 'u', epoch)])
    same(line.join('x'), ['unavailable'])
    same(line.resume('y'), ['unavailable'])
    tick = line.admit()
    same((tick['now_admitted'], tick['held'], tick['phase']), (0, 'restoring', 'restoring'))
    same(line.join('z', 'u')[:2], ['waiting', 'a'], 'who has a place has it')
    line.now += 4999
    same(line.admit()['phase'], 'restoring')
    line.now += 1
    same((lambda tick: (tick['phase'], tick['now_admitted']))(line.admit()), ('open', 1))


@scene(batch=100, intervalMs=1000)
def the_window_ends_when_all_have_reported(line):
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=5, window=600000, servers=('g1.b', 'g2.b'))
    put(line, [('a', 1, 0, 1, 'c', '', epoch)], done=1)
    same(line.admit()['phase'], 'restoring')
    put(line, [('b', 2, 0, 1, 'c', '', epoch)], server='g2.b', done=0)
    same(line.admit()['phase'], 'restoring')
    put(line, [], server='g2.b', done=1)
    same(line.admit()['phase'], 'open')


@scene(status='paused')
def a_ticket_shown_later_gets_its_number_above_the_head_only(line):
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=50, head=10)
    put(line, [('a', 30, 0, 1, 'c', '', epoch)])
    end_window(line)
    shown = lambda *place: put(line, [place], mode='shown', server='')
    same(shown('b', 20, 0, 1, 'c', '', epoch), ['waiting'])
    same(shown('c', 10, 0, 1, 'c', '', epoch), ['gone'], 'its turn was before')
    same(shown('d', 30, 0, 1, 'c', '', epoch), ['gone'], 'that number is taken')
    same(shown('e', 40, 0, 1, 'c', '', int(line.state('epoch'))), ['gone'], 'a ticket of this epoch whose place is gone')
    same(shown('f', 40, 0, 1, 'c', '', epoch - 1), ['gone'], 'a ticket from before the session was created')
    same(shown('g', 50 + MARGIN + 1, 0, 1, 'c', '', epoch), ['gone'], 'a number that is given out anew')
    same([position(line, 20), position(line, 30)], [1, 2])
    same(shown('a', 30, 0, 9, 'other', '', epoch), ['waiting'], 'it is there: resume decides who has it')
    same(line.key('HGET', 'places', 'a').split('\t')[1], 'c', 'and nothing changes')


@scene(batch=100, intervalMs=1000)
def below_an_emptied_line_the_bitmap_grows_downwards(line):
    connection, changes = line.redis, line.changes
    for number in (21, 22, 28, 29, 30, 36, 49, 50):
        line = Line(connection, changes, batch=100, intervalMs=1000)
        words, epoch = lose(line)
        line.now += 10
        reopen(line, words, epoch, tail=50, head=20)
        end_window(line)
        same(int(line.state('base')), 50 + MARGIN, 'nobody was put back: the line is empty')
        line.configure('patch', status='paused')
        line.join('x')
        line.join('y')
        line.leave('y')
        line.join('z')
        same(put(line, [('late', number, 0, 1, 'c', '', epoch)]), ['waiting'])
        same([position(line, number), position(line, 51 + MARGIN), position(line, 53 + MARGIN)], [1, 2, 3], number)
        same(line.resume('late')[5], 1)
        line.configure('patch', status='open')
        line.now += 1000
        tick = line.admit()
        same(tick['outbox'][::5], ['late', 'x', 'z'])


@scene(batch=100, intervalMs=1000)
def an_open_connection_whose_turn_it_was_gets_its_entry(line):
    """No entry was delivered, or the stream would have ended."""
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=9, head=4, admitted=4)
    same(put(line, [('a', 3, 0, 1, 'c', '', epoch), ('b', 6, 0, 1, 'c', '', epoch)]), ['waiting', 'waiting'])
    tick = end_window(line)
    same((tick['outbox'][::5], tick['head']), (['a', 'b'], 6))


@scene(status='paused', perUser='newest')
def the_newest_connection_has_the_place(line):
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=9)
    same(put(line, [('a', 3, 0, 2, 'new', 'u', epoch)]), ['waiting'])
    same(put(line, [('a', 3, 0, 1, 'old', 'u', epoch)], server='g2.b'), ['moved'])
    same(put(line, [('a', 3, 0, 5, 'newest', 'u', epoch)], server='g2.b'), ['waiting'])
    same(line.key('HGET', 'places', 'a').split('\t')[:3], ['g2.b', 'newest', '5'])
    same(line.key('HGET', 'users', 'u'), 'a')


@scene(batch=100, intervalMs=86400000, graceMs=8000)
def older_data_is_looked_through_first(line):
    limit = line.redis.call('CONFIG', 'GET', 'hash-max-listpack-entries')[1]
    line.redis.call('CONFIG', 'SET', 'hash-max-listpack-entries', 8)  # as a long line is stored: HSCAN goes in chunks
    try:
        look_through_older_data(line)
    finally:
        line.redis.call('CONFIG', 'SET', 'hash-max-listpack-entries', limit)


def look_through_older_data(line):
    line.join_many(700)
    tick = line.admit(most=2)
    line.settle_all(tick)
    epoch, words = int(line.state('epoch')), kept(line)
    line.now += 10
    # What is there now is older: the caller knows of 900 tickets and that 5 were admitted.
    same(reopen(line, words, epoch, rev=99, tail=900, head=5, admitted=5)[2:], ['restoring', 1])
    same(put(line, [('p00006', 6, 0, 1, 'p00006:1', '', epoch)]), ['unavailable'])
    ticks = 0
    while line.state('scan') != '':
        line.admit()
        ticks += 1
        require(ticks < 50, 'scene', 'the older data has no end')
    require(ticks > 1, 'scene', 'it goes in chunks')
    same(line.key('ZCARD', 'waiting'), 695, 'three were admitted since')
    same(line.key('ZCARD', 'parked'), 695, 'all wait for their connections')
    same(put(line, [('p00006', 6, 0, 1, 'p00006:1', '', epoch), ('n', 800, 0, 1, 'c', '', epoch)]), ['waiting', 'waiting'])
    end_window(line)
    same([position(line, 6), position(line, 700), position(line, 800)], [1, 695, 696])
    for _ in range(8):
        line.now += 4000
        line.admit(most=0)
    same([place for place in line.key('ZRANGE', 'waiting', 0, -1)], ['p00006', 'n'], 'who did not come back is gone after the grace')


@scene(lobby='lottery', startsAt=2_000_000_000_000)
def the_lobby_comes_back_in_its_order(line):
    names = ['l%02d' % n for n in range(9)]
    for name in names:
        line.join(name)
    order = line.key('ZRANGE', 'lobby', 0, -1)
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch)
    same(set(put(line, [(name, 0, 0, 1, 'c', '', epoch) for name in reversed(names)])), {'lobby'})
    same(line.key('ZRANGE', 'lobby', 0, -1), order)
    same(order, sorted(names, key=lambda name: hashlib.sha1((SEED + name).encode()).hexdigest()[:13]))
    same(end_window(line)['phase'], 'lobby')


@scene(status='paused')
def leaving_in_the_window_does_not_empty_it(line):
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=9)
    put(line, [('a', 3, 0, 1, 'c', '', epoch)])
    same(line.leave('a', 1)[0], 'departed')
    same(put(line, [('b', 2, 0, 1, 'c', '', epoch), ('d', 5, 0, 1, 'c', '', epoch)]), ['waiting', 'waiting'])
    end_window(line)
    same([position(line, 2), position(line, 5)], [1, 2])


@scene(status='paused')
def every_gateway_is_made_to_fetch_a_picture_when_bits_were_cleared(line):
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=9)
    tick = end_window(line)
    tick = line.admit(told_epoch=tick['epoch'], told_rev=tick['rev'])
    put(line, [('late', 5, 0, 1, 'c', '', epoch)], mode='shown', server='')
    after = line.admit(told_epoch=tick['epoch'], told_rev=tick['rev'])
    require(after['rev'] > tick['rev'] + 1, 'scene', 'rev', after['rev'], 'follows', tick['rev'])


@scene(status='paused')
def putting_back_twice_changes_nothing(line):
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=9)
    places = [('a', 3, 0, 1, 'c', 'u', epoch), ('b', 4, 0, 1, 'd', '', epoch)]
    put(line, places)
    line.admit()
    before = line.dump()
    same(put(line, places), ['waiting', 'waiting'])
    same(line.dump(), before)


@scene(create=False)
def a_wrong_type_or_wrong_words_stop_it_before_anything_is_written(line):
    connection, changes = line.redis, line.changes
    line = Line(connection, changes, status='paused')
    line.join('a', 'u')
    words, epoch = kept(line), int(line.state('epoch'))
    for at in range(3):
        args = ['open', 'g1.b', 0, 'a', 3, 0, 1, 'c', 'u', epoch]
        args[(4, 6, 9)[at]] = 'x'
        before = line.dump()
        require('ERR' in str(line.redis.pipeline([line.command('restore', *args)])[0]), 'scene', 'taken', args)
        same(line.dump(), before)
    for args in ((1, 1, 5, 9, 0, 5, 1, 0, 0), (1, 1, 5, 2, 0, 5, 1, 3, 0), (1, 1, 5, 2, 0, 5, 1, 2, 'a'), ('x', 1, 5, 2, 0, 5, 1, 0, 0)):
        before = line.dump()
        require('ERR' in str(line.redis.pipeline([line.command('reopen', *args)])[0]), 'scene', 'taken', args)
        same(line.dump(), before)
    for name, args in (('restore', ('open', 'g1.b', 1, 'new', 3, 0, 1, 'c', 'v', epoch)),
                       ('reopen', (epoch + 5, 9, 50, 2, 2, 5000, words[2] + 1, len(words[3]), *words[3], 0))):
        for key in ('waiting', 'places', 'parked', 'departed', 'departures', 'servers'):
            line = Line(connection, changes, status='paused')
            line.call('reopen', epoch, 9, 50, 2, 2, 5000, words[2], len(words[3]), *words[3], 0)
            line.redis.call('DEL', PREFIX + key)
            line.redis.call('LPUSH' if key == 'departed' else 'SET', PREFIX + key, 'wrong')
            before = line.dump()
            reply = str(line.redis.pipeline([line.command(name, *args)])[0])
            require('WRONGTYPE' in reply, 'half done', name, 'with a wrong', key, reply)
            same(line.dump(), before, 'half done: %s with a wrong %s' % (name, key))


@scene(batch=1, intervalMs=1000)
def data_of_another_redis_is_doubted_for_a_moment(line):
    line.join_many(3)
    same(line.admit(run='one')['now_admitted'], 1)
    line.now += 1000
    tick = line.admit(me='A', run='two')
    same((tick['now_admitted'], tick['held'], tick['phase']), (0, 'restoring', 'open'))
    line.now += 3499
    same(line.admit(run='two')['now_admitted'], 0)
    line.now += 1
    same(line.admit(run='two')['now_admitted'], 1)


@scene(batch=100, intervalMs=1000)
def an_admission_that_only_the_second_to_open_knows_is_not_repeated(line):
    """The older data was looked through with what the first one knew."""
    line.join_many(5)
    epoch, words = int(line.state('epoch')), kept(line)
    line.now += 10
    reopen(line, words, epoch, rev=9, tail=5, head=2, admitted=2)
    while line.state('scan') != '':
        line.admit()
    put(line, [('p00003', 3, 0, 1, 'p00003:1', '', epoch)])  # its entry was never delivered
    reopen(line, words, epoch, rev=9, tail=5, head=4, admitted=4)
    line.admit()
    same(line.key('ZRANGE', 'waiting', 0, -1), ['p00003', 'p00005'])
    same(end_window(line)['outbox'][::5], ['p00003', 'p00005'])


@scene(status='paused')
def who_is_connected_is_put_back_and_not_looked_up_in_the_window(line):
    line.join('a', conn='old')
    line.resume('a', conn='new')
    epoch, words = int(line.state('epoch')), kept(line)
    line.key('HSET', 'places', 'a', 'g1.b\told\t1\t1\ta\t')  # older data: before the second connection
    line.now += 10
    reopen(line, words, epoch, rev=9, tail=1)
    same(line.resume('a', conn='new', expect='new', gen=2), ['unavailable'])
    same(line.resume('a', conn='other'), ['unavailable'], 'it would be parked by the look through')
    line.admit()
    same(line.resume('a', conn='new', expect='new', gen=2), ['unavailable'])
    same(put(line, [('a', 1, 0, 2, 'new', '', epoch)]), ['waiting'])
    end_window(line)
    same(line.resume('a', conn='new', expect='new', gen=2)[0], 'waiting')


@scene(status='paused')
def a_connection_that_redis_forgot_has_its_place(line):
    """What was lost is too little to be noticed: one resume."""
    line.join('a', conn='old', server='g1.b')
    same(line.resume('a', server='g2.b', conn='new', expect='new', gen=2)[0], 'waiting')
    same(line.key('HGET', 'places', 'a').split('\t')[:3], ['g2.b', 'new', '2'])
    same(line.resume('a', conn='old', expect='old', gen=1)[0], 'moved')
    same(line.resume('a', conn='other', expect='other', gen=2)[0], 'moved', 'of one generation the first has it')
    newest = line.resume('a', server='g3.b', conn='newest', gen=5)  # its ticket says 5: more was lost
    same(newest[4], 6)
    same(line.resume('a', conn='half open', expect='half open', gen=5)[0], 'moved')


@scene(batch=9)
def in_doubt_nobody_is_drawn_and_nobody_joins(line):
    line.configure('patch', startsAt=line.now + 60000)
    line.join('early')
    line.admit(run='one')
    line.now += 60000
    line.admit(run='two')
    same(line.call('draw', 'A', line.state('epoch'), 100), ['gone'])
    same(line.join('late'), ['unavailable'])
    for _ in range(4):
        line.now += 1000
        line.admit(run='two')
    same(line.call('draw', 'A', line.state('epoch'), 100)[0], 'ok')
    same(line.join('late')[0], 'waiting')


@scene(batch=9)
def a_token_that_is_there_is_told_in_the_window(line):
    line.join('a')
    line.settle_all(line.admit())
    epoch, words = int(line.state('epoch')), kept(line)
    line.now += 10
    reopen(line, words, epoch, rev=99, tail=1, head=1)
    same(line.resume('a', conn='a:1', expect='a:1', gen=1)[0], 'entered')


@scene(status='paused')
def of_two_with_one_generation_the_later_has_the_place(line):
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=9)
    put(line, [('a', 3, 0, 1, 'first', '', epoch)])
    line.resume('a', conn='later')
    same(put(line, [('a', 3, 0, 2, 'of before the loss', '', epoch)], server='g2.b'), ['moved'])
    same(line.key('HGET', 'places', 'a').split('\t')[1], 'later')


@scene(status='paused')
def who_was_put_back_in_front_may_leave(line):
    words, epoch = lose(line)
    line.now += 10
    reopen(line, words, epoch, tail=90, head=40)
    same(put(line, [('a', 3, 0, 1, 'c', '', epoch), ('b', 41, 0, 1, 'd', '', epoch)]), ['waiting', 'waiting'])
    end_window(line)
    same(line.state('base'), '40', 'nothing is counted below the head')
    same([line.resume('a')[5], line.resume('b')[5]], [1, 2])
    same(line.leave('a')[0], 'departed')
    same([line.resume('b')[5], position(line, 41)], [1, 1])
