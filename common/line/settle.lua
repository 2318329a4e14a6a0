#!lua
-- keys: state outbox entries places active
-- Stores the entry tokens of admitted places. Never overwrites: whoever repeats it gets the stored token, byte for byte.
-- ARGV: place, token, when it expires (s), …
-- Gives place, token, server ('' = no connection just now), … for those in the outbox. Or none.
-- A token is taken only while it expires when its seat does: one that was signed before the seat's time was renewed, by a
-- publisher that stood still meanwhile, is not. Whoever renewed it has signed another.
if #ARGV % 3 ~= 0 then return redis.error_reply('ERR a place without a token') end
for i = 3, #ARGV, 3 do
    if not tonumber(ARGV[i]) then return redis.error_reply('ERR a token without an end') end
end
if not epoch then return {'none'} end
call('ZCARD', OUTBOX) call('HLEN', ENTRIES) call('HLEN', PLACES) call('ZCARD', ACTIVE)
local settled = {}
for i = 1, #ARGV, 3 do
    local place = ARGV[i]
    local current = tonumber(call('ZSCORE', ACTIVE, place) or nil) == tonumber(ARGV[i + 2]) -- rule: seat's end
    if call('ZSCORE', OUTBOX, place) and (current or call('HEXISTS', ENTRIES, place) == 1) then
        call('HSETNX', ENTRIES, place, ARGV[i + 1])
        local raw = call('HGET', PLACES, place)
        settled[#settled + 1] = place
        settled[#settled + 1] = call('HGET', ENTRIES, place)
        settled[#settled + 1] = raw and unpack_place(raw).server or ''
    end
end
return settled
