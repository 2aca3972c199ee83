-- traits: joins 10, draws_tokens
-- Takes the write side of each read-write lock that is free, or that this same ownership has taken
-- already.
-- KEYS for each lock: lock, fencing counter; without fencing the lock alone
-- ARGV 1 how tokens are drawn: 'clock', 'redisson', or '' without fencing;
--      then for each lock: field with ':write', lease in ms, number of tokens, and
--      'place:channel' or '', as in acquire.lua
-- Reply: a list as of acquire.lua. Only writers stand in the wait list. While somebody reads, the
--        reply never says that the first is told, because a reader that does not know the list may
--        be the last to leave.
-- Idempotent: as acquire.lua.
local call, pcall = redis.call, redis.pcall

local mode, time = 'write'
local function holder_of(lock)
    local writes = call('hget', lock, 'mode') == 'write'
    for _, field in ipairs(writes and call('hkeys', lock) or {}) do
        if string.sub(field, -6) == ':write' then
            return field
        end
    end
end

-- include draw.lua
-- include take.lua
