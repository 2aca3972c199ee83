-- The number of those who subscribe to the channel; nothing without a channel, or if the server
-- refuses.
local function crowd(channel)
    if channel ~= '' then
        return redis.pcall('pubsub', 'numsub', channel)[2]
    end
end
