"""Scenes: who is admitted, and who is let go."""
from line import START, same
from scenes import pick, scene


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
    same(line.call('settle', 'nobody', 'token', 0), [])
    same(line.resume('a'), ['entered', 'a', int(line.state('epoch')), 'token.a.first'])


@scene(batch=1)
def a_token_that_ends_before_its_seat_is_not_taken(line):
    line.join('a', server='g1.b')
    older = line.admit()
    line.now += 5000
    newer = line.admit()  # the seat's time is renewed: another owner, while the first one stood still
    same(newer['outbox'][4] - older['outbox'][4], 5)
    same(line.settle_all(older, 'older'), [])
    same(line.settle_all(newer, 'newer'), ['a', 'token.a.newer', 'g1.b'])
    same(line.settle_all(older, 'older'), ['a', 'token.a.newer', 'g1.b'])


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
    line.configure('patch', startsAt=START + 1000, endsAt=START + 2000, lobby='none')
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
    same(pick(tick, 'now_admitted', 'closing', 'closing_tail', 'more', 'waiting'), [0, 'cleared', 500, 1, 101])
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


@scene(batch=10, activeLimit=2, tokenTtlSeconds=60)
def a_released_seat_is_free_and_nothing_of_its_place_is_left(line):
    line.join('a', 'user')
    line.join_many(3)
    tick = line.admit()
    line.settle_all(tick)
    line.admit('a', 'p00001')
    same(line.release('a'), ['ok', 1])
    same([line.key('GET', 'used:a'), line.key('TTL', 'used:a')], ['0 (released)', 100])
    for key in ('places', 'entries'):
        same(line.key('HEXISTS', key, 'a'), 0, key)
    same([line.key('HLEN', 'users'), line.key('ZSCORE', 'active', 'a')], [0, None])
    same(line.resume('a')[0], 'gone')
    same(line.release('a', 50, 'again'), ['ok', 0])
    same([line.key('GET', 'used:a'), line.key('TTL', 'used:a')], ['0 (released)', 100])
    line.now += 1000
    same(pick(line.admit(), 'now_admitted', 'active'), [1, 2])


@scene(batch=10, activeLimit=1, tokenTtlSeconds=60)
def a_release_from_the_outbox_is_not_signed_again(line):
    line.join_many(2)
    line.settle_all(line.admit())
    same(line.release('p00001'), ['ok', 1])
    line.now += 1000
    tick = line.admit('p00001')  # confirms what is no more
    same(pick(tick, 'now_admitted', 'active'), [1, 1])
    same(tick['outbox'][::5], ['p00002'])


@scene(batch=10, rejoin='keep')
def a_released_user_is_new_and_who_entered_stays_on_record(line):
    line.configure('patch', rejoin='refuse')
    line.join('a', 'user')
    line.settle_all(line.admit())
    line.admit('a')
    line.key('SET', 'used:a', '1 shop')
    same(line.release('a'), ['ok', 1])
    same(line.key('GET', 'used:a'), '1 shop')
    same(line.join('b', 'user'), ['already-entered'])
    line.configure('patch', rejoin='keep')
    same(line.join('b', 'user')[:2], ['waiting', 'b'])


@scene(batch=10)
def a_release_touches_nobody_who_waits(line):
    """Redis came back older: somebody has a token of a place that waits here."""
    line.join('a', 'user')
    before = line.dump()
    same(line.release('a'), ['ok', 0])
    line.key('DEL', 'used:a')
    same(line.dump(), before)


@scene(create=False)
def a_release_of_a_session_that_never_was_leaves_a_mark_alone(line):
    same(line.release('a'), ['ok', 0])
    same(list(line.dump()), ['session:{s}:used:a'])


@scene(batch=10, tokenTtlSeconds=60)
def an_expired_token_is_handed_to_nobody(line):
    """Before a tick has tidied up."""
    line.join('a', 'user')
    line.settle_all(line.admit())
    line.now += 59999
    same(line.resume('a')[0], 'entered')
    same(line.call('status', 'a', '', 0, 0)[0], 'entered')
    same(line.join('b', 'user')[:2], ['entered', 'a'])
    line.now += 1
    same(line.resume('a')[0], 'gone')
    same(line.call('status', 'a', '', 0, 0)[0], 'gone')
    same(line.join('b', 'user')[:4:3], ['waiting', 2])
    line.admit('a')
    line.admit()
    same(line.key('HGET', 'users', 'user'), 'b')
    same(line.key('HEXISTS', 'places', 'a'), 0)


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
