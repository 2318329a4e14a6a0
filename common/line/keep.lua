#!lua flags=no-writes
-- keys: config state
-- What a daemon keeps of a session in case Redis loses it. Gives {ok, epoch, version, {config: field, value, …},
-- {state: field, value, …}}. Or none deleted.
if not epoch then return {'none'} end
if phase == 'deleted' then return {'deleted'} end
local names = {'root', 'seed', 'seed_hash', 'drawn', 'drawn_first', 'drawn_last', 'notice', 'notice_at', 'lobby_seq'}
local values, kept = call('HMGET', STATE, unpack(names)), {}
for i, name in ipairs(names) do
    if values[i] then
        kept[#kept + 1] = name
        kept[#kept + 1] = values[i]
    end
end
return {'ok', epoch, tonumber(call('HGET', CONFIG, 'version')) or 0, call('HGETALL', CONFIG), kept}
