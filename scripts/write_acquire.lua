-- Takes the write side of each read-write lock that is free, or that this same ownership has taken
-- already.
-- KEYS for each lock: lock, fencing counter; without fencing the lock alone
-- ARGV 1 floor of the counters in microseconds, '' without fencing;
--      then for each lock: field with ':write', lease in ms, number of tokens, channel whose
--      subscribers are counted ('' for none)
-- Reply: a list, for each lock an integer if granted, the last token taken (0 without fencing); a
--        list if somebody else holds it: the lock's PTTL and, if the server counts them, the number
--        of subscribers; an error if the key does not hold a lock.
-- Idempotent: a repeat finds its field, renews the lease and takes new tokens.
local call, pcall = redis.call, redis.pcall
local floor = tonumber(ARGV[1])
local width = floor and 2 or 1

-- include crowd.lua
-- include draw.lua
-- include none_exists.lua

local function lock_of(i)
    return KEYS[width * i - width + 1]
end

local reply, count = {}, #KEYS / width
local taken = none_exists(count, lock_of) and {}  -- of locks that were all free, those taken since
for i = 1, count do
    local lock = lock_of(i)
    local field, lease = ARGV[4 * i - 2], ARGV[4 * i - 1]
    local mine, left = 1, -2
    if not taken or taken[lock] then
        left = call('pttl', lock)
    end
    if left ~= -2 then
        mine = pcall('hexists', lock, field)
    end
    if mine == 0 then
        reply[i] = {left, crowd(ARGV[4 * i + 1])}
    elseif mine ~= 1 then
        reply[i] = mine
    else
        -- Calls that can fail come before calls that take: the counter first.
        local token = 0
        if floor then
            token = draw(KEYS[2 * i], ARGV[4 * i], floor)
        end
        if type(token) == 'number' then
            call('hset', lock, 'mode', 'write', field, '1')
            if taken then
                taken[lock] = true
            end
            local set = pcall('pexpire', lock, lease)
            if set ~= 1 then  -- refused: a lock without a lease must not stay
                pcall('hdel', lock, field, 'mode')
                token = set
            end
        end
        reply[i] = token
    end
end
return reply
