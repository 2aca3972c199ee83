-- Takes the write side of each read-write lock that is free, or that this same ownership has taken
-- already.
-- KEYS for each lock: lock, fencing counter; without fencing the lock alone
-- ARGV 1 floor of the counters in microseconds, '' without fencing;
--      then for each lock: field with ':write', lease in ms, number of tokens
-- Reply: a list, for each lock an integer if granted, the last token taken (0 without fencing); a
--        list with the lock's PTTL if somebody else holds it; an error if the key does not hold a
--        lock.
-- Idempotent: a repeat finds its field, renews the lease and takes new tokens.
local call, pcall = redis.call, redis.pcall
local floor = tonumber(ARGV[1])
local width = floor and 2 or 1

-- include draw.lua

local reply = {}
for i = 1, #KEYS / width do
    local lock = KEYS[width * i - width + 1]
    local field, lease = ARGV[3 * i - 1], ARGV[3 * i]
    local mine = 1
    if call('exists', lock) == 1 then
        mine = pcall('hexists', lock, field)
    end
    if mine == 0 then
        reply[i] = {call('pttl', lock)}
    elseif mine ~= 1 then
        reply[i] = mine
    else
        -- Calls that can fail come before calls that take: the counter first.
        local token = 0
        if floor then
            token = draw(KEYS[2 * i], ARGV[3 * i + 1], floor)
        end
        if type(token) == 'number' then
            call('hset', lock, 'mode', 'write', field, 1)
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
