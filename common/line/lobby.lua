-- A piece for scripts that say "-- with: lobby": how a place in the lobby is told. ORDER is its score there; the order of a
-- lottery is nobody's to know before the draw, or whoever saw it could come anew until it suits.
local function lobby_reply(place, gen, order, before, generation)
    local c = call('HMGET', CONFIG, 'lobby', 'startsAt', 'status')
    return {'lobby', place, epoch, c[1] == 'lottery' and 0 or tonumber(order), gen, 0, head, base, rev, tail, before,
            generation, call('ZCARD', LOBBY), c[3] or 'open', c[2] or '0'}
end
