-- An entry of a wait list is the id of a client, or `client:permits` if it wants several permits.
local find, sub = string.find, string.sub

-- The client that a field or an entry belongs to.
local function client_of(field)
    return string.match(field, '^[^:]*')
end

-- The client of an entry, and how many permits it wants.
local function who_wants(entry)
    local colon = find(entry, ':', 1, true)
    if not colon then
        return entry, 1
    end
    return sub(entry, 1, colon - 1), tonumber(sub(entry, colon + 1)) or 1
end

-- Whether the list is still there, with the entry if there is one to look for. It lives for 100 s more
-- at least, and mostly for two minutes. A write for each would cost more than to look.
local function keep(list, entry)
    if entry and type(redis.pcall('lpos', list, entry)) ~= 'number' then
        return false
    end
    local left = redis.pcall('pttl', list)
    if type(left) == 'number' and left < 100000 then
        return redis.pcall('pexpire', list, 120000) ~= 0
    end
    return true
end

-- Puts the entry of a client into the list, before or behind all others. Returns how many it has,
-- or nothing if the server refuses. The list ends after two minutes in which nobody joins it or
-- keeps it alive.
local function join(list, entry, is_first)
    local length
    if is_first then
        length = redis.pcall('lpush', list, entry)
    else
        length = redis.pcall('rpush', list, entry)
    end
    if type(length) == 'number' then
        if length == 1 then
            redis.pcall('pexpire', list, 120000)
        else
            keep(list)
        end
        return length
    end
end
