#!lua
-- keys: config state waiting places parked servers lobby outbox entries active
-- with: lobby take
-- The place of a ticket for another connection; or, with EXPECT, taken back by the connection that believes it has it.
-- ARGV: place, server, conn, mode (stream poll), expected conn or '', known epoch, known tail, generation of that conn, or of the ticket (none: 0)
-- Gives what join gives, or {gone, place, epoch}, {moved, place, epoch}, none deleted lost unavailable.
if not epoch then return {'none'} end
if lost(tonumber(ARGV[6]), tonumber(ARGV[7])) then return {'lost'} end
if phase == 'deleted' then return {'deleted'} end
local raw = call('HGET', PLACES, ARGV[1])
if not raw then return phase == 'restoring' and {'unavailable'} or {'gone', ARGV[1], epoch} end
return take(ARGV[1], raw, ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[8] or 0) or 0)
