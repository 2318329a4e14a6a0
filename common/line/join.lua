#!lua
-- keys: config state waiting places users parked servers outbox entries issued
-- with: take
-- A new place at the end of the line, or the place the user already has.
-- ARGV: place (minted by the caller), user ('' = the place itself), server, conn, mode (stream poll virtual),
--       known epoch, known tail, doorbell channel, session
-- Gives {outcome, place, epoch, ticket, gen, position, head, base, rev, tail, server before, gen before, waiting, status}
-- with outcome waiting or admitted; {entered, place, epoch, token}; or one of none deleted lost unavailable closed
-- sold-out line-full already-waiting already-entered not-virtual {not-started, startsAt}. Nothing is written but for the first two.
local place, user, server, conn, mode = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not epoch then return {'none'} end
if lost(tonumber(ARGV[6]), tonumber(ARGV[7])) then return {'lost'} end
if phase == 'deleted' then return {'deleted'} end
local c = call('HMGET', CONFIG, 'status', 'perUser', 'rejoin', 'maxWaiting', 'startsAt', 'endsAt', 'graceMs', 'virtual')
if mode == 'virtual' and c[8] ~= 'true' then return {'not-virtual'} end
local per_user, rejoin = c[2] or 'newest', c[3] or 'keep'
local mapped = user ~= '' and per_user ~= 'many'
if mapped then
    local old = call('HGET', USERS, user)
    local raw = old and call('HGET', PLACES, old)
    if raw then
        if per_user == 'refuse' and call('ZSCORE', WAITING, old) and not call('ZSCORE', PARKED, old) then
            return {'already-waiting'}
        end
        local back = rejoin ~= 'keep' and not call('ZSCORE', WAITING, old)
        local taken = not back and take(old, raw, server, conn, mode, '')
        if taken and taken[1] ~= 'gone' then return taken end
    end
    if rejoin == 'refuse' and call('SISMEMBER', ISSUED, user) == 1 then return {'already-entered'} end
end
if phase == 'restoring' then return {'unavailable'} end
if c[1] == 'closed' or (c[6] and now >= tonumber(c[6])) then return {'closed'} end
if phase == 'sold-out' then return {'sold-out'} end
if c[5] and now < tonumber(c[5]) then return {'not-started', c[5]} end
local waiting, most = call('ZCARD', WAITING), tonumber(c[4]) or 0
if most > 0 and waiting >= most then return {'line-full'} end
if call('HEXISTS', PLACES, place) == 1 then return redis.error_reply('ERR place exists') end
call('ZCARD', PARKED) call('HLEN', USERS)
local served = call('HGET', SERVERS, server)

tail = tail + 1
call('HSET', STATE, 'tail', tail, 'dirty', 1)
local kind = mode == 'virtual' and 'v' or mode == 'poll' and 'n' or 'a'
call('HSET', PLACES, place, pack_place({server = mode == 'stream' and server or '', conn = conn, gen = 1, joined = now,
                                        kind = kind, user = user}))
if mapped then call('HSET', USERS, user, place) end
if mode == 'poll' then call('ZADD', PARKED, line_clock(180000) + SHORT_GRACE, place) end
if mode == 'stream' and served ~= '1' then call('HSET', SERVERS, server, 1) end
call('ZADD', WAITING, tail, place)
if waiting == 0 then call('PUBLISH', ARGV[8], ARGV[9]) end
return {'waiting', place, epoch, tail, 1, waiting + 1, head, base, rev, tail, '', 0, waiting + 1, c[1] or 'open'}
