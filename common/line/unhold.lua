#!lua
-- keys: lock
-- prelude: none
-- Gives a lock back. ARGV: holder. Gives 1, or 0 when another holds it.
if redis.call('GET', LOCK) ~= ARGV[1] then return 0 end
redis.call('DEL', LOCK)
return 1
