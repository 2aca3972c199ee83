-- Takes each lock away from its holder, tells that one, and the waiters as a release does.
-- KEYS the locks
-- ARGV for each lock: channel; wait list; how the names of the mailboxes begin
-- Reply: a list, for each lock 1 if somebody held it, else 0; an error if the key does not hold a
--        lock, which stays as it is.
-- Not idempotent: a repeat could take the lock away from a later owner, so it is sent once.
local clock

-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include tell_forced.lua

local reply = {}
for i = 1, #KEYS do
    local channel, list, box = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
    local fields = redis.pcall('hkeys', KEYS[i])
    reply[i] = fields.err and fields or 0
    if #fields > 0 then
        redis.call('del', KEYS[i])
        tell_forced(KEYS[i], fields, box)
        tell(list, box, KEYS[i], 1, publish(channel, '0'))
        reply[i] = 1
    end
end
return reply
