-- Needs `publish`, `wait_list` and `tell_first`.
-- Tells the waiters how many permits are left, after `more` of them have come: by the channel all
-- that listen there, and of the wait list those that can get in. If more are left than have come, it
-- tells one client more, because somebody's message may have been lost. Returns the number of
-- receivers as `publish` does. Redisson reads no negative number.
local function tell_left(channel, left, more)
    if left < 0 then
        return 0
    end
    local receivers = publish(channel, string.format('%.0f', left))
    if more > 0 then
        tell_first(wait_list(channel), channel, receivers, left, more + 1)
    end
    return receivers
end
