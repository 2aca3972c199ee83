-- Needs `publish` and `tell`.
-- Tells the waiters how many permits are left: by the channel all that listen there, and of the list
-- those that can get in. Returns the number of receivers as `publish` does. Redisson reads no
-- negative number.
local function tell_left(semaphore, channel, list, box, left)
    if left < 0 then
        return 0
    end
    local receivers = publish(channel, string.format('%.0f', left))
    tell(list, box, semaphore, left, receivers)
    return receivers
end
