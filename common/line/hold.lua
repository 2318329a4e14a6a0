#!lua
-- keys: lock
-- prelude: none
-- Takes or renews a lock for its holder. ARGV: holder, ms. Gives 1, or 0 when another holds it.
local holder = redis.call('GET', LOCK)
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2])
return 1
