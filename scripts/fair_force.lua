-- Takes each lock away from its holder, tells that one, and the first in the queue.
-- KEYS for each lock: lock, queue, timeouts, tickets
-- ARGV for each lock: channel, wait in ms by which Redisson reckons, how the names of the mailboxes
--      begin
-- Reply: a list, for each lock 1 if somebody held it, else 0; an error if the key does not hold a
--        lock, which stays as it is.
-- Not idempotent: a repeat could take the lock away from a later owner, so it is sent once.
local call, pcall = redis.call, redis.pcall
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = function(number) return string.format('%.0f', number) end

-- include crowd.lua
-- include first.lua
-- include publish.lua
-- include tell_forced.lua

local reply = {}
for i = 1, #KEYS / 4 do
    local k = 4 * i - 3
    local channel, wait, box = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
    local fields = pcall('hkeys', KEYS[k])
    reply[i] = fields.err and fields or 0
    if #fields > 0 then
        call('del', KEYS[k])
        tell_forced(KEYS[k], fields, box)
        local head = first(KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], wait, channel)
        if type(head) == 'string' then
            publish(channel .. ':' .. head, '0')
        end
        reply[i] = 1
    end
end
return reply
