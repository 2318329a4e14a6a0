#!lua
-- keys: config state waiting places parked departed departures servers
-- with: fill
-- Redis came back empty or older than the caller knows: a new epoch, with all numbers up to the highest known one taken and
-- marked departed, and a window in which nobody is admitted or joins, until gateways have put their connections back.
-- Whoever comes second adds what it knows beyond the first.
-- ARGV: known epoch, rev, tail, head, admitted; window (ms); config version, how many words of config, the words, how many
--       words of state (as keep gives them), the words; servers that are expected to put their connections back…
-- Gives {ok, epoch, phase, opened (1: by this call)}. Or deleted; none: nothing is there and the caller has no config.
-- Numbers left free for tickets that the caller has not heard of: of the last moment before, or of a gateway that is late.
local MARGIN = 10000
local known_epoch, known_rev, known_tail = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local known_head, known_admitted, window = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local version, words = tonumber(ARGV[7]), tonumber(ARGV[8])
local state_at = words and 9 + words
local state_words = state_at and tonumber(ARGV[state_at])
if not (known_epoch and known_rev and known_tail and known_head and known_admitted and window and version and state_words) or
        words % 2 ~= 0 or state_words % 2 ~= 0 or #ARGV < state_at + state_words or known_head > known_tail then
    return redis.error_reply('ERR arguments of reopen')
end
if phase == 'deleted' then return {'deleted'} end
local here = tonumber(call('HGET', CONFIG, 'version') or nil)
if not here and version == 0 then return {'none'} end
call('ZCARD', WAITING) call('HLEN', PLACES) call('ZCARD', PARKED) call('STRLEN', DEPARTED) call('LLEN', DEPARTURES)
call('HLEN', SERVERS)
local o = call('HMGET', STATE, 'admitted', 'root')
local admitted = math.max(tonumber(o[1]) or 0, known_admitted)

local lost = not epoch or known_epoch > epoch or (known_epoch == epoch and (known_tail > tail or known_rev > rev))
if not lost then
    if phase == 'restoring' and known_epoch < epoch and known_epoch >= (tonumber(o[2]) or epoch) then
        if known_head > head then call('HSETNX', STATE, 'unheard', head) end -- admitted, which the first one did not know
        fill(tail, known_tail)
        call('HSET', STATE, 'tail', math.max(tail, known_tail), 'head', math.max(head, known_head), 'admitted', admitted,
             'dirty', 1)
    end
    if phase ~= 'restoring' or (here and here >= version) then return {'ok', epoch, phase or 'open', 0} end
end

if not here or version > here then
    call('DEL', CONFIG)
    for i = 9, 7 + words, 2 do call('HSET', CONFIG, ARGV[i], ARGV[i + 1]) end
    for i = state_at + 1, state_at + state_words, 2 do call('HSET', STATE, ARGV[i], ARGV[i + 1]) end
end
if not lost then return {'ok', epoch, phase, 0} end

local clock = epoch and line_clock(5000) or now
epoch = math.max(now, known_epoch + 1, (epoch or 0) + 1)
tail, head = math.max(tail, known_tail) + MARGIN, math.max(head, known_head)
base = head
call('DEL', DEPARTED, DEPARTURES)
fill(head, tail)
call('HSETNX', STATE, 'root', known_epoch)
call('HDEL', STATE, 'owner', 'owner_until', 'cleared', 'restore_tail', 'doubt_until')
call('HSET', STATE, 'epoch', epoch, 'tail', tail, 'head', head, 'base', base, 'rev', 1, 'announced', 0, 'dirty', 1,
     'phase', 'restoring', 'clock', clock, 'seen', now, 'tokens', 0, 'refilled', clock, 'admitted', admitted,
     'restore_until', clock + window, 'scan', call('HLEN', PLACES) > 0 and '0' or '',
     'expect', #ARGV > state_at + state_words and 1 or 0)
call('PERSIST', STATE)
for i = state_at + state_words + 1, #ARGV do call('HSET', SERVERS, ARGV[i], 2) end
return {'ok', epoch, 'restoring', 1}
