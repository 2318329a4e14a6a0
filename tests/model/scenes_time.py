"""Scenes: clocks, leases and tokens by time, and the load of the site."""
import json

from line import same
from scenes import outcome, scene


def adaptive(**changed):
    return json.dumps(dict({'minTps': 0, 'maxTps': 50, 'minCount': 0, 'maxCount': 5, 'onMissing': 'hold', 'loadKey': 'k'},
                           **changed))


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
    line.configure('patch', adaptive=adaptive(minCount=1, maxCount=5))
    same(line.admit(load='missing', load_key='k')['held'], 'load-missing')
    for load, cap, admitted in (('30', 2, 2), ('20', 3, 1), ('40', 1, 0), ('13.5', 3, 0), ('9', 4, 1), ('0', 5, 1)):
        tick = line.admit(load=load, load_key='k')
        same((tick['cap'], tick['now_admitted']), (cap, admitted), load)


@scene(batch=100, intervalMs=1000)
def the_cap_falls_evenly_from_the_most_to_the_least(line):
    line.configure('patch', adaptive=adaptive(minTps=50, maxTps=150, minCount=10, maxCount=90))
    for load, cap in (('0', 90), ('50', 90), ('51.25', 89), ('100', 50), ('149', 10), ('150', 10), ('1e9', 10)):
        same(line.admit(load=load, load_key='k')['cap'], cap, load)


@scene(batch=9, intervalMs=1000)
def a_missing_load_is_held_floored_or_ignored_as_the_session_says(line):
    line.join_many(40)
    for missing, admitted, held in (('hold', 0, 'load-missing'), ('floor', 2, ''), ('ignore', 9, '')):
        line.configure('patch', adaptive=adaptive(minCount=2, maxCount=5, onMissing=missing))
        line.now += 1000
        tick = line.admit(load='missing', load_key='k')
        same((tick['now_admitted'], tick['held']), (admitted, held), missing)


@scene(batch=5, intervalMs=1000)
def a_load_so_high_that_nobody_is_let_in_is_said(line):
    line.join('a')
    line.configure('patch', adaptive=adaptive(minCount=0, maxCount=5))
    same(line.admit(load='50', load_key='k')['held'], 'load-high')
    same(line.admit(load='49', load_key='k')['held'], 'load-high')
    same(line.admit(load='0', load_key='k')['now_admitted'], 1)


@scene(batch=5, intervalMs=1000)
def who_read_another_key_admits_nobody_and_learns_the_right_one(line):
    line.join('a')
    line.configure('patch', adaptive=adaptive())
    for load, key in (('', ''), ('0', 'other'), ('', 'k')):
        tick = line.admit(load=load, load_key=key)
        same((tick['now_admitted'], tick['load_key'], tick['more']), (0, 'k', 1))
    same(line.admit(me='B'), ['fenced', 3000, 'A', 'k'], 'the one who stands by')
    same(line.admit(load='0', load_key='k')['now_admitted'], 1)
    line.configure('patch', adaptive='')
    line.join('b')
    tick = line.admit(load='missing', load_key='k')
    same((tick['now_admitted'], tick['load_key']), (1, ''))


@scene()
def the_lease_fences_others_and_ends(line):
    line.join('a')
    same(line.admit()['now_admitted'], 1)
    line.now += 2999
    same(line.admit(me='B'), ['fenced', 1, 'A', ''])
    line.now += 1
    same(outcome(line.admit(me='B')), 'ok')
    same(outcome(line.admit()), 'fenced')


@scene()
def a_dead_owners_lease_ends_though_the_clock_stepped_back(line):
    line.admit()
    line.now -= 3600000
    same(line.admit(me='B'), ['fenced', 3000, 'A', ''])
    line.now += 3000
    same(outcome(line.admit(me='B')), 'ok')
