"""The Lua scripts under test: the very bytes the daemons send, but for a clock that the test controls.

Every change to a script is a textual substitution that must match exactly once, so that a script that was edited cannot
silently leave a substitution behind.
"""
import functools
import os
import subprocess

LINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'common', 'line')
NAMES = ('join', 'resume', 'park', 'leave', 'status', 'sync', 'admit', 'settle', 'reap', 'configure', 'release', 'draw', 'info', 'keep', 'reopen', 'restore')
PREFIX = 'session:{s}:'

# The simulated time, in ms, is the last of ARGV; the script never sees it there.
CLOCK = ("local time = call('TIME')",
         "local ms = tonumber(table.remove(ARGV)) local time = {math.floor(ms / 1000), ms % 1000 * 1000}")

# Chunks and limits made so small that a short line meets them all. HSCAN is replaced by chunks in the order of names, which
# give the same promise (whatever is there all the time comes) and replay.
SMALL_REAP = """local cursor, count = ARGV[2], 0
local names = call('HKEYS', PLACES)
table.sort(names)
local chunk = {'0', {}}
for _, name in ipairs(names) do
    if cursor == '0' or name > cursor then
        if count == 5 then chunk[1] = chunk[2][#chunk[2] - 1] break end
        chunk[2][#chunk[2] + 1] = name
        chunk[2][#chunk[2] + 1] = call('HGET', PLACES, name)
        count = count + 1
    end
end
"""
SMALL = {
    '*': [("call('LLEN', DEPARTURES) < 4096", "call('LLEN', DEPARTURES) < 12")],
    'admit': [
        ("clock, 'BYSCORE', 'LIMIT', 0, 200", "clock, 'BYSCORE', 'LIMIT', 0, 5"),
        ('#due == 200', '#due == 5'),
        ("math.floor(now / 1000), 'BYSCORE', 'LIMIT', 0, 200", "math.floor(now / 1000), 'BYSCORE', 'LIMIT', 0, 5"),
        ("'LIMIT', 0, 500, 'WITHSCORES'", "'LIMIT', 0, 6, 'WITHSCORES'"),
        ('local whole = #chunk < 1000', 'local whole = #chunk < 12'),
        ("'LIMIT', 0, 300, 'WITHSCORES'", "'LIMIT', 0, 3, 'WITHSCORES'"),
        ('#chunk < 600', '#chunk < 6'),
        ('head - base >= 1048576', 'head - base >= 64'),
        ('#departures >= 4096', '#departures >= 12'),
        ("call('ZRANGE', OUTBOX, 0, 499, 'WITHSCORES')", "call('ZRANGE', OUTBOX, 0, 8, 'WITHSCORES')"),
        ('#members == 1000', '#members == 18'),
        ("call('ZCARD', OUTBOX) >= 1000", "call('ZCARD', OUTBOX) >= 15"),
    ],
    'reap': [("local chunk = call('HSCAN', PLACES, ARGV[2], 'COUNT', 200)\n", SMALL_REAP)],
}


class SubstitutionError(Exception):
    pass


@functools.lru_cache(maxsize=None)
def render(name):
    return subprocess.run(['sh', os.path.join(LINE, 'embed.sh'), '--lua', name], check=True, capture_output=True,
                          text=True).stdout


@functools.lru_cache(maxsize=None)
def keys(name):
    with open(os.path.join(LINE, name + '.lua'), encoding='utf-8') as file:
        for line in file:
            if line.startswith('-- keys: '):
                return tuple(line[len('-- keys: '):].split())
    raise SubstitutionError(name + '.lua has no line with its keys')


def named(key, args):
    """The name of a key; "used:*" is of the place that the first argument names."""
    return PREFIX + key.replace('*', str(args[0]) if args else '')


def substitute(name, body, old, new):
    if body.count(old) != 1:
        raise SubstitutionError('%s.lua: %d matches instead of one for %r' % (name, body.count(old), old))
    return body.replace(old, new)


def prepared(name, changes, small):
    """Script NAME with the test's clock and CHANGES, [(script, old, new)]; SMALL: with the small chunks."""
    body = substitute(name, render(name), *CLOCK)
    for script, old, new in changes:
        if script == name:
            body = substitute(name, body, old, new)
    if small:
        mutated = [old for script, old, _ in changes if script == name]
        for old, new in SMALL['*'] + SMALL.get(name, []):
            if not any(old in gone for gone in mutated):
                body = substitute(name, body, old, new)
    return body


class Scripts:
    """Loaded scripts: name → the words of an EVALSHA up to its arguments."""

    def __init__(self, connection, changes=(), small=True):
        unknown = {script for script, _, _ in changes} - set(NAMES)
        assert not unknown, unknown
        self.head = {}
        for name in NAMES:
            sha = connection.call('SCRIPT', 'LOAD', prepared(name, changes, small))
            self.head[name] = ('EVALSHA', sha, str(len(keys(name))))

    def command(self, name, args, now):
        return [*self.head[name], *(named(key, args) for key in keys(name)), *args, now]
