-- The list of the clients that wait for a lock, or to write, in the order of their turns. It lies
-- in the lock's slot, and the lock's channel says its name. It is no key of the call, so that a lock
-- can be taken and released where the server refuses the list or moves the slot.
local find, sub = string.find, string.sub
local function wait_list(channel)
    local at, last = find(channel, 'redisson_lock__channel:', 1, true)
    if not at then
        at, last = find(channel, 'redisson_rwlock:', 1, true)
    end
    local list = 'colock_wait:' .. sub(channel, (last or 0) + 1)
    return (at or 1) == 1 and list or sub(channel, 1, at - 1) .. list
end

-- The place and the lock's channel that 'place:channel' names; twice '' if it is empty.
local function place_and_channel(text)
    if text == '' then
        return '', ''
    elseif string.byte(text) == 58 then  -- a colon
        return '', sub(text, 2)
    end
    local colon = find(text, ':', 1, true) or 1
    return sub(text, 1, colon - 1), sub(text, colon + 1)
end

-- The client that a field belongs to.
local function client_of(field)
    return string.match(field, '^[^:]*')
end

-- Puts the client into the list, before or behind all others. Returns how many it has, or nothing
-- if the server refuses. Without a client that keeps it alive the list ends after a minute.
local function join(list, client, is_first)
    local length
    if is_first then
        length = redis.pcall('lpush', list, client)
    else
        length = redis.pcall('rpush', list, client)
    end
    if type(length) == 'number' then
        if length == 1 then
            redis.pcall('pexpire', list, 60000)
        end
        return length
    end
end
