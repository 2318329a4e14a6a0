#!lua
-- keys: state outbox entries places
-- Stores the entry tokens of admitted places. Never overwrites: whoever repeats it gets the stored token, byte for byte.
-- ARGV: place, token, place, token, …
-- Gives place, token, server ('' = no connection just now), … for those in the outbox. Or none.
if #ARGV % 2 ~= 0 then return redis.error_reply('ERR a place without a token') end
if not epoch then return {'none'} end
call('ZCARD', OUTBOX) call('HLEN', ENTRIES) call('HLEN', PLACES)
local settled = {}
for i = 1, #ARGV, 2 do
    local place = ARGV[i]
    if call('ZSCORE', OUTBOX, place) then
        call('HSETNX', ENTRIES, place, ARGV[i + 1])
        local raw = call('HGET', PLACES, place)
        settled[#settled + 1] = place
        settled[#settled + 1] = call('HGET', ENTRIES, place)
        settled[#settled + 1] = raw and unpack_place(raw).server or ''
    end
end
return settled
