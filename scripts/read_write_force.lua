-- Takes one side of each read-write lock away from whoever holds it and tells those who wait.
-- KEYS the locks
-- ARGV for each lock: side, 'read' or 'write'; channel
-- Reply: a list, for each lock 1 if that side was held, else 0; an error if the key is no lock,
--        which stays as it is.
-- Not idempotent: a repeat takes away what was acquired since, so it is sent once.
local reply = {}
for i = 1, #KEYS do
    local side = ARGV[2 * i - 1]
    local mode = redis.pcall('hget', KEYS[i], 'mode')
    reply[i] = type(mode) == 'table' and mode or 0
    if mode == side then
        redis.call('del', KEYS[i])
        redis.pcall('publish', ARGV[2 * i], side == 'read' and '0' or '1')
        reply[i] = 1
    end
end
return reply
