-- The number of receivers, or -1 if the server refuses: of the way that has more of them, for who
-- listens to both is there twice.
local function publish(channel, payload)
    local most = 0
    for _, by in ipairs({'publish', 'spublish'}) do
        local receivers = redis.pcall(by, channel, payload)
        most = type(receivers) == 'number' and most ~= -1 and math.max(most, receivers) or -1
    end
    return most
end
