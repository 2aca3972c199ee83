-- Publishes what each leader says of itself, if it still leads.
-- KEYS for each leader: lock, leader's words
-- ARGV for each leader: field, token, words, life of the words in ms
-- Reply: a list, for each leader 1, or 0 if the field does not have the lock, and then nothing is
--        changed; an error if a key is of another type.
-- Idempotent: a repeat sets the same words again. A field is of one leader alone: its client hands
-- the lock of a leader over to nobody.
local call, pcall = redis.call, redis.pcall
local reply = {}
for i = 1, #KEYS / 2 do
    local field, words = ARGV[4 * i - 3], KEYS[2 * i]
    reply[i] = pcall('hexists', KEYS[2 * i - 1], field)
    if reply[i] == 1 then
        local set = pcall('hset', words, 'field', field)
        if type(set) == 'table' then
            reply[i] = set
        else
            call('hset', words, 'token', ARGV[4 * i - 2])
            call('hset', words, 'words', ARGV[4 * i - 1])
            call('pexpire', words, ARGV[4 * i])
        end
    end
end
return reply
