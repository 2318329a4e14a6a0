#!lua
-- keys: config state waiting places users parked servers lobby outbox entries active issued
-- with: lobby take
-- A new place at the end of the line, or in the lobby before the start and until it is drawn; or the place the user has.
-- ARGV: place (minted by the caller), user ('' = the place itself), server, conn, mode (stream poll virtual),
--       known epoch, known tail, doorbell channel, session
-- Gives {outcome, place, epoch, ticket, gen, position, head, base, rev, tail, server before, gen before, waiting, status}
-- with outcome waiting or admitted, or lobby (ticket: the order there, 0 in a lottery; position 0; waiting: how many are in
-- the lobby; then startsAt, 0 = none); {entered, place, epoch, token}; or one of none deleted lost unavailable closed
-- sold-out line-full already-waiting already-entered not-virtual {not-started, startsAt}. Nothing is written but for those with a place.
local place, user, server, conn, mode = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not epoch then return {'none'} end
if lost(tonumber(ARGV[6]), tonumber(ARGV[7])) then return {'lost'} end
if phase == 'deleted' then return {'deleted'} end
local c = call('HMGET', CONFIG, 'status', 'perUser', 'rejoin', 'maxWaiting', 'startsAt', 'endsAt', 'graceMs', 'virtual', 'lobby')
if mode == 'virtual' and c[8] ~= 'true' then return {'not-virtual'} end
local per_user, rejoin = c[2] or 'newest', c[3] or 'keep'
local mapped = user ~= '' and per_user ~= 'many'
if mapped then
    local old = call('HGET', USERS, user)
    local raw = old and call('HGET', PLACES, old)
    if raw then
        local stands = call('ZSCORE', WAITING, old) or call('ZSCORE', LOBBY, old)
        local parked = tonumber(call('ZSCORE', PARKED, old) or nil)
        local polls = parked and unpack_place(raw).kind == 'p' and parked > line_clock(180000)
        if per_user == 'refuse' and stands and (not parked or polls) then return {'already-waiting'} end
        local back = rejoin ~= 'keep' and not stands
        local taken = not back and take(old, raw, server, conn, mode, '', 0)
        if taken and taken[1] ~= 'gone' then return taken end
    end
    if rejoin == 'refuse' and call('SISMEMBER', ISSUED, user) == 1 then return {'already-entered'} end
end
if phase == 'restoring' then return {'unavailable'} end
local doubt_until = tonumber(call('HGET', STATE, 'doubt_until') or nil) -- rule: doubt
if doubt_until and line_clock(5000) < doubt_until then return {'unavailable'} end
if c[1] == 'closed' or (c[6] and now >= tonumber(c[6])) then return {'closed'} end
if phase == 'sold-out' then return {'sold-out'} end
local early, lottery = c[5] and now < tonumber(c[5]), c[9] == 'lottery'
if early and c[9] == 'none' then return {'not-started', c[5]} end
local waiting, lobby, most = call('ZCARD', WAITING), call('ZCARD', LOBBY), tonumber(c[4]) or 0
if most > 0 and waiting + lobby >= most then return {'line-full'} end
local seed = call('HGET', STATE, 'seed')
if early and lottery and not seed then return {'unavailable'} end
if call('HEXISTS', PLACES, place) == 1 then return redis.error_reply('ERR place exists') end
call('ZCARD', PARKED) call('HLEN', USERS)
local served = call('HGET', SERVERS, server)

local kind = mode == 'virtual' and 'v' or mode == 'poll' and 'p' or 'a'
call('HSET', PLACES, place, pack_place({server = mode == 'stream' and server or '', conn = conn, gen = 1, joined = now,
                                        kind = kind, user = user}))
if mapped then call('HSET', USERS, user, place) end
if mode == 'poll' then call('ZADD', PARKED, line_clock(180000) + SHORT_GRACE, place) end
if mode == 'stream' and served ~= '1' then call('HSET', SERVERS, server, 1) end
if early or lobby > 0 then -- nobody slips in between the chunks of a draw
    local order = call('HINCRBY', STATE, 'lobby_seq', 1)
    if lottery and early and phase ~= 'drawing' then
        order = tonumber(string.sub(redis.sha1hex(seed .. place), 1, 13), 16)
    elseif lottery then
        order = LATE + order
    end
    call('HSET', STATE, 'dirty', 1)
    call('ZADD', LOBBY, order, place)
    return lobby_reply(place, 1, order, '', 0)
end
tail = tail + 1
call('HSET', STATE, 'tail', tail, 'dirty', 1)
call('ZADD', WAITING, tail, place)
if waiting == 0 then call('PUBLISH', ARGV[8], ARGV[9]) end
return {'waiting', place, epoch, tail, 1, waiting + 1, head, base, rev, tail, '', 0, waiting + 1, c[1] or 'open'}
