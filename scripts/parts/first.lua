-- Needs `call`, `pcall`, `now`, `text` and `crowd`.
-- Returns the first in the queue, and when it counts as dead. Removes the dead tickets before it. A
-- ticket of colock lives while heartbeats keep it alive, and a ticket that asks is alive; a ticket
-- of Redisson lives until its timeout, and while it listens to its channel: then it gets a new one,
-- because Redisson does not move the timeouts of those that wait. When a ticket of colock is removed, the tickets behind get
-- earlier timeouts, by the wait, as when it leaves.
local function first(queue, timeouts, tickets, wait, channel, asker)
    local head, ends, someone_went, sooner = pcall('lindex', queue, 0), nil, false, 0
    while type(head) == 'string' do
        local life = pcall('zscore', tickets, head)
        ends = life or pcall('zscore', timeouts, head)
        if type(ends) == 'table' then
            return ends
        elseif not ends then
            ends = now + wait
            pcall('zadd', timeouts, text(ends + sooner), head)
        elseif not life then
            ends = ends - sooner
        end
        if tonumber(ends) > now or head == asker then
            break
        end
        if not life and (crowd(channel .. ':' .. head) or 0) > 0 then
            ends = now + wait
            pcall('zadd', timeouts, text(ends + sooner), head)
            break
        end
        call('lpop', queue)
        pcall('zrem', tickets, head)
        if pcall('zrem', timeouts, head) == 1 and life then
            sooner = sooner + wait
        end
        head, someone_went = call('lindex', queue, 0), true
    end
    if sooner > 0 then
        for _, behind in ipairs(pcall('zrange', timeouts, 0, -1)) do
            pcall('zincrby', timeouts, -sooner, behind)
        end
    end
    return head, ends, someone_went
end
