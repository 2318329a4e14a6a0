#!lua
-- keys: config state waiting places users parked departed departures servers lobby outbox entries active issued audit
-- What operators do to a session, each one atomic step with its audit entry.
-- ARGV: operation (create replace patch clear announce delete), expected version ('' any, '*' must exist, 'absent' must
--       not), 'force' or '', actor, action, after (JSON for the audit), a fresh seed for a lottery and its SHA-256,
--       field, value, … (value '' with patch deletes the field; with announce: 'message', text)
-- create: config and a new epoch. replace: all fields anew ('in-use' while anybody waits unless a version is expected).
-- clear: everybody waiting now is let go by the next ticks (the lobby until it is empty once). announce: the notice that
-- stands, '' = none; the config's version stays. delete: config goes, a tombstone stays for 24 h.
-- A seed is drawn anew only for a lobby that opens after its seed was shown; the old one goes into the audit.
-- Gives {ok, version, epoch, servers that have connections here, now (ms)}, {conflict, version}, {in-use, waiting}, none;
-- in-use also where the lobby's order would change while somebody is in it, or a draw under way were put off.
local operation, expected, force = ARGV[1], ARGV[2], ARGV[3]
if #ARGV < 8 or #ARGV % 2 ~= 0 then return redis.error_reply('ERR arguments of configure') end
local version = tonumber(call('HGET', CONFIG, 'version') or nil)
local exists = version and epoch and phase ~= 'deleted'
local waiting = call('ZCARD', WAITING) + call('ZCARD', LOBBY) + call('ZCARD', OUTBOX)
call('XLEN', AUDIT)
local servers = call('HKEYS', SERVERS)
local seeds = call('HMGET', STATE, 'seed', 'drawn')
local lobby, starts = unpack(call('HMGET', CONFIG, 'lobby', 'startsAt'))
local order = lobby or (starts and 'arrival') or ''
if operation == 'create' or operation == 'replace' then lobby, starts = false, false end
for i = 9, #ARGV, 2 do
    local value = ARGV[i + 1] ~= '' and ARGV[i + 1]
    if ARGV[i] == 'lobby' then lobby = value elseif ARGV[i] == 'startsAt' then starts = value end
end
local new_order, early = lobby or (starts and 'arrival') or '', starts and now < tonumber(starts)
if expected == 'absent' and exists then return {'conflict', version} end
if not exists and expected ~= '' and expected ~= 'absent' then return {'none'} end
if not exists and operation ~= 'create' then return {'none'} end
if exists and expected ~= '' and expected ~= '*' and expected ~= 'absent' and tonumber(expected) ~= version then
    return {'conflict', version}
end
if operation == 'replace' and waiting > 0 and (expected == '' or expected == '*') then return {'in-use', waiting} end
if operation == 'delete' and waiting > 0 and force ~= 'force' then return {'in-use', waiting} end
if operation ~= 'create' and operation ~= 'delete' and call('ZCARD', LOBBY) > 0 then
    if (new_order ~= order and new_order ~= '') or (phase == 'drawing' and early) then return {'in-use', waiting} end
end

if operation == 'create' then
    epoch = math.max(now, (epoch or 0) + 1)
    call('UNLINK', CONFIG, STATE, WAITING, PLACES, USERS, PARKED, DEPARTED, DEPARTURES, SERVERS, LOBBY, OUTBOX, ENTRIES, ACTIVE, ISSUED)
    call('HSET', STATE, 'epoch', epoch, 'phase', 'open', 'tail', 0, 'head', 0, 'base', 0, 'rev', 1, 'announced', 0, 'dirty', 1,
         'admitted', 0, 'clock', now, 'seen', now, 'root', epoch)
    version = 0
elseif operation == 'replace' then
    call('DEL', CONFIG)
elseif operation == 'clear' then
    call('HSET', STATE, 'cleared', tail, 'dirty', 1)
elseif operation == 'delete' then
    call('UNLINK', CONFIG, WAITING, PLACES, USERS, PARKED, DEPARTED, DEPARTURES, SERVERS, LOBBY, OUTBOX, ENTRIES, ACTIVE, ISSUED)
    call('HSET', STATE, 'phase', 'deleted')
    call('EXPIRE', STATE, 86400)
end
local shown = ''
if operation == 'announce' then
    call('HSET', STATE, 'notice', ARGV[10], 'notice_at', now)
elseif operation ~= 'delete' then
    version = version + 1
    for i = 9, #ARGV, 2 do
        if ARGV[i + 1] == '' then call('HDEL', CONFIG, ARGV[i]) else call('HSET', CONFIG, ARGV[i], ARGV[i + 1]) end
    end
    call('HSET', CONFIG, 'version', version)
    if operation == 'create' or not seeds[1] or (seeds[2] == '1' and early) then
        if seeds[2] == '1' and operation ~= 'create' then shown = seeds[1] end
        call('HDEL', STATE, 'drawn', 'drawn_first', 'drawn_last')
        call('HSET', STATE, 'seed', ARGV[7], 'seed_hash', ARGV[8])
    end
end
if operation ~= 'delete' then
    -- A rev that nobody announced: the next announcement makes every gateway fetch a picture, and so does the sweep.
    call('HSET', STATE, 'dirty', 1, 'rev', operation == 'create' and 1 or rev + 1)
    call('PERSIST', STATE)
end
call('XADD', AUDIT, 'MINID', '~', now - (tonumber(call('HGET', CONFIG, 'admissionsDays') or nil) or 30) * 86400000, '*', 'actor', ARGV[4],
     'action', ARGV[5], 'version', version, 'after', ARGV[6], 'seed', shown)
return {'ok', version, epoch, servers, now}
