"""Rules switched off, one at a time: in a script by a substitution that must match once, or in a daemon by a flag. A test
that does not notice tests nothing."""


class Mutant:
    """CHANGES: [(script, old, new)]. RULE: the word docs/redis.md gives it with a triangle, or ''."""

    def __init__(self, name, why, changes=(), flags=(), rule=''):
        self.name, self.why, self.changes, self.flags, self.rule = name, why, tuple(changes), tuple(flags), rule


def everywhere(scripts, old, new):
    return [(script, old, new) for script in scripts]


DEPARTS = ('park', 'leave', 'admit')
NO_LOSS = 'return known_epoch > epoch or (known_epoch == epoch and known_tail > tail)'
RENEW = """    if call('HEXISTS', ENTRIES, place) == 0 then
        call('ZADD', ACTIVE, 'GT', math.floor(now / 1000) + ttl, place)
    end
"""
SEAT = "        call('ZADD', ACTIVE, math.floor(now / 1000) + ttl, place) -- rule: active\n"
CONFIRM = "    if call('HEXISTS', ENTRIES, ARGV[i]) == 1 then call('ZREM', OUTBOX, ARGV[i]) end\n"

MUTANTS = [
    # the rules marked with a triangle, in the scripts
    Mutant('park-any-conn', 'a late park takes the place from a newer connection',
           [('park', "if p.conn ~= conn then return {'stale'} end", '')], rule='conn'),
    Mutant('take-back-any-conn', 'a superseded connection takes the place back',
           [('resume', "if expect ~= '' and p.conn ~= expect then return {'moved', place, epoch} end", '')], rule='conn'),
    Mutant('leave-any-generation', 'a leave from an older tab ends the newer one',
           [('leave', 'gen > 0 and p.gen ~= gen', 'false')], rule='generation'),
    Mutant('clock-unbounded', 'an outage ends every grace',
           [('admit', 'elseif passed > most then passed = most end', 'end')], rule='clock'),
    Mutant('clock-back', 'a step back of Redis\' clock moves the line clock back',
           [('admit', 'if passed < 0 then passed = 0 elseif', 'if')], rule='clock'),
    Mutant('clock-in-park', 'the grace begins before the line clock will',
           [('park', "call('ZADD', PARKED, line_clock(180000) + grace, place)",
             "call('ZADD', PARKED, (tonumber(s[7]) or now) + grace, place)")], rule='clock'),
    Mutant('lost-unseen', 'older data is taken for the truth',
           everywhere(('join', 'resume', 'status'), NO_LOSS, 'return false'),
           rule='lost'),
    Mutant('lost-unseen-by-owner', 'the same in a tick',
           [('admit', "if known_epoch > epoch or (known_epoch == epoch and known_rev > rev) then return {'lost'} end", '')],
           rule='lost'),
    Mutant('announced-forgotten', 'what a dead owner drained is never told',
           [('admit', 'local unconfirmed = announced < rev', 'local unconfirmed = false')], rule='announced'),
    Mutant('seat-at-settle', 'people in the outbox have no seat', [('admit', RENEW, ''), ('admit', SEAT, '')], rule='active'),
    Mutant('seat-not-renewed', 'an outage takes the seats of those in the outbox', [('admit', RENEW, '')], rule='active'),
    Mutant('lease-ignored', 'two owners', [('admit', 'owner_until > now then -- rule: lease', 'false then')], rule='lease'),
    Mutant('lease-clamp-forgotten', 'a step back of the clock leaves the line without an owner',
           [('admit', "call('HSET', STATE, 'owner_until', owner_until) end", 'end')], rule='lease'),
    Mutant('token-overwritten', 'a place has two tokens', [('settle', "'HSETNX'", "'HSET'")]),
    Mutant('outbox-dropped-untokened', 'somebody is dropped who has no token',
           [('admit', CONFIRM, "    call('ZREM', OUTBOX, ARGV[i])\n")]),
    # the same, in the daemons
    Mutant('gateway-front-is-head', 'h = head', flags=['front is head']),
    Mutant('gateway-no-boot', 'a server is its id', flags=['no boot']),
    Mutant('gateway-torn-sync', 'bits and base read one after the other', flags=['torn sync']),
    Mutant('gateway-no-sweep', 'nobody looks for what was missed', flags=['no sweep']),
    Mutant('gateway-no-reclaim', 'places parked during a freeze stay parked', flags=['no reclaim']),
    Mutant('gateway-no-park-after-silence', 'a join whose answer was lost is forgotten', flags=['no park after silence']),
    Mutant('gateway-gaps-ignored', 'a missed announcement goes unnoticed', flags=['gaps are ignored']),
    Mutant('gateway-closes-unasked', 'somebody admitted is told that the line closed', flags=['closed unasked']),
    Mutant('publisher-makes-streams', 'XADD without NOMKSTREAM', flags=['streams are made again']),
    # more of the scripts
    Mutant('deadline-kept-on-resume', 'who is connected has a deadline',
           [('resume', "            call('ZREM', PARKED, place)\n        end\n        if expect", "        end\n        if expect")]),
    Mutant('departed-bit-missing', 'positions are too high',
           everywhere(DEPARTS, "    call('SETBIT', DEPARTED, ticket - base, 1)\n", '')),
    Mutant('departed-bit-shifted', 'the bit of a neighbour', everywhere(DEPARTS, 'ticket - base, 1)', 'ticket - base + 1, 1)')),
    Mutant('departure-not-listed', 'nobody hears of it', everywhere(DEPARTS, "call('RPUSH', DEPARTURES, ticket)", '')),
    Mutant('departure-not-dirty', 'nobody hears of it before something else happens',
           everywhere(DEPARTS, "    call('HSET', STATE, 'dirty', 1)\n    call('ZREM', WAITING, place)",
             "    call('ZREM', WAITING, place)")),
    Mutant('base-not-reset', 'the bitmap goes on after the line was empty',
           everywhere(DEPARTS, "        call('HSET', STATE, 'base', base)\n    end\nend", '    end\nend')),
    Mutant('bitmap-not-cleared', 'old bits below a new base',
           everywhere(DEPARTS, "        call('DEL', DEPARTED, DEPARTURES)\n", '')),
    Mutant('rebase-shifted', 'the bits move by eight',
           [('admit', "call('GETRANGE', DEPARTED, bytes, -1)", "call('GETRANGE', DEPARTED, bytes + 1, -1)")]),
    Mutant('picture-unaligned', 'a picture begins at the base', [('sync', 'base + skip * 8', 'base')]),
    Mutant('rev-not-raised', 'an announcement looks like the last one',
           [('admit', 'rev, announce = rev + 1, 1', 'announce = 1')]),
    Mutant('list-cut-silently', 'departures beyond the limit are untold',
           [('admit', 'unconfirmed or #departures >= 4096', 'unconfirmed')]),
    Mutant('config-rev-not-raised', 'gateways serve an old configuration',
           [('configure', "'rev', operation == 'create' and 1 or rev + 1", "'announced', 0")]),
    Mutant('last-come-first-served', 'order', [('admit', "call('ZRANGE', WAITING, 0, allowed - 1, 'WITHSCORES')",
                                                "call('ZRANGE', WAITING, 0, allowed - 1, 'REV', 'WITHSCORES')")]),
    Mutant('tokens-add-up', 'a burst after a quiet time', [('admit', 'tokens = batch\n', 'tokens = tokens + batch\n'),
                                                           ('admit', 'tokens = math.min(tokens, batch)', '')]),
    Mutant('tokens-not-taken', 'each tick admits a batch', [('admit', 'tokens = tokens - now_admitted', '')]),
    Mutant('bucket-on-real-time', 'a step of the clock refills',
           [('admit', 'if clock - refilled >= interval then', 'if now - refilled >= interval then')]),
    Mutant('stock-exceeded', 'more than the stock are admitted',
           [('admit', 'if left >= 0 then allowed = math.min(allowed, left) end', '')]),
    Mutant('limit-exceeded', 'more than the limit are inside', [('admit', 'allowed = math.min(allowed, limit - active)', '')]),
    Mutant('load-ignored', 'a site in trouble gets more people', [('admit', "allowed, held = 0, 'load-missing'", "held = ''")]),
    Mutant('cleared-are-admitted', 'who is cleared is admitted', [('admit', 'if not whole then allowed, more = 0, 1 end', '')]),
    Mutant('closed-too-far', 'people are told closed before they left',
           [('admit', 'else closing_tail = tonumber(chunk[#chunk]) end', 'end')]),
    Mutant('outbox-unbounded', 'an outbox without an end',
           [('admit', "if call('ZCARD', OUTBOX) >= 1000 then allowed = 0 end", '')]),
    Mutant('waiting-entries-expire', 'somebody without a token is cleaned away',
           [('admit', "    if not call('ZSCORE', OUTBOX, place) then\n        local raw",
             "    if true then\n        local raw"), ('admit', RENEW, '')]),
    Mutant('types-unchecked-in-park', 'a wrong type stops park half way', [('park', '\ncheck_depart_keys()\n', '\n')]),
    Mutant('types-unchecked-in-admit', 'a wrong type stops the tick half way', [('admit', '\ncheck_depart_keys()\n', '\n')]),
    Mutant('types-unchecked-in-join', 'a wrong type stops join half way',
           [('join', "call('ZCARD', PARKED) call('HLEN', USERS)\n", '')]),
    Mutant('arguments-unchecked', 'nonsense stops the tick half way',
           [('admit', 'and announced_rev and most and', 'and announced_rev and')]),
    Mutant('reap-without-deadline', 'a dead gateway\'s places stay for ever',
           [('reap', "call('ZADD', PARKED, deadline, place)", '')]),
    Mutant('reap-forgets-the-living', 'a server that took a place during its reaping is not looked for any more',
           [('reap', "if chunk[1] == '0' and mark == '0' then", "if chunk[1] == '0' then")]),
    Mutant('reap-everybody', 'the living are parked too', [('reap', 'if p.server == server then', "if p.server ~= '' then")]),
    Mutant('park-without-deadline', 'a parked place stays for ever',
           [('park', "call('ZADD', PARKED, line_clock(180000) + grace, place)", '')]),
    Mutant('short-for-everybody', 'somebody\'s older place is kept shortly',
           [('park', "ARGV[4] == 'short' and p.gen == 1", "ARGV[4] == 'short'")]),
    Mutant('virtual-without-deadline', 'asking to be virtual frees a place of its deadline',
           [('join', "if ticket and mode ~= 'stream' and p.kind ~= 'v' then", "if ticket and mode == 'poll' then")]),
    Mutant('polling-does-not-help', 'a polling place falls to its deadline',
           [('status', "ARGV[2] == 'poll' and p.server", "ARGV[2] == 'never' and p.server")]),
    Mutant('generation-not-raised', 'two tabs have the same generation',
           everywhere(('join', 'resume'), 'p.gen, p.conn = p.gen + 1, conn', 'p.conn = conn')),
    Mutant('user-not-forgotten', 'a user is bound to a place that left',
           everywhere(DEPARTS, '    unused_user(place, user)\n', '')),
    Mutant('server-not-told', 'a gateway that serves hears nothing',
           [('resume', "        if mode == 'stream' and served ~= '1' then call('HSET', SERVERS, server, 1) end\n", '')]),
    Mutant('line-full-ignored', 'more than maxWaiting wait',
           [('join', "if most > 0 and waiting >= most then return {'line-full'} end", '')]),
    Mutant('release-keeps-the-seat', 'a released seat is taken until the token expires',
           [('release', "call('ZREM', ACTIVE, place)\n", '')]),
    Mutant('release-keeps-the-token', 'rejoin=keep hands a released token out again',
           [('release', "call('HDEL', ENTRIES, place)\n", ''), ('release', "\ncall('HDEL', PLACES, place)\n", '\n')]),
    Mutant('release-keeps-the-outbox', 'a released place is signed again', [('release', "call('ZREM', OUTBOX, place)\n", '')]),
    Mutant('release-keeps-the-place', 'a released place is kept for ever', [('release', "\ncall('HDEL', PLACES, place)\n", '\n')]),
    Mutant('release-keeps-the-user', 'a user is bound to a released place',
           [('release', "if raw then unused_user(place, unpack_place(raw).user) end\n", '')]),
    Mutant('release-unmarked', 'a released token is redeemed',
           [('release', "call('SET', USED, ARGV[3], 'NX', 'EX', ARGV[2])\n", '')]),
    Mutant('release-overwrites-the-mark', 'nobody knows any more who redeemed',
           [('release', "ARGV[3], 'NX', 'EX'", "ARGV[3], 'EX'")]),
    Mutant('release-of-the-waiting', 'somebody who waits is lost',
           [('release', "if not seat then return {'ok', 0} end", 'seat = seat or 0')]),
    Mutant('types-unchecked-in-release', 'a wrong type stops release half way',
           [('release', "call('HLEN', USERS) call('ZCARD', OUTBOX) call('HLEN', ENTRIES) call('GET', USED)\n", '')]),
    Mutant('issued-forgotten', 'somebody enters twice', [('admit', "call('SADD', ISSUED, p.user)", '')]),
]
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
