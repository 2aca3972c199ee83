-- Looks after locks that are waited for: finds those that their clients have to ask for, and keeps
-- the wait lists alive.
-- KEYS the locks
-- ARGV 1 limit in ms, 2 how the names of the mailboxes begin; then for each lock: wait list; the
--      client's entry there, '' if it has none or does not look for it now; and the sum of 1 if the
--      client listens to the lock's channel, and 2 if the list is to live on
-- Reply: a list, for each lock whose client has something to do its place in KEYS and after how many
--        ms to ask: if the lock is free, when the turn of others ends; 0 if the entry is not there or was
--        told, if the client is the first and does not listen to a holder that does not tell the list,
--        and if the key has no lease; else, of the first, the rest of the holder's lease if that is
--        within the limit.
-- Idempotent.
local call, pcall = redis.call, redis.pcall
local limit, box, clock = tonumber(ARGV[1]), ARGV[2]

-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include is_foreign.lua

-- After how many ms the client asks for a lock that is held; nothing if it need not. One without an
-- entry, which is told by the lock's channel alone, asks when the lease ends.
local function ask_in(lock, left, list, entry, hears, keeps)
    if entry == '' then
        return left < limit and left
    end
    local score = score_of(list, entry)
    if not score or score < 0 then
        return 0
    end
    if keeps then
        pcall('pexpire', list, '600000')
    end
    local foreign, ends = is_foreign(lock), left < limit
    local is_first = (foreign or ends) and first_of(list) == entry
    if foreign and is_first and not hears then
        return 0
    elseif foreign and not is_first then
        tell(list, box, lock, 1, 0)  -- the first may be dead, and hears nothing then
    end
    return is_first and ends and left
end

local reply = {}
for i, lock in ipairs(KEYS) do
    local list, entry, sum = unpack(ARGV, 3 * i, 3 * i + 2)
    local hears, keeps = sum % 2 == 1, tonumber(sum) >= 2
    local left = call('pttl', lock)
    local ask
    if left == -2 then
        local wanted, last = kept_for_others(list, entry)
        ask = wanted == 0 and 0 or math.max(math.ceil((last - now_us()) / 1000), 0)
    elseif left == -1 then
        ask = 0
    else
        ask = ask_in(lock, left, list, entry, hears, keeps)
    end
    if ask then
        reply[#reply + 1] = i
        reply[#reply + 1] = ask
    end
end
return reply
