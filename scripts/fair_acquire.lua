-- traits: joins 13, draws_tokens
-- Takes each lock that is free when this ticket's turn has come. Otherwise keeps the ticket's place
-- in the queue, or adds the ticket at the end.
-- KEYS for each lock: lock, queue, timeouts, tickets, fencing counter; without fencing all but this
-- ARGV 1 how tokens are drawn: 'clock', 'redisson', or '' without fencing;
--      then for each lock: field, lease in ms, number of tokens, channel, wait in ms by which
--      Redisson reckons, life of the ticket in ms: 0 to ask and not to queue
-- Reply: a list, for each lock an integer if granted, the last token taken (0 without fencing);
--        a list with the ms until it is worth asking again if not: the lock's PTTL, or if it is
--        free, the time after which the first in the queue counts as dead; an error if a key is
--        of another type.
-- Idempotent: a repeat finds its field, renews the lease and takes new tokens; or finds its ticket.
local call, pcall = redis.call, redis.pcall
local way = ARGV[1]
local width = way ~= '' and 5 or 4
local time = call('time')
local clock = time[1] * 1000000 + time[2]
local now = math.floor(clock / 1000)
local day = 86400000  -- tickets that Redisson took out of the queue are forgotten after this
local text = function(number) return string.format('%.0f', number) end

-- include crowd.lua
-- include first.lua
-- include draw.lua
-- include publish.lua

-- Adds the ticket at the end, with the timeout that Redisson would give it, unless it has a place.
local function enqueue(lock, queue, timeouts, tickets, field, wait, life, placed)
    if placed then
        pcall('zrem', tickets, '')  -- removes nothing; see README on full memory
    end
    local known = pcall('zadd', tickets, text(now + life), field)
    if known == 1 then
        pcall('pexpire', tickets, day)
    end
    if placed or type(known) == 'table' then
        return known
    end
    if known == 0 then  -- the ticket has a place, but one of the keys was lost
        call('lrem', queue, 0, field)
    end
    local last = call('lindex', queue, -1)
    if not last then  -- a ticket with a timeout but no queue has no place
        call('del', timeouts)
    end
    local score = last and call('zscore', timeouts, last)
    local ahead = score and score - now or call('pttl', lock)
    call('zadd', timeouts, text(ahead + wait + now), field)
    return call('rpush', queue, field)
end

local reply = {}
for i = 1, #KEYS / width do
    local k, a = width * (i - 1), 6 * i - 5
    local lock, queue, timeouts, tickets = KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], KEYS[k + 4]
    local field, channel, wait, life = ARGV[a + 1], ARGV[a + 4], ARGV[a + 5], ARGV[a + 6]
    local mine = pcall('hexists', lock, field)
    local head, ends, someone_went = first(queue, timeouts, tickets, wait, channel, field)
    local placed = pcall('zscore', timeouts, field)
    local granted = mine == 1 or (not head or head == field) and call('exists', lock) == 0
    local wrong = type(mine) == 'table' and mine or type(placed) == 'table' and placed or
        type(head) == 'table' and head
    if wrong then
        reply[i] = wrong
    elseif granted then
        -- Calls that can fail come before calls that take: the counter, then the field.
        local token = 0
        if way ~= '' then
            token = draw(KEYS[k + 5], ARGV[a + 3], way)
        end
        local set = type(token) == 'number' and pcall('hset', lock, field, '1')
        local leased = type(set) == 'number' and pcall('pexpire', lock, ARGV[a + 2])
        if type(leased) == 'table' then  -- refused: a lock without a lease must not stay
            pcall('hdel', lock, field)
            set = leased
        elseif leased then
            if placed then
                call('zrem', timeouts, field)
                pcall('zrem', tickets, field)
            end
            if head == field then
                call('lpop', queue)
                for _, other in ipairs(call('zrange', timeouts, 0, -1)) do
                    call('zincrby', timeouts, -wait, other)
                end
            end
        end
        reply[i] = set and type(set) == 'table' and set or token
    else
        local queued = tonumber(life) > 0 and
            enqueue(lock, queue, timeouts, tickets, field, wait, life, placed and head)
        local ttl = call('pttl', lock)
        if type(queued) == 'table' then
            reply[i] = queued
        elseif ttl ~= -2 then
            reply[i] = {ttl}
        else
            reply[i] = {ends - now}
            if someone_went then  -- the new head of the queue may not know it yet
                publish(channel .. ':' .. head, '0')
            end
        end
    end
end
return reply
