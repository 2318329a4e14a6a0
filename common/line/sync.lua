#!lua flags=no-writes
-- keys: config state waiting departed lobby
-- One consistent picture of a line (GETRANGE alone could pair bits with another base).
-- Gives {ok, epoch, rev, base, head, tail, waiting, phase, status, first, bits, entryUrl, entryMethod, perUser, how many
-- are in the lobby, startsAt (0 none), lobby's order, seed hash, notice, notice's time (ms, 0 never one), admitted in all, the
-- config's version}: bit i of bits is ticket first + i;
-- tickets up to max(head, base) are left out. Or none deleted.
if not epoch then return {'none'} end
if phase == 'deleted' then return {'deleted'} end
local skip = math.floor(math.max(head - base, 0) / 8)
local c = call('HMGET', CONFIG, 'status', 'entryUrl', 'entryMethod', 'perUser', 'startsAt', 'lobby', 'version')
local n = call('HMGET', STATE, 'seed_hash', 'notice', 'notice_at', 'admitted')
return {'ok', epoch, rev, base, head, tail, call('ZCARD', WAITING), phase or 'open', c[1] or 'open', base + skip * 8,
        call('GETRANGE', DEPARTED, skip, -1), c[2] or '', c[3] or 'fragment', c[4] or 'newest',
        call('ZCARD', LOBBY), c[5] or '0', c[6] or (c[5] and 'arrival' or 'none'), n[1] or '', n[2] or '', n[3] or '0',
        n[4] or '0', c[7] or '0'}
