-- Put in front of every script's body, behind the key names that embed.sh makes from the script's "-- keys:" line.
--
-- Rules for all scripts: every key is declared; everything that can fail (wrong types, bad arguments) fails in a read
-- before the first write; a pop comes last. Numbers stay below 2^53. ARGV is what the caller's C function documents.
-- Rules marked with a triangle in docs/redis.md carry the same word here, "rule: NAME"; the model test switches each off.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local s = call('HMGET', STATE, 'epoch', 'tail', 'head', 'base', 'rev', 'phase', 'clock', 'seen')
local epoch, tail, head = tonumber(s[1]), tonumber(s[2]) or 0, tonumber(s[3]) or 0
local base, rev, phase = tonumber(s[4]) or 0, tonumber(s[5]) or 0, s[6]

-- Lobby orders from here on are of those who came when the draw had begun: behind everybody's 52 bits of hash.
local LATE = 4503599627370496

-- Polling places and those that never had a stream are kept this long at least, and at most, in ms.
local SHORT_GRACE = 30000

-- rule: lost. The caller knows an epoch or a ticket that Redis does not: Redis came back empty or older.
local function lost(known_epoch, known_tail)
    return known_epoch > epoch or (known_epoch == epoch and known_tail > tail)
end

-- rule: clock. The line's own time in ms: it stands still while nobody admits, and a step of Redis' clock moves it by
-- MOST at most. Only admit stores it; the others look ahead generously, which can only lengthen a grace.
local function line_clock(most)
    local passed = now - (tonumber(s[8]) or now)
    if passed < 0 then passed = 0 elseif passed > most then passed = most end
    return (tonumber(s[7]) or now) + passed
end

-- A place's value: server, conn, gen, joined-at (ms), kind (a actual, p actual and polling: there until its deadline passes,
-- v virtual), user.
local function unpack_place(raw)
    local server, conn, gen, joined, kind, user = string.match(raw, '^([^\t]*)\t([^\t]*)\t(%d+)\t(%d+)\t(%a)\t(.*)$')
    return {server = server or '', conn = conn or '', gen = tonumber(gen) or 0, joined = tonumber(joined) or 0,
            kind = kind or 'a', user = user or ''}
end

local function pack_place(p)
    return string.format('%s\t%s\t%.0f\t%.0f\t%s\t%s', p.server, p.conn, p.gen, p.joined, p.kind, p.user)
end

-- The token of a place that was let in, and whether it still opens the door: only the next tick tidies up.
local function stored_entry(place)
    local token = call('HGET', ENTRIES, place)
    return token, token and (tonumber(call('ZSCORE', ACTIVE, place) or nil) or 0) > math.floor(now / 1000)
end

local function unused_user(place, user)
    if user ~= '' and call('HGET', USERS, user) == place then call('HDEL', USERS, user) end
end

-- When the line is empty nothing before TAIL matters any more: the bitmap starts anew there. HEAD may then be below
-- BASE, which is why every reader takes max(head, base).
local function reset_if_empty()
    if call('ZCARD', WAITING) == 0 and base ~= tail then
        base = tail
        call('DEL', DEPARTED, DEPARTURES)
        call('HSET', STATE, 'base', base)
    end
end

-- Reads that raise WRONGTYPE before anything is written, for the keys depart() writes.
local function check_depart_keys()
    call('ZCARD', WAITING) call('HLEN', PLACES) call('HLEN', USERS) call('ZCARD', PARKED)
    call('STRLEN', DEPARTED) call('LLEN', DEPARTURES) call('ZCARD', LOBBY)
end

-- Takes a waiting place out of the line without admitting it; without a TICKET out of the lobby.
local function depart(place, user, ticket)
    if ticket and ticket > base then -- not above it: put back in front after a loss, and nobody counts there
        call('SETBIT', DEPARTED, ticket - base, 1)
        if call('LLEN', DEPARTURES) < 4096 then call('RPUSH', DEPARTURES, ticket) end
    end
    call('ZREM', PARKED, place)
    call('HDEL', PLACES, place)
    unused_user(place, user)
    call('HSET', STATE, 'dirty', 1)
    call('ZREM', ticket and WAITING or LOBBY, place)
    if ticket then reset_if_empty() end
end
