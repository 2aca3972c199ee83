-- traits: joins 12
-- Takes the lock or the place in the queue from each ticket, and tells the first in the queue if
-- the lock is free: a release, or the end of a wait.
-- KEYS for each lock: lock, queue, timeouts, tickets
-- ARGV for each lock: field, channel, wait in ms by which Redisson reckons
-- Reply: a list, for each lock the number of receivers if it had the lock, -1 if nobody can be
--        told, or -2 if the first is a ticket of colock without a subscriber; false if it did not
--        have the lock; an error if the key does not hold a lock.
-- Idempotent: a repeat finds neither field nor ticket. It may tell the first in the queue again.
local call, pcall = redis.call, redis.pcall
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = function(number) return string.format('%.0f', number) end

-- include crowd.lua
-- include first.lua
-- include publish.lua

-- The tickets behind get earlier timeouts, by the wait, as in Redisson.
local function leave(queue, timeouts, tickets, field, wait)
    local timed = pcall('zrem', timeouts, field) == 1
    local known = pcall('zrem', tickets, field) == 1
    local place = (timed or known) and pcall('lpos', queue, field, 'rank', -1)
    if type(place) == 'number' then
        for _, behind in ipairs(timed and call('lrange', queue, place + 1, -1) or {}) do
            pcall('zadd', timeouts, 'xx', 'incr', -wait, behind)
        end
        call('lrem', queue, -1, field)
    end
end

local reply = {}
for i = 1, #KEYS / 4 do
    local k = 4 * i - 3
    local lock, queue, timeouts, tickets = KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
    local field, channel, wait = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
    local removed = pcall('hdel', lock, field)
    reply[i] = type(removed) == 'table' and removed
    if removed == 0 then
        leave(queue, timeouts, tickets, field, wait)
    end
    if removed == 1 or removed == 0 and call('exists', lock) == 0 then
        local head = first(queue, timeouts, tickets, wait, channel)
        local told = head and -1 or 0
        if type(head) == 'string' then
            told = publish(channel .. ':' .. head, '0')
            if told == 0 and call('zscore', tickets, head) then
                told = -2
            end
        elseif not head then
            call('del', tickets)  -- left by tickets that others took out of the queue
        end
        reply[i] = removed == 1 and told
    end
end
return reply
