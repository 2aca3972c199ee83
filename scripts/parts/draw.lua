-- The last of some new tokens; an error if there are none to be had.
local function draw(counter, tokens, floor)
    local token = redis.pcall('incrby', counter, tokens)
    if type(token) == 'number' and token - tokens < floor then
        local now = redis.call('time')
        token = now[1] * 1000000 + now[2] + tokens
        redis.call('set', counter, string.format('%.0f', token))
    end
    return token
end
