#!lua
-- keys: config state waiting places users parked departed departures servers lobby outbox entries active issued admissions
-- The tick: who holds the lease moves the line clock, lets deadlines pass, admits what the policy allows into the outbox,
-- and learns what to announce. Only here is anybody admitted.
-- ARGV: publisher, lease (ms), longest step of the line clock (ms), run id of Redis, known epoch, known rev,
--       announced epoch, announced rev, the site's load ('' not read, 'missing', or a number) and the key it was read from,
--       most pops, settled places…
-- Gives {ok, epoch, rev, base, head, tail, waiting, announce (0/1), phase, status, held, admitted in all, active, parked,
--        stock left (-1 none), ms to the refill, expired, closing reason, closing tail, more (0/1), now (ms), token ttl (s),
--        departures ('*' or list), servers, outbox (place ticket user iat exp …), admitted now, virtual ones of them, lobby,
--        ms to the start (-1: none ahead), key of the load ('' not adaptive), cap from the load (-1 none), config version}
-- Or {fenced, ms left, owner, key of the load}, none deleted lost.
local me, lease, step = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local known_epoch, known_rev = tonumber(ARGV[5]), tonumber(ARGV[6])
local announced_epoch, announced_rev, most = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[11])
local tps = tonumber(ARGV[9])
if not (lease and step and known_epoch and known_rev and announced_epoch and announced_rev and most and
        (tps or ARGV[9] == '' or ARGV[9] == 'missing')) then
    return redis.error_reply('ERR arguments of admit')
end
if not epoch then return {'none'} end
if phase == 'deleted' then return {'deleted'} end
if known_epoch > epoch or (known_epoch == epoch and known_rev > rev) then return {'lost'} end -- rule: lost
local o = call('HMGET', STATE, 'owner', 'owner_until', 'tokens', 'refilled', 'admitted', 'announced', 'dirty', 'run', 'cleared', 'doubt_until')
local adaptive = call('HGET', CONFIG, 'adaptive')
adaptive = adaptive and cjson.decode(adaptive)
local load_key = adaptive and adaptive.loadKey or ''
local owner_until = math.min(tonumber(o[2]) or 0, now + lease)
if o[1] and o[1] ~= me and owner_until > now then -- rule: lease
    -- Kept where the clock stepped back: else a dead owner's lease would last as long as the step.
    if tonumber(o[2]) > owner_until then call('HSET', STATE, 'owner_until', owner_until) end
    return {'fenced', owner_until - now, o[1], load_key}
end
local c = call('HMGET', CONFIG, 'batch', 'intervalMs', 'activeLimit', 'stock', 'tokenTtlSeconds', 'status', 'startsAt', 'endsAt',
               'perUser', 'rejoin', 'admissionsDays', 'lobby', 'version')
local batch, interval, limit = tonumber(c[1]), tonumber(c[2]), tonumber(c[3]) or 0
if not batch or not interval then return {'none'} end
local stock, ttl, status = tonumber(c[4]) or -1, tonumber(c[5]) or 600, c[6] or 'open'
check_depart_keys()
call('HLEN', SERVERS) call('ZCARD', OUTBOX) call('HLEN', ENTRIES) call('ZCARD', ACTIVE) call('SCARD', ISSUED) call('XLEN', ADMISSIONS)

local clock = line_clock(step)
call('HSET', STATE, 'owner', me, 'owner_until', now + lease, 'clock', clock, 'seen', now, 'run', ARGV[4])

-- Another Redis process than the one that wrote this data: it may be older than others know. They have so long to say so,
-- before anybody is let in who was let in already (a caller that was fenced, or frozen, does not know).
local DOUBT = 3500
local doubt_until = tonumber(o[10])
if o[8] and o[8] ~= ARGV[4] then -- rule: doubt
    doubt_until = clock + DOUBT
    call('HSET', STATE, 'doubt_until', doubt_until)
end

-- What the caller did since its last tick.
for i = 12, #ARGV do
    if call('HEXISTS', ENTRIES, ARGV[i]) == 1 then call('ZREM', OUTBOX, ARGV[i]) end
end
local announced = tonumber(o[6]) or 0
if announced_epoch == epoch then announced = math.max(announced, math.min(announced_rev, rev)) end
local servers = call('HKEYS', SERVERS)

-- Data was lost: what older data has is looked through in chunks, all of it parked and what was admitted since taken out;
-- then gateways put their connections back until the window ends.
local expired, more = 0, 0
local restored = phase == 'restoring' and call('HMGET', STATE, 'restore_until', 'scan', 'expect', 'unheard')
local function forget(place, whose)
    call('ZREM', PARKED, place)
    call('HDEL', PLACES, place)
    unused_user(place, whose)
    call('ZREM', WAITING, place)
end
-- The first to open again did not know that some were admitted whom a later one knows of, and older data may have been looked
-- through by then. Whose connection is open had no entry, and stays in front.
local function let_go(from)
    local chunk = call('ZRANGE', WAITING, '(' .. from, head, 'BYSCORE', 'LIMIT', 0, 300, 'WITHSCORES')
    for i = 1, #chunk, 2 do
        local p = unpack_place(call('HGET', PLACES, chunk[i]) or '')
        if p.server == '' then forget(chunk[i], p.user) end
    end
    if #chunk < 600 then call('HDEL', STATE, 'unheard') else call('HSET', STATE, 'unheard', chunk[#chunk]) end
end
local function look_through(scan)
    local grace = tonumber(call('HGET', CONFIG, 'graceMs')) or 300000
    local chunk = call('HSCAN', PLACES, scan, 'COUNT', 200)
    for i = 1, #chunk[2], 2 do
        local place, p = chunk[2][i], unpack_place(chunk[2][i + 1])
        local ticket = tonumber(call('ZSCORE', WAITING, place) or nil)
        if ticket and ticket <= head then
            forget(place, p.user)
        elseif ticket or call('ZSCORE', LOBBY, place) then
            p.server = ''
            call('HSET', PLACES, place, pack_place(p))
            if p.kind ~= 'v' then call('ZADD', PARKED, (tonumber(restored[1]) or clock) + grace, place) end
            if ticket then call('SETBIT', DEPARTED, ticket - base, 0) end
        end
    end
    call('HSET', STATE, 'scan', chunk[1] == '0' and '' or chunk[1])
    return chunk[1] ~= '0'
end
local function reported() -- every server that was expected has put its connections back
    for _, mark in ipairs(call('HVALS', SERVERS)) do
        if mark == '2' then return false end
    end
    return restored[3] == '1'
end
if restored then
    if (restored[2] or '') ~= '' then
        if look_through(restored[2]) then more = 1 end
    elseif restored[4] then
        let_go(restored[4])
        more = 1
    elseif clock >= (tonumber(restored[1]) or 0) or reported() then
        phase = 'open'
        call('HDEL', STATE, 'scan', 'restore_until', 'expect', 'unheard')
        call('HSET', STATE, 'restore_tail', tail, 'dirty', 1)
        reset_if_empty()
    end
end

-- Parked places whose grace has passed.
local due = phase == 'restoring' and {} or call('ZRANGE', PARKED, '-inf', clock, 'BYSCORE', 'LIMIT', 0, 200)
for _, place in ipairs(due) do
    local raw, ticket = call('HGET', PLACES, place), tonumber(call('ZSCORE', WAITING, place) or nil)
    if raw and (ticket or call('ZSCORE', LOBBY, place)) then
        depart(place, unpack_place(raw).user, ticket)
        expired = expired + 1
    else
        call('ZREM', PARKED, place)
    end
end
if #due == 200 then more = 1 end

-- A place in the outbox without a token gets its full time from now on, before the seats are counted: it has its seat
-- however long the owner was away.
for _, place in ipairs(call('ZRANGE', OUTBOX, 0, -1)) do
    if call('HEXISTS', ENTRIES, place) == 0 then
        call('ZADD', ACTIVE, 'GT', math.floor(now / 1000) + ttl, place)
    end
end

-- Entries whose token has expired: whoever comes now is new.
for _, place in ipairs(call('ZRANGE', ACTIVE, '-inf', math.floor(now / 1000), 'BYSCORE', 'LIMIT', 0, 200)) do
    if not call('ZSCORE', OUTBOX, place) then
        local raw = call('HGET', PLACES, place)
        if raw then unused_user(place, unpack_place(raw).user) end
        call('HDEL', PLACES, place)
        call('HDEL', ENTRIES, place)
        call('ZREM', ACTIVE, place)
    end
end

-- Policy.
local admitted = tonumber(o[5]) or 0
local left = stock < 0 and -1 or math.max(stock - admitted, 0)
local ended = c[8] and now >= tonumber(c[8])
local lobby = call('ZCARD', LOBBY)
local early = c[7] and now < tonumber(c[7])
if left == 0 and phase ~= 'restoring' then
    phase = 'sold-out'
elseif phase == 'open' or phase == 'lobby' or phase == 'sold-out' or phase == 'drawing' then
    -- A draw that has begun is finished: its seed is public.
    local was = phase
    if early and c[12] ~= 'none' and not (was == 'drawing' and lobby > 0) then phase = 'lobby'
    elseif lobby > 0 then phase = 'drawing'
    else phase = 'open' end
    if (was == 'lobby' or restored) and phase ~= 'lobby' and c[12] == 'lottery' then call('HSET', STATE, 'drawn', 1, 'dirty', 1) end
end
local refilled, tokens = tonumber(o[4]) or clock, tonumber(o[3]) or batch
if refilled > clock then refilled = clock end
if clock - refilled >= interval then
    refilled = refilled + math.floor((clock - refilled) / interval) * interval
    tokens = batch
end
tokens = math.min(tokens, batch)
local active = call('ZCOUNT', ACTIVE, '(' .. string.format('%.0f', math.floor(now / 1000)), '+inf') -- rule: active
local allowed, held = math.min(tokens, math.floor(most)), ''
if limit > 0 then
    allowed = math.min(allowed, limit - active)
    if active >= limit then held = 'active-limit' end
end
if left >= 0 then allowed = math.min(allowed, left) end
local cap
if adaptive and (ARGV[10] ~= load_key or ARGV[9] == '') then
    allowed, more = 0, 1 -- the caller has the load of another key, or none: it reads this one and asks again
elseif adaptive then
    local from, to = adaptive.maxCount, adaptive.minCount
    if tps then
        local part = (tps - adaptive.minTps) / (adaptive.maxTps - adaptive.minTps)
        cap = math.floor(from - (from - to) * math.min(math.max(part, 0), 1))
        if cap == 0 then held = 'load-high' end
    elseif adaptive.onMissing == 'floor' then
        cap = to
    elseif adaptive.onMissing ~= 'ignore' then
        cap, held = 0, 'load-missing'
    end
    if cap then allowed = math.min(allowed, cap - (batch - tokens)) end -- the cap is for the whole interval
end
if phase == 'restoring' or (doubt_until and clock < doubt_until) then allowed, held = 0, 'restoring' end
if early then allowed, held = 0, 'not-started' end
if status == 'paused' then allowed, held = 0, 'paused' end
if left == 0 then allowed, held = 0, 'sold-out' end
if status ~= 'open' or ended or phase ~= 'open' then allowed = 0 end
if call('ZCARD', OUTBOX) >= 1000 then allowed = 0 end

-- Everybody who will not be admitted any more is let go, a chunk a call.
local closing, closing_tail = '', 0
if phase == 'sold-out' then closing, closing_tail = 'sold-out', tail
elseif status == 'closed' or ended then closing, closing_tail = 'closed', tail
elseif o[9] then closing, closing_tail = 'cleared', tonumber(o[9]) end
if closing ~= '' then
    local chunk = call('ZRANGE', WAITING, '-inf', closing_tail, 'BYSCORE', 'LIMIT', 0, 500, 'WITHSCORES')
    for i = 1, #chunk, 2 do
        local raw = call('HGET', PLACES, chunk[i])
        depart(chunk[i], raw and unpack_place(raw).user or '', tonumber(chunk[i + 1]))
    end
    local whole = #chunk < 1000
    if #chunk > 0 then
        closing_tail = tonumber(chunk[#chunk]) -- only they are told
        whole = whole and lobby == 0
    elseif lobby > 0 then
        local early_ones = call('ZRANGE', LOBBY, 0, 499)
        for _, place in ipairs(early_ones) do
            local raw = call('HGET', PLACES, place)
            depart(place, raw and unpack_place(raw).user or '')
        end
        lobby = lobby - #early_ones
        whole = lobby == 0
    else
        closing = ''
    end
    if not whole then allowed, more = 0, 1 end -- or those still to be let go would be admitted
    if o[9] and whole then call('HDEL', STATE, 'cleared') end
end

-- Admission: into the outbox, the seat taken here, recorded, and last the pop.
local now_admitted, virtual = 0, 0
if allowed > 0 then
    local popped = call('ZRANGE', WAITING, 0, allowed - 1, 'WITHSCORES')
    for i = 1, #popped, 2 do
        local place, ticket = popped[i], tonumber(popped[i + 1])
        local raw = call('HGET', PLACES, place)
        local p = unpack_place(raw or '')
        call('ZADD', OUTBOX, ticket, place)
        call('ZADD', ACTIVE, math.floor(now / 1000) + ttl, place) -- rule: active
        call('ZREM', PARKED, place)
        if p.user ~= '' and c[10] == 'refuse' and c[9] ~= 'many' then call('SADD', ISSUED, p.user) end
        if p.kind == 'v' then virtual = virtual + 1 end
        call('XADD', ADMISSIONS, 'MINID', '~', now - (tonumber(c[11]) or 30) * 86400000, '*', 'place', place, 'user', p.user,
             'ticket', ticket, 'epoch', epoch, 'at', now, 'kind', p.kind == 'v' and 'virtual' or 'actual')
        head = math.max(head, ticket) -- below it: data was lost, and an entry that was on its way
    end
    now_admitted = #popped / 2
    if now_admitted > 0 then
        admitted, active = admitted + now_admitted, active + now_admitted
        tokens = tokens - now_admitted
        if left > 0 then
            left = left - now_admitted
            if left == 0 then phase, more = 'sold-out', 1 end
        end
        call('HSET', STATE, 'head', head, 'admitted', admitted, 'dirty', 1)
        call('ZREMRANGEBYRANK', WAITING, 0, now_admitted - 1)
        reset_if_empty()
    end
end
-- A line that never empties would let the bitmap grow for ever: cut what is behind the head, whole bytes only.
if head - base >= 1048576 then
    local bytes = math.floor((head - base) / 8)
    local rest = call('GETRANGE', DEPARTED, bytes, -1)
    base = base + bytes * 8
    call('SET', DEPARTED, rest)
    call('HSET', STATE, 'base', base)
end
call('HSET', STATE, 'tokens', tokens, 'refilled', refilled)
if phase ~= s[6] then call('HSET', STATE, 'phase', phase, 'dirty', 1) end

-- Announcement: a new rev only when something changed. While an earlier one is unconfirmed its departures may never have
-- been told, so the listeners are sent to fetch a picture.
local announce, departures = 0, {}
local unconfirmed = announced < rev -- rule: announced
if call('HGET', STATE, 'dirty') == '1' then
    rev, announce = rev + 1, 1
    departures = call('LRANGE', DEPARTURES, 0, -1)
    if unconfirmed or #departures >= 4096 then departures = '*' end
    call('DEL', DEPARTURES)
    call('HSET', STATE, 'rev', rev, 'dirty', 0, 'announced', announced)
elseif unconfirmed then
    announce, departures = 1, '*'
    call('HSET', STATE, 'announced', announced)
else
    call('HSET', STATE, 'announced', announced)
end

-- The outbox: today's and what a dead owner left.
local outbox, members = {}, call('ZRANGE', OUTBOX, 0, 499, 'WITHSCORES')
for i = 1, #members, 2 do
    local place = members[i]
    local raw, expiry = call('HGET', PLACES, place), tonumber(call('ZSCORE', ACTIVE, place) or nil) or math.floor(now / 1000) + ttl
    outbox[#outbox + 1] = place
    outbox[#outbox + 1] = tonumber(members[i + 1])
    outbox[#outbox + 1] = raw and unpack_place(raw).user or ''
    outbox[#outbox + 1] = math.min(expiry - ttl, math.floor(now / 1000)) -- TTL may have become shorter meanwhile
    outbox[#outbox + 1] = expiry
end
if #members == 1000 then more = 1 end
local waiting = call('ZCARD', WAITING)
if (waiting == 0 and lobby == 0) or now_admitted > 0 or allowed > 0 then held = '' end
return {'ok', epoch, rev, base, head, tail, waiting, announce, phase, status, held, admitted, active, call('ZCARD', PARKED),
        left, refilled + interval - clock, expired, closing, closing_tail, more, now, ttl, departures, servers, outbox,
        now_admitted, virtual, lobby, early and tonumber(c[7]) - now or -1, load_key, cap or -1,
        tonumber(c[13]) or 0}
