-- Needs `crowd`, `publish`, `who_wants` and `join`.
-- Tells the first client of the list that it is its turn, and removes it. Clients that are not
-- connected are removed and passed over. Returns whether one was told.
-- Of permits it tells those that can get in, until what they want is `enough`. A client that wants
-- more than is `left` keeps its place, if it is connected. Behind 64 of these it tells nobody: each
-- costs the server two calls, and those behind ask by themselves.
local function tell_first(list, channel, message, left, enough)
    left, enough = left or 1, enough or 1
    local told, at = false, 0  -- before `at` stand those that want more
    for _ = 1, 4096 do  -- a bound for a list of clients that are all dead
        if left < 1 or enough < 1 or at == 64 then
            return told
        end
        local entry
        if at == 0 then
            entry = redis.pcall('lpop', list)
        else
            entry = redis.pcall('lindex', list, at)
        end
        if type(entry) ~= 'string' then
            return told
        end
        local client, wanted = who_wants(entry)
        if wanted > left then
            local heard = crowd(channel .. ':' .. client) ~= 0
            if at == 0 and heard then
                join(list, entry, true)
            elseif at > 0 and not heard then
                redis.pcall('lrem', list, 1, entry)
            end
            at = at + (heard and 1 or 0)
        else
            if at > 0 then
                redis.pcall('lrem', list, 1, entry)
            end
            if publish(channel .. ':' .. client, message) > 0 then
                told, left, enough = true, left - wanted, enough - wanted
            end
        end
    end
    return told
end

-- The same, of permits: if nobody can get in, it tells the first client, which then listens to the
-- semaphore's channel for those who do not know the list.
local function tell_first_or_front(list, channel, left)
    if not tell_first(list, channel, 0, left, left) then
        tell_first(list, channel, 0, 2147483648, 1)
    end
end
