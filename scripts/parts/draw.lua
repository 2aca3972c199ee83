-- Needs `clock`, the server's time in microseconds, or nothing if the script has not asked yet.
-- The last of some new tokens, or an error. Redisson's counter only counts; Redisson's MultiLock may
-- give it a lease, but it must not begin again. Another counter follows the server's clock in
-- microseconds, so that tokens rise also if the server has lost it or an older one has come back. It
-- may be 10 ms behind: to set it for each token would cost too much. If it is ahead of the clock,
-- the tokens are only one, with a minus sign, so that no clients together drive it further.
local function draw(counter, tokens, way)
    local token = redis.pcall('incrby', counter, tokens)
    if type(token) ~= 'number' then
        return token
    elseif way == 'redisson' then
        if redis.call('pttl', counter) >= 0 then
            redis.call('set', counter, string.format('%.0f', token))
        end
        return token
    end
    if not clock then
        local time = redis.call('time')
        clock = time[1] * 1000000 + time[2]
    end
    if token < clock - 10000 then
        token = clock + tokens - 1  -- the first is the clock: earlier tokens are lower
        redis.call('set', counter, string.format('%.0f', token))
    elseif tokens ~= '1' and token - tokens > clock then
        token = -redis.call('decrby', counter, tokens - 1)
    end
    return token
end
