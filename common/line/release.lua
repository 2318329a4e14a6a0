#!lua
-- keys: config state waiting places users outbox entries active used:*
-- Somebody who was let in is done before the token expires: the seat is free, the place and its stored token go, and the
-- token is marked used, so that it is neither redeemed nor handed out again.
-- ARGV: place, how long the mark stays (s), the mark, doorbell channel, session
-- Gives {ok, freed}: 1 where a seat was, 0 where none was (expired, released before, unknown, deleted). Who redeemed the
-- token stays on record, and so does who entered (`issued`). A place that waits (Redis came back older) keeps its place.
local place, ttl = ARGV[1], tonumber(ARGV[2])
if not ttl or ttl < 1 or #ARGV ~= 5 then return redis.error_reply('ERR arguments of release') end
local raw, seat = call('HGET', PLACES, place), tonumber(call('ZSCORE', ACTIVE, place) or nil)
local waiting = call('ZCARD', WAITING)
local limit = tonumber(call('HGET', CONFIG, 'activeLimit') or nil) or 0
call('HLEN', USERS) call('ZCARD', OUTBOX) call('HLEN', ENTRIES) call('GET', USED)
call('SET', USED, ARGV[3], 'NX', 'EX', ARGV[2])
if not seat then return {'ok', 0} end -- a place that waits here has none
-- The outbox too: a place in it without a stored token would be signed again, and get its seat back.
call('ZREM', OUTBOX, place)
call('HDEL', ENTRIES, place)
if raw then unused_user(place, unpack_place(raw).user) end
call('HDEL', PLACES, place)
call('ZREM', ACTIVE, place)
if limit > 0 and seat > math.floor(now / 1000) and waiting > 0 then call('PUBLISH', ARGV[4], ARGV[5]) end
return {'ok', 1}
