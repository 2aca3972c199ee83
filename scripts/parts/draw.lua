-- The last of some new tokens; an error if there are none to be had.
local function draw(counter, tokens, floor)
    local token = redis.pcall('incrby', counter, tokens)
    if type(token) == 'number' and token - tokens < floor then
        local time = redis.call('time')
        -- Not below what it was: this server's clock, or that of the floor, may have been set back.
        local least = math.max(token - tokens, floor, time[1] * 1000000 + time[2])
        token = least + tokens
        redis.call('set', counter, string.format('%.0f', token))
    end
    return token
end
