-- traits: confirms
-- The heartbeat of waiters for fair locks: keeps their tickets alive.
-- KEYS for each ticket: lock, queue, timeouts, tickets
-- ARGV for each ticket: field, wait in ms by which Redisson reckons, life of the ticket in ms
-- Reply: a list, for each ticket a list with the ms until it is worth asking, as fair_acquire.lua
--        says it, and 0 if its turn has come; 0 if it has no place; an error if a key is of another
--        type.
-- Idempotent; gives nobody a place.
local call, pcall = redis.call, redis.pcall
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = function(number) return string.format('%.0f', number) end
local day = 86400000  -- the life of the tickets, as in fair_acquire.lua

-- Whether the ticket is in the queue, which may have been lost and begun again without it. Mostly its
-- place there is that of its timeout.
local function is_queued(queue, rank, field, head)
    return head == field or pcall('lindex', queue, rank) == field or
        pcall('lpos', queue, field) ~= false
end

local reply = {}
for i = 1, #KEYS / 4 do
    local k = 4 * i - 3
    local lock, queue, timeouts, tickets = KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
    local field, wait, life = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
    local rank = pcall('zrank', timeouts, field)
    local head = rank and pcall('lindex', queue, 0)
    local stands = type(head) == 'string' and is_queued(queue, rank, field, head)
    if stands then
        pcall('zrem', tickets, '')  -- removes nothing; see README on full memory
    end
    local kept = stands and pcall('zadd', tickets, text(now + life), field)
    if type(rank) == 'table' or type(head) == 'table' or type(kept) == 'table' then
        reply[i] = type(rank) == 'table' and rank or type(head) == 'table' and head or kept
    elseif not kept then
        reply[i] = 0
        pcall('zrem', tickets, field)
        pcall('lrem', queue, 0, field)
        call('zrem', timeouts, field)
    else
        -- The timeout that Redisson would give a ticket that got this place now. Without it
        -- Redisson's scripts count a ticket as dead that has waited for longer than its timeout.
        -- Redis before 6.2 has no ZADD GT.
        local timeout = now + (rank + 1) * wait
        if tonumber(call('zscore', timeouts, field)) < timeout then
            call('zadd', timeouts, text(timeout), field)
        end
        if kept == 1 then  -- the tickets were lost, and their end with them
            call('pexpire', tickets, day)
        end
        local ttl = call('pttl', lock)
        if ttl == -2 then
            local ends = head == field and now or
                call('zscore', tickets, head) or call('zscore', timeouts, head) or now
            ttl = math.max(ends - now, 0)
        end
        reply[i] = {ttl}
    end
end
return reply
