-- A piece for scripts that say "-- with: fill": numbers nobody is known to hold.
-- Marks the tickets after FROM up to TO as departed, in a bitmap that ends at FROM.
local function fill(from, to)
    if to <= from then return end
    local bits = call('GETRANGE', DEPARTED, 0, -1)
    local first = from + 1 - base -- index of the first bit to set
    local bytes = math.floor(first / 8)
    bits = string.sub(bits, 1, bytes + 1) .. string.rep('\0', bytes + 1 - #bits)
    local head_byte, tail_bits = string.byte(bits, bytes + 1), (to - base) % 8 + 1
    local last = math.floor((to - base) / 8)
    local kept = first % 8 -- bits of that byte that stay
    local mask = 2 ^ (8 - kept) - 1
    local whole = head_byte - head_byte % (mask + 1) + mask
    if last == bytes then
        whole = whole - (2 ^ (8 - tail_bits) - 1)
        bits = string.sub(bits, 1, bytes) .. string.char(whole)
    else
        bits = string.sub(bits, 1, bytes) .. string.char(whole) .. string.rep('\255', last - bytes - 1) ..
               string.char(256 - 2 ^ (8 - tail_bits))
    end
    call('SET', DEPARTED, bits)
end

-- TICKET is below the base: the line was empty once since. The base goes down by whole bytes; what was below it departed.
local function lower_base(ticket)
    local bytes = math.ceil((base - ticket + 1) / 8)
    local bits = call('GETRANGE', DEPARTED, 0, -1)
    if #bits == 0 then bits = '\0' end
    local first = string.byte(bits, 1)
    if first < 128 then first = first + 128 end -- the old base itself
    call('SET', DEPARTED, string.rep('\255', bytes) .. string.char(first) .. string.sub(bits, 2))
    base = base - bytes * 8
    call('HSET', STATE, 'base', base)
end
