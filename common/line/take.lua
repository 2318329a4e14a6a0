-- A piece shared by join and resume, put behind the prelude where a script says "-- with: take".
-- Gives PLACE (its value RAW) to a connection, with a generation above that of the ticket it showed (GEN, 0 for none). EXPECT ~= '': only if conn is still EXPECT, and nothing but the server
-- changes; or of generation GEN, which is later than what is known here: the data is older than that connection.
-- Modes: stream, poll, virtual: nobody but a virtual place does without a connection and without a deadline.
local function take(place, raw, server, conn, mode, expect, gen)
    local p = unpack_place(raw)
    local newer = expect ~= '' and gen > p.gen
    local token, valid = stored_entry(place)
    if token and not valid then return {'gone', place, epoch} end
    if token then return {'entered', place, epoch, token} end
    if phase == 'restoring' and (expect ~= '' or (call('HGET', STATE, 'scan') or '') ~= '') then
        return {'unavailable'} -- who is connected is put back by restore, and older data is looked through first
    end
    if expect ~= '' and p.conn ~= expect and not newer then return {'moved', place, epoch} end -- rule: conn
    local ticket = tonumber(call('ZSCORE', WAITING, place) or nil)
    local admitted = not ticket and tonumber(call('ZSCORE', OUTBOX, place) or nil)
    local order = not ticket and not admitted and call('ZSCORE', LOBBY, place)
    if not ticket and not admitted and not order then return {'gone', place, epoch} end
    local parked = call('ZSCORE', PARKED, place)
    local served = call('HGET', SERVERS, server)
    local grace = tonumber(call('HGET', CONFIG, 'graceMs')) or 300000
    local before, generation = p.server, p.gen
    -- A connection that asks about its own place, and nothing is new: the audit of open connections writes nothing.
    if expect == '' or newer or mode ~= 'stream' or p.server ~= server or parked or served ~= '1' then
        if (ticket or order) and mode ~= 'stream' and p.kind ~= 'v' then
            call('ZADD', PARKED, line_clock(180000) + math.max(grace, SHORT_GRACE), place)
        else
            call('ZREM', PARKED, place)
        end
        if expect == '' then p.gen, p.conn = math.max(p.gen, gen) + 1, conn end
        if newer then p.gen, p.conn = gen, conn end
        p.server = mode == 'stream' and server or ''
        if p.kind ~= 'v' then p.kind = mode == 'stream' and 'a' or 'p' end
        call('HSET', PLACES, place, pack_place(p))
        if mode == 'stream' and served ~= '1' then call('HSET', SERVERS, server, 1) end
    end
    if admitted then
        return {'admitted', place, epoch, admitted, p.gen, 0, head, base, rev, tail, before, generation, 0, ''}
    end
    if order then return lobby_reply(place, p.gen, order, before, generation) end
    return {'waiting', place, epoch, ticket, p.gen, call('ZRANK', WAITING, place) + 1, head, base, rev, tail, before,
            generation, call('ZCARD', WAITING), ''}
end
