"""Scenes: announcements, pictures and the bitmap."""
from gateway import bits_to_tickets
from ledger import require
from line import same
from scenes import pick, scene


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
