#!lua
-- keys: config state waiting places users parked departed departures servers lobby outbox entries
-- with: fill
-- Puts back places that Redis lost, as their signed tickets prove: with their numbers, never renumbered, and only what is
-- not there. MODE open: connections that are open at SERVER, also where it was their turn already (no entry was delivered,
-- or the connection would have ended). MODE shown: a ticket that somebody comes with; above the head only.
-- ARGV: mode, server, done ('1': these were the last of this server), then for each place: place, number (0: in the lobby),
--       order there, generation, conn, user, epoch of the ticket
-- Gives {ok, epoch, then for each: waiting, lobby, admitted, entered, moved (a newer connection has it), gone}. Or none
-- deleted, unavailable (older data is looked through first: ask again).
local mode, server = ARGV[1], ARGV[2]
if (#ARGV - 3) % 7 ~= 0 or (mode ~= 'open' and mode ~= 'shown') then return redis.error_reply('ERR arguments of restore') end
for i = 4, #ARGV, 7 do
    for at = i + 1, i + 3 do
        if not tonumber(ARGV[at]) then return redis.error_reply('ERR arguments of restore') end
    end
    if not tonumber(ARGV[i + 6]) then return redis.error_reply('ERR arguments of restore') end
end
if not epoch then return {'none'} end
if phase == 'deleted' then return {'deleted'} end
local o = call('HMGET', STATE, 'scan', 'root', 'restore_tail', 'seed')
if phase == 'restoring' and o[1] and o[1] ~= '' then return {'unavailable'} end
local c = call('HMGET', CONFIG, 'perUser', 'lobby')
local root, restored_tail = tonumber(o[2]) or epoch, tonumber(o[3]) or 0
check_depart_keys()
call('HLEN', SERVERS) call('ZCARD', OUTBOX) call('HLEN', ENTRIES)

-- What becomes of a place that Redis does not know.
local function missing(place, number, order, ticket_epoch)
    if ticket_epoch < root or ticket_epoch >= epoch then return 'gone' end
    if number == 0 then
        if c[2] == 'lottery' and not o[4] then return 'gone' end
        if c[2] == 'lottery' then order = tonumber(string.sub(redis.sha1hex(o[4] .. place), 1, 13), 16) end
        call('ZADD', LOBBY, order, place)
        return 'lobby'
    end
    if phase ~= 'restoring' and number > restored_tail then return 'gone' end -- that number is somebody else's by now
    if mode == 'shown' and number <= head then return 'gone' end
    if call('ZCOUNT', WAITING, number, number) > 0 then return 'gone' end
    if number > tail then
        fill(tail, number)
        tail = number
        call('HSET', STATE, 'tail', tail)
    end
    if number <= base and number > head then lower_base(number) end
    if number > base then call('SETBIT', DEPARTED, number - base, 0) end
    call('ZADD', WAITING, number, place)
    return 'waiting'
end

local outcomes, changed = {'ok', epoch}, false
for i = 4, #ARGV, 7 do
    local place, gen, user = ARGV[i], tonumber(ARGV[i + 3]), ARGV[i + 5]
    local raw = call('HGET', PLACES, place)
    local p = raw and unpack_place(raw)
    local outcome
    if not raw then
        outcome = missing(place, tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 6]))
        p = {joined = now, kind = 'a', user = user}
    elseif call('HEXISTS', ENTRIES, place) == 1 then outcome = 'entered'
    elseif p.gen > gen or (p.gen == gen and p.conn ~= ARGV[i + 4] and p.server ~= '') then outcome = 'moved'
    elseif call('ZSCORE', WAITING, place) then outcome = 'waiting'
    elseif call('ZSCORE', LOBBY, place) then outcome = 'lobby'
    elseif call('ZSCORE', OUTBOX, place) then outcome = 'admitted'
    else outcome = 'gone' end
    local waits = outcome == 'waiting' or outcome == 'lobby' or outcome == 'admitted'
    if waits and (mode == 'open' or not raw) then
        p.server, p.conn, p.gen = mode == 'open' and server or '', ARGV[i + 4], gen
        changed = changed or not raw
        call('HSET', PLACES, place, pack_place(p))
        if mode == 'open' then
            call('ZREM', PARKED, place)
        else
            call('ZADD', PARKED, line_clock(180000) + SHORT_GRACE, place)
        end
        if user ~= '' and c[1] ~= 'many' then call('HSET', USERS, user, place) end
    end
    outcomes[#outcomes + 1] = outcome
end
-- Bits were cleared, which no announcement tells: a rev that nobody announced makes every gateway fetch a picture.
if changed then call('HSET', STATE, 'dirty', 1, 'rev', rev + 1) end
if mode == 'open' and (ARGV[3] == '1' or call('HGET', SERVERS, server) ~= '2') then call('HSET', SERVERS, server, 1) end
return outcomes
