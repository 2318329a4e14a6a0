#!lua
-- keys: config state waiting places parked servers lobby
-- Parks the places of a dead server, one chunk a call. ARGV: server (<id>.<boot>), cursor ('0' first)
-- Gives {next cursor ('0' = done), parked in this chunk}. Or {'0', 0} without the session.
-- The server's mark in `servers` is 0 from the first chunk on; a place taken by it meanwhile sets it to 1 again, and then it
-- stays listed: nobody would look for that place otherwise.
if not epoch then return {'0', 0} end
local server = ARGV[1]
local grace = tonumber(call('HGET', CONFIG, 'graceMs')) or 300000
local chunk = call('HSCAN', PLACES, ARGV[2], 'COUNT', 200)
call('ZCARD', WAITING) call('ZCARD', PARKED) call('HLEN', SERVERS) call('ZCARD', LOBBY)
local deadline, parked = line_clock(180000) + grace, 0
for i = 1, #chunk[2], 2 do
    local place, p = chunk[2][i], unpack_place(chunk[2][i + 1])
    if p.server == server then
        p.server = ''
        call('HSET', PLACES, place, pack_place(p))
        if call('ZSCORE', WAITING, place) or call('ZSCORE', LOBBY, place) then
            call('ZADD', PARKED, deadline, place)
            parked = parked + 1
        end
    end
end
local mark = ARGV[2] == '0' and '0' or call('HGET', SERVERS, server)
if chunk[1] == '0' and mark == '0' then
    call('HDEL', SERVERS, server)
elseif ARGV[2] == '0' and call('HEXISTS', SERVERS, server) == 1 then
    call('HSET', SERVERS, server, 0)
end
return {chunk[1], parked}
