-- The number of receivers, or -1 if the server refuses.
local function publish(channel, payload)
    local receivers = redis.pcall('spublish', channel, payload)
    return type(receivers) == 'number' and receivers or -1
end
