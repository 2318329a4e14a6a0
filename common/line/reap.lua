#!lua
-- keys: config state waiting places parked servers
-- Parks the places of a dead server, one chunk a call. ARGV: server (<id>.<boot>), cursor ('0' first)
-- Gives {next cursor ('0' = done), parked in this chunk}. Or {'0', 0} without the session.
if not epoch then return {'0', 0} end
local server = ARGV[1]
local grace = tonumber(call('HGET', CONFIG, 'graceMs')) or 300000
local chunk = call('HSCAN', PLACES, ARGV[2], 'COUNT', 200)
call('ZCARD', WAITING) call('ZCARD', PARKED) call('HLEN', SERVERS)
local deadline, parked = line_clock(180000) + grace, 0
for i = 1, #chunk[2], 2 do
    local place, p = chunk[2][i], unpack_place(chunk[2][i + 1])
    if p.server == server then
        p.server = ''
        call('HSET', PLACES, place, pack_place(p))
        if call('ZSCORE', WAITING, place) then
            call('ZADD', PARKED, deadline, place)
            parked = parked + 1
        end
    end
end
if chunk[1] == '0' then call('HDEL', SERVERS, server) end
return {chunk[1], parked}
