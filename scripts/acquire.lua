-- Takes a free lock, or finds that this very ownership took it already.
-- KEYS 1 lock  [2 fencing counter]
-- ARGV 1 field  2 lease in ms  [3 number of tokens  4 floor in microseconds]
-- Reply: an integer if granted, the last token taken (0 without a counter);
--        a list with the lock's PTTL if somebody else holds it.
-- Idempotent: a repeat finds its field, renews the lease and takes new tokens.
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return {redis.call('pttl', KEYS[1])}
end
local token = 0
if KEYS[2] then
    token = redis.call('incrby', KEYS[2], ARGV[3])
    if token <= tonumber(ARGV[4]) then
        local now = redis.call('time')
        token = now[1] * 1000000 + now[2] + ARGV[3]
        redis.call('set', KEYS[2], string.format('%.0f', token))
    end
end
redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return token
