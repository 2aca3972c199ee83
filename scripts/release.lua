-- Gives an ownership back and tells those who wait.
-- KEYS 1 lock
-- ARGV 1 field  2 channel
-- Reply: the number of receivers, or -1 if the server refuses to publish; nil if the field is gone.
-- Idempotent: a repeat finds no field and does nothing.
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
    return nil
end
local receivers = redis.pcall('publish', ARGV[2], '0')
if type(receivers) == 'table' then
    return -1
end
return receivers
