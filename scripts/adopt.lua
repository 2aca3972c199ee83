-- traits: draws_tokens
-- Moves each lock from the ownership that a claim names to a new one.
-- KEYS for each lock: lock, fencing counter; without fencing the lock alone
-- ARGV 1 how tokens are drawn: 'clock', 'redisson', or '' without fencing;
--      then for each lock: the claim's field, the new field, lease in ms
-- Reply: a list, for each lock an integer if it has moved, the new token (0 without fencing); a
--        list with the lock's PTTL if the claim's field is gone; an error if the key does not hold
--        a lock.
-- Idempotent: a repeat finds the new field, sets the lease again and takes a new token.
local call, pcall = redis.call, redis.pcall
local way, clock = ARGV[1]
local width = way ~= '' and 2 or 1

-- include draw.lua

local reply = {}
for i = 1, #KEYS / width do
    local lock = KEYS[width * i - width + 1]
    local from, to, lease = ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
    local has_moved = pcall('hexists', lock, to)
    local is_there = has_moved == 1 and 1 or pcall('hexists', lock, from)
    if is_there == 0 then
        reply[i] = {call('pttl', lock)}
    elseif is_there ~= 1 then
        reply[i] = is_there
    else
        local token = 0
        if way ~= '' then
            token = draw(KEYS[2 * i], '1', way)
        end
        if type(token) == 'number' then
            call('hset', lock, to, '1')
            if from ~= to then
                call('hdel', lock, from)
            end
            local set = pcall('pexpire', lock, lease)
            if set ~= 1 then  -- refused: a lock without a lease must not stay
                pcall('hdel', lock, to)
                token = set
            end
        end
        reply[i] = token
    end
end
return reply
