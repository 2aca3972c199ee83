-- Needs `publish`.
-- Tells the waiters how many permits are left, and returns the number of receivers as `publish`
-- does. Redisson reads no negative number.
local function tell_left(channel, left)
    return left >= 0 and publish(channel, string.format('%.0f', left)) or 0
end
