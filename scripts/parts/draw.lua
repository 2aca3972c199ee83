-- The last of some new tokens; an error if there are none.
local function draw(counter, tokens, floor)
    local token = redis.pcall('incrby', counter, tokens)
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
