-- Needs wait_list.lua.
-- Takes the entry out of the list. Returns whether the next one has to be told: it was told itself,
-- or would have been.
local function leave(list, entry)
    local score = score_of(list, entry)
    if not score then
        return false
    end
    local is_next = score < 0 or first_of(list) == entry
    redis.pcall('zrem', list, entry)
    return is_next
end
