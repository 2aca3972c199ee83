-- The number of those who subscribe to the channel, by the way that has more of them, because a
-- client may listen to both; nothing without a channel, or if the server refuses.
local function crowd(channel)
    local most
    for _, by in ipairs(channel ~= '' and {'numsub', 'shardnumsub'} or {}) do
        local found = redis.pcall('pubsub', by, channel)[2]
        most = found and math.max(most or 0, found) or most
    end
    return most
end
