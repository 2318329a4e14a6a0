"""Scenes: what every script promises: nothing half done, and clear answers to whoever asks too much."""
from ledger import require
from line import START, Line, attempt, same
from scenes import scene
from scripts import PREFIX, keys, named


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


ENDS = START // 1000 + 62  # the seats of the second tick of a furnished line

CALLS = {
    'join': ('q1', 'user9', 'g1.b', 'q1:1', 'poll', 0, 0, 'doorbell', 's'),
    'resume': ('p6', 'g3.b', 'new:1', 'stream', '', 0, 0),
    'park': ('p6', 'p6:1', 'user6', ''),
    'leave': ('p6', 1),
    'status': ('p5', 'poll', 0, 0),
    'sync': (),
    'admit': ('A', 3000, 5000, 'run', 0, 0, 0, 0, '', '', 500, 'p0'),
    'settle': ('p2', 'a token', ENDS, 'p3', 'another', ENDS),
    'reap': ('g0.b', '0'),
    'release': ('p0', 100, '0 (released)', 'doorbell', 's'),
    'configure': ('patch', '*', '', 'me', 'patch', '{}', 'seed', 'hash', 'batch', 7),
    'info': (),
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
            name_of = named(key, args)
            line.redis.call('DEL', name_of)
            if key in ('departed', 'used:*'):
                line.redis.call('LPUSH', name_of, 'wrong')
            else:
                line.redis.call('SET', name_of, 'wrong')
            poisoned = line.dump()
            reply, after = attempt(line, name, args), line.dump()
            if isinstance(reply, str):
                require(reply.startswith('WRONGTYPE'), 'half done', name, 'with a wrong', key, 'fails with', reply)
                same(after, poisoned, 'half done: %s with a wrong %s' % (name, key))
            else:
                require(name_of not in changed, 'half done', name, 'writes', key, 'but took a wrong type of it')


@scene(create=False)
def arguments_that_make_no_sense_change_nothing(line):
    connection, changes = line.redis, line.changes
    wrong = ((1, 'x'), (2, 'x'), (4, ''), (5, 'x'), (6, 'x'), (7, ''), (8, 'much'), (10, ''))
    cases = [('admit', at, value) for at, value in wrong]
    cases += [('join', 5, 'x'), ('resume', 5, 'x'), ('leave', 1, 'x'), ('status', 2, 'x'), ('settle', 3, None), ('settle', 2, 'x'), ('release', 1, ''),
              ('release', 1, 0), ('release', 4, None), ('configure', 9, None)]
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
                  line.call('sync'), line.admit(), line.call('settle', 'a', 't', 0), line.configure('patch', '*', batch=1)):
        same(reply, ['none'])
    same(line.dump(), {})


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
