"""Scenes: clocks, leases and tokens by time."""
from line import same
from scenes import outcome, scene


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
