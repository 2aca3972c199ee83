-- traits: joins 12
-- Takes the lock or the place in the queue from each ticket, and tells the first in the queue if
-- the lock is free: a release, or the end of a wait.
-- KEYS for each lock: lock, queue, timeouts, tickets
-- ARGV for each lock: field, channel, wait in ms by which Redisson reckons
-- Reply: a list, for each lock the number of receivers if it had the lock, -1 if nobody can be
--        told, or -2 if the first is a ticket of colock without a subscriber; if it did not have the
--        lock, -3 if the first is such a ticket, and false if not; an error if the key does not hold
--        a lock.
-- Idempotent: a repeat finds neither field nor ticket. It may tell the first in the queue again.
local call, pcall = redis.call, redis.pcall
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = function(number) return string.format('%.0f', number) end

-- include crowd.lua
-- include first.lua
-- include publish.lua

-- Takes tickets of one lock out of its queue. The tickets behind get earlier timeouts, by the wait for
-- each that has left before them, as in Redisson. One walk over the queue serves all of the call while
-- the lock is held: when a crowd gives up together, a walk for each would take the server seconds.
local function leave(of)
    local queue, gone, from = of.queue, {}, nil
    for _, field in ipairs(of.fields) do
        local timed = pcall('zrem', of.timeouts, field) == 1
        local known = pcall('zrem', of.tickets, field) == 1
        local place = (timed or known) and pcall('lpos', queue, field, 'rank', -1)
        if type(place) == 'number' then
            gone[field] = timed and tonumber(of.wait) or 0
            from = math.min(from or place, place)
        end
    end
    local sooner = 0
    for _, behind in ipairs(from and call('lrange', queue, from, -1) or {}) do
        if gone[behind] then
            sooner = sooner + gone[behind]
            call('lrem', queue, -1, behind)
        elseif sooner > 0 then
            pcall('zadd', of.timeouts, 'xx', 'incr', -sooner, behind)
        end
    end
end

local reply, leaving = {}, {}
for i = 1, #KEYS / 4 do
    local k = 4 * i - 3
    local lock, queue, timeouts, tickets = KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
    local field, channel, wait = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
    local removed = pcall('hdel', lock, field)
    reply[i] = type(removed) == 'table' and removed
    if removed == 0 then
        local of = leaving[queue] or
            {queue = queue, timeouts = timeouts, tickets = tickets, wait = wait, fields = {}}
        leaving[queue] = of
        table.insert(of.fields, field)
    end
    if removed == 1 or removed == 0 and call('exists', lock) == 0 then
        if leaving[queue] then
            leave(leaving[queue])
            leaving[queue] = nil
        end
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
        reply[i] = removed == 1 and told or told == -2 and -3
    end
end
for _, of in pairs(leaving) do  -- their locks are held, so there is nobody to tell
    leave(of)
end
return reply
