#!lua
-- keys: state waiting places lobby
-- Moves a chunk of the lobby into the line, in the lobby's order and with consecutive tickets. Only while a draw is under
-- way, and only for the owner.
-- ARGV: publisher, epoch, most
-- Gives {ok, epoch, left in the lobby, place, ticket, server ('' = no connection just now), …}. Or {fenced, ms left, owner},
-- gone (no draw, or not yet: the data is doubted), lost (another epoch), none deleted.
local most = tonumber(ARGV[3])
if not epoch then return {'none'} end
if phase == 'deleted' then return {'deleted'} end
if tonumber(ARGV[2]) ~= epoch then return {'lost'} end
local o = call('HMGET', STATE, 'owner', 'owner_until', 'drawn_first', 'doubt_until')
local left_ms = (tonumber(o[2]) or 0) - now
if o[1] ~= ARGV[1] or left_ms <= 0 then return {'fenced', math.max(left_ms, 0), o[1] or ''} end -- rule: lease
if phase ~= 'drawing' or (o[4] and line_clock(5000) < tonumber(o[4])) then return {'gone'} end
call('ZCARD', WAITING) call('HLEN', PLACES)
local chunk = call('ZRANGE', LOBBY, 0, most - 1, 'WITHSCORES')
local first, last, drawn = tail + 1, nil, {}
for i = 1, #chunk, 2 do
    local raw = call('HGET', PLACES, chunk[i])
    tail = tail + 1
    if tonumber(chunk[i + 1]) < LATE then last = tail end
    call('ZADD', WAITING, tail, chunk[i])
    drawn[#drawn + 1] = chunk[i]
    drawn[#drawn + 1] = tail
    drawn[#drawn + 1] = raw and unpack_place(raw).server or ''
end
if #chunk > 0 then
    call('HSET', STATE, 'tail', tail, 'dirty', 1)
    if last then call('HSET', STATE, 'drawn_first', o[3] or first, 'drawn_last', last) end
    call('ZREMRANGEBYRANK', LOBBY, 0, #chunk / 2 - 1)
end
return {'ok', epoch, call('ZCARD', LOBBY), unpack(drawn)}
