#!lua
-- keys: config state waiting places users parked departed departures servers lobby outbox entries active issued audit
-- What operators do to a session, each one atomic step with its audit entry.
-- ARGV: operation (create replace patch clear delete), expected version ('' any, '*' must exist, 'absent' must not),
--       'force' or '', actor, action, after (JSON for the audit), field, value, … (value '' with patch deletes the field)
-- create: config and a new epoch. replace: all fields anew ('in-use' while anybody waits unless a version is expected).
-- clear: everybody waiting now is let go by the next ticks. delete: config goes, a tombstone stays for 24 h.
-- Gives {ok, version, epoch, servers that have connections here}, {conflict, version}, {in-use, waiting}, none.
local operation, expected, force = ARGV[1], ARGV[2], ARGV[3]
if #ARGV < 6 or #ARGV % 2 ~= 0 then return redis.error_reply('ERR arguments of configure') end
local version = tonumber(call('HGET', CONFIG, 'version') or nil)
local exists = version and epoch and phase ~= 'deleted'
local waiting = call('ZCARD', WAITING) + call('ZCARD', LOBBY) + call('ZCARD', OUTBOX)
call('XLEN', AUDIT)
local servers = call('HKEYS', SERVERS)
if expected == 'absent' and exists then return {'conflict', version} end
if not exists and expected ~= '' and expected ~= 'absent' then return {'none'} end
if not exists and operation ~= 'create' then return {'none'} end
if exists and expected ~= '' and expected ~= '*' and expected ~= 'absent' and tonumber(expected) ~= version then
    return {'conflict', version}
end
if operation == 'replace' and waiting > 0 and (expected == '' or expected == '*') then return {'in-use', waiting} end
if operation == 'delete' and waiting > 0 and force ~= 'force' then return {'in-use', waiting} end

if operation == 'create' then
    epoch = math.max(now, (epoch or 0) + 1)
    call('UNLINK', CONFIG, STATE, WAITING, PLACES, USERS, PARKED, DEPARTED, DEPARTURES, SERVERS, LOBBY, OUTBOX, ENTRIES, ACTIVE, ISSUED)
    call('HSET', STATE, 'epoch', epoch, 'phase', 'open', 'tail', 0, 'head', 0, 'base', 0, 'rev', 1, 'announced', 0, 'dirty', 1,
         'admitted', 0, 'clock', now, 'seen', now)
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
if operation ~= 'delete' then
    version = version + 1
    for i = 7, #ARGV, 2 do
        if ARGV[i + 1] == '' then call('HDEL', CONFIG, ARGV[i]) else call('HSET', CONFIG, ARGV[i], ARGV[i + 1]) end
    end
    call('HSET', CONFIG, 'version', version)
    -- A rev that nobody announced: the next announcement makes every gateway fetch a picture, and so does the sweep.
    call('HSET', STATE, 'dirty', 1, 'rev', operation == 'create' and 1 or rev + 1)
    call('PERSIST', STATE)
end
call('XADD', AUDIT, 'MINID', '~', now - (tonumber(call('HGET', CONFIG, 'admissionsDays') or nil) or 30) * 86400000, '*', 'actor', ARGV[4],
     'action', ARGV[5], 'version', version, 'after', ARGV[6])
return {'ok', version, epoch, servers}
