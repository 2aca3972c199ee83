-- The last of some new tokens; an error if there are none. Without a floor the counter is Redisson's,
-- whose MultiLock may give it a lease; it must not begin again.
local function draw(counter, tokens, floor)
    local token = redis.pcall('incrby', counter, tokens)
    if floor == 0 and type(token) == 'number' and redis.call('pttl', counter) >= 0 then
        redis.call('set', counter, string.format('%.0f', token))
    end
    if type(token) == 'number' and token - tokens < floor then
        local time = redis.call('time')
        -- Never lower than before: the clock of this server, or the one of the floor, may have been
        -- set back.
        local least = math.max(token - tokens, floor, time[1] * 1000000 + time[2])
        token = least + tokens
        redis.call('set', counter, string.format('%.0f', token))
    end
    return token
end
