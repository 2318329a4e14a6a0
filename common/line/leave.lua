#!lua
-- keys: state waiting places users parked departed departures lobby
-- The visitor (or an operator) gives the place up.
-- ARGV: place, generation of the ticket shown (an older one changes nothing), 0 = whatever it is
-- Gives {departed, server, ticket (0: it was in the lobby), epoch} {stale} {gone} {none}.
if not epoch then return {'none'} end
local raw = call('HGET', PLACES, ARGV[1])
if not raw then return {'gone'} end
local p, gen = unpack_place(raw), tonumber(ARGV[2])
if gen > 0 and p.gen ~= gen then return {'stale'} end -- rule: generation
local ticket = tonumber(call('ZSCORE', WAITING, ARGV[1]) or nil)
if not ticket and not call('ZSCORE', LOBBY, ARGV[1]) then return {'gone'} end
check_depart_keys()
depart(ARGV[1], p.user, ticket)
return {'departed', p.server, ticket or 0, epoch}
