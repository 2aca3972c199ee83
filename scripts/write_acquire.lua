-- traits: joins 10, draws_tokens
-- Takes the write side of each read-write lock that is free, or that this same ownership has taken
-- already.
-- KEYS for each lock: lock, fencing counter; without fencing the lock alone
-- ARGV 1 how tokens are drawn: 'clock', 'redisson', or '' without fencing;
--      then for each lock: field with ':write', and the others as in acquire.lua
-- Reply: a list as of acquire.lua. Only writers stand in the wait list. While somebody reads, the
--        reply says that the holder's release does not tell the list, because a reader that does not
--        know it may be the last to leave.
-- Idempotent: as acquire.lua.
local call, pcall = redis.call, redis.pcall

local mode, clock = 'write'

-- include draw.lua
-- include take.lua
