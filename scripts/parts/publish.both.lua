-- The number of receivers, or -1 if the server refuses. It counts only the way with more receivers,
-- because a client that listens both ways is counted twice.
local function publish(channel, payload)
    local most = 0
    for _, by in ipairs({'publish', 'spublish'}) do
        local receivers = redis.pcall(by, channel, payload)
        most = type(receivers) == 'number' and most ~= -1 and math.max(most, receivers) or -1
    end
    return most
end
