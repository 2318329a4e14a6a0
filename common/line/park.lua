#!lua
-- keys: config state waiting places users parked departed departures lobby
-- The connection is gone: the place is kept until a deadline on the line clock. Also after a join or resume whose answer
-- never came: then the place may be the user's older one.
-- ARGV: place, conn, user or '', 'short' = nobody ever had the ticket, so SHORT_GRACE is enough. The user's older place
-- has its whole grace: its generation is above 1, and somebody has that ticket.
-- Gives {parked} {departed} (graceMs is 0) {stale} (another connection has it) {gone} {none}.
if not epoch then return {'none'} end
local place, conn, user = ARGV[1], ARGV[2], ARGV[3]
local raw = call('HGET', PLACES, place)
if not raw and user ~= '' then
    place = call('HGET', USERS, user)
    raw = place and call('HGET', PLACES, place)
end
if not raw then return {'gone'} end
local p = unpack_place(raw)
if p.conn ~= conn then return {'stale'} end -- rule: conn
local ticket = tonumber(call('ZSCORE', WAITING, place) or nil)
if not ticket and not call('ZSCORE', LOBBY, place) then return {'gone'} end
local grace = tonumber(call('HGET', CONFIG, 'graceMs')) or 300000
if ARGV[4] == 'short' and p.gen == 1 then grace = math.min(grace, SHORT_GRACE) end
check_depart_keys()
if grace == 0 then
    depart(place, p.user, ticket)
    return {'departed'}
end
p.server = ''
if p.kind == 'p' then p.kind = 'a' end -- nobody heard the answer, so nobody polls
call('HSET', PLACES, place, pack_place(p))
call('ZADD', PARKED, line_clock(180000) + grace, place)
return {'parked'}
