-- The number of receivers, or -1 if the server refuses. Who listens to both counts twice.
local function publish(channel, payload)
    local receivers = 0
    for _, by in ipairs({'publish', 'spublish'}) do
        local more = redis.pcall(by, channel, payload)
        receivers = type(more) == 'number' and receivers ~= -1 and receivers + more or -1
    end
    return receivers
end
