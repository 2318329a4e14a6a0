#!lua
-- keys: config state waiting places parked lobby outbox entries active
-- with: lobby
-- Where a place stands. ARGV: place, 'poll' = somebody asks who polls: the place is kept alive; known epoch, known tail
-- Gives {waiting, place, epoch, ticket, gen, position, head, base, rev, tail, server, gen, waiting, status},
-- {admitted, …} and {lobby, …} as join gives them, {entered, place, epoch, token}, {gone, place, epoch}, none deleted lost unavailable.
if not epoch then return {'none'} end
if lost(tonumber(ARGV[3]), tonumber(ARGV[4])) then return {'lost'} end
if phase == 'deleted' then return {'deleted'} end
local place = ARGV[1]
local token, valid = stored_entry(place)
if token and not valid then return {'gone', place, epoch} end
if token then return {'entered', place, epoch, token} end
local raw = call('HGET', PLACES, place)
local ticket = raw and tonumber(call('ZSCORE', WAITING, place) or nil)
local out = raw and not ticket and tonumber(call('ZSCORE', OUTBOX, place) or nil)
local order = raw and not ticket and not out and call('ZSCORE', LOBBY, place)
if not ticket and not out and not order then return phase == 'restoring' and {'unavailable'} or {'gone', place, epoch} end
local p = unpack_place(raw)
if out then
    return {'admitted', place, epoch, out, p.gen, 0, head, base, rev, tail, p.server, p.gen, 0, ''}
end
local c = call('HMGET', CONFIG, 'status', 'graceMs')
if ARGV[2] == 'poll' and p.server == '' and call('ZSCORE', PARKED, place) then
    call('ZADD', PARKED, line_clock(180000) + math.max(tonumber(c[2]) or 300000, SHORT_GRACE), place)
    if p.kind == 'a' then -- whose stream is gone polls now
        p.kind = 'p'
        call('HSET', PLACES, place, pack_place(p))
    end
end
if order then return lobby_reply(place, p.gen, order, p.server, p.gen) end
return {'waiting', place, epoch, ticket, p.gen, call('ZRANK', WAITING, place) + 1, head, base, rev, tail, p.server,
        p.gen, call('ZCARD', WAITING), c[1] or 'open'}
