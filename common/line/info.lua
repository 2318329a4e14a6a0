#!lua flags=no-writes
-- keys: config state waiting lobby
-- What anybody may know of a session.
-- Gives {ok, phase, status, startsAt, endsAt (0 none), waiting, lobby, lobby's order, seed hash, seed ('' before the draw),
-- first and last ticket the draw gave by the seed (0 none), now (ms)}. Or none deleted.
if not epoch then return {'none'} end
if phase == 'deleted' then return {'deleted'} end
local c = call('HMGET', CONFIG, 'status', 'startsAt', 'endsAt', 'lobby', 'version')
if not c[5] then return {'none'} end
local n = call('HMGET', STATE, 'seed_hash', 'seed', 'drawn', 'drawn_first', 'drawn_last')
return {'ok', phase or 'open', c[1] or 'open', c[2] or '0', c[3] or '0', call('ZCARD', WAITING), call('ZCARD', LOBBY),
        c[4] or (c[2] and 'arrival' or 'none'), n[1] or '', n[3] == '1' and n[2] or '', n[4] or '0', n[5] or '0', now}
