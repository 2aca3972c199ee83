-- The list of the clients that wait for a lock, to write, or for permits, in the order of their
-- turns. It lies in the key's slot, and the key's channel says its name. It is no key of the call, so
-- that a lock can be taken and released where the server refuses the list or moves the slot.
--
-- An entry is the id of a client; `client:permits` if it wants several permits; or the field that a
-- waiter will have, a bar, and all that a release needs to give it the lock; see `pass`.
local find, sub = string.find, string.sub
local function wait_list(channel)
    local at, last = find(channel, 'redisson_lock__channel:', 1, true)
    if not at then
        at, last = find(channel, 'redisson_rwlock:', 1, true)
    end
    if not at then
        at, last = find(channel, 'redisson_sc:', 1, true)
    end
    local list = 'colock_wait:' .. sub(channel, (last or 0) + 1)
    return (at or 1) == 1 and list or sub(channel, 1, at - 1) .. list
end

-- The place, the lock's channel and the entry that 'place:channel' or 'place|n:entry of n bytes and
-- channel' names; twice '' if it is empty, and no entry in the first form.
local function place_and_channel(text)
    if text == '' then
        return '', ''
    elseif string.byte(text) == 58 then  -- a colon
        return '', sub(text, 2)
    end
    local colon = find(text, ':', 1, true) or 1
    local bar = find(text, '|', 1, true)
    if bar and bar < colon then
        local ends = colon + (tonumber(sub(text, bar + 1, colon - 1)) or 0)
        return sub(text, 1, bar - 1), sub(text, ends + 1), sub(text, colon + 1, ends)
    end
    return sub(text, 1, colon - 1), sub(text, colon + 1)
end

-- The client that a field or an entry belongs to.
local function client_of(field)
    return string.match(field, '^[^:]*')
end

-- The client of an entry; how many permits it wants, several if the entry is `client:permits`; and
-- of an entry with a field the field's number.
local function who_wants(entry)
    local colon = find(entry, ':', 1, true)
    if not colon then
        return entry, 1
    end
    local client, bar = sub(entry, 1, colon - 1), find(entry, '|', 1, true)
    if bar then
        return client, 1, sub(entry, colon + 1, bar - 1)
    end
    return client, tonumber(sub(entry, colon + 1)) or 1
end

-- Whether the list is still there, with the entry if there is one to look for. It lives for a minute
-- more.
local function keep(list, entry)
    if entry and type(redis.pcall('lpos', list, entry)) ~= 'number' then
        return false
    end
    local left = redis.pcall('pttl', list)
    if type(left) == 'number' and left < 30000 then
        return redis.pcall('pexpire', list, 60000) ~= 0
    end
    return true
end

-- Puts the entry of a client into the list, before or behind all others. Returns how many it has,
-- or nothing if the server refuses. Without a client that keeps it alive the list ends after a
-- minute.
local function join(list, entry, is_first)
    local length
    if is_first then
        length = redis.pcall('lpush', list, entry)
    else
        length = redis.pcall('rpush', list, entry)
    end
    if type(length) == 'number' then
        if length == 1 then
            redis.pcall('pexpire', list, 60000)
        end
        return length
    end
end
