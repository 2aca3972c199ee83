-- Reads who leads, and what it says of itself.
-- KEYS for each leader: lock, leader's words
-- Reply: a list, for each leader 0 if nobody leads, 1 if the leader has said nothing, or a list with
--        its token and its words; an error if a key is of another type.
-- Idempotent; writes nothing. The words count only while their field has the lock, so those of an
-- earlier leader are never read.
local call, pcall = redis.call, redis.pcall
local reply = {}
for i = 1, #KEYS / 2 do
    local lock, words = KEYS[2 * i - 1], KEYS[2 * i]
    local field = pcall('hget', words, 'field')
    local leads = type(field) == 'table' and field or pcall('hexists', lock, field or '')
    if leads == 1 then
        reply[i] = {tonumber(call('hget', words, 'token')), call('hget', words, 'words')}
    elseif leads == 0 then
        reply[i] = call('exists', lock)
    else
        reply[i] = leads
    end
end
return reply
