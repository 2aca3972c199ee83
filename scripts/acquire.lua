-- traits: joins 5, draws_tokens
-- Takes each lock that is free, or that this same ownership has taken already.
-- KEYS for each lock: lock, fencing counter; without fencing the lock alone
-- ARGV 1 floor of the counters in microseconds, '' without fencing;
--      then for each lock: field, lease in ms, number of tokens, and if the client knows that it
--      may have to wait, 'place:channel', else ''. The channel is the lock's, the place the
--      client's in the wait list if it has to wait: '' for none, 'last', 'first', 'check' for the
--      place that it may have, else the last, or 'behind' for the last even if the lock is free.
--      In the form 'place|n:entry and channel' the n bytes of its entry follow: a release can give
--      it the lock, so it is put into the list once, and 'check' never does
-- Reply: a list, for each lock an integer if granted, the last token taken (0 without fencing); a
--        list if it has to wait: the lock's PTTL (-1 if the lock is free, for those before); how
--        many wait, as far as it is known; and the sum of 1 if the client stands in the wait list, 2
--        if the holder's release tells the first of the list, and 4 if the client is the first;
--        an error if the key does not hold a lock.
-- If the lock's holder may keep it after its release, the script tells it that others wait: when the
-- first joins the wait list, and when a lock is granted that has such a list.
-- Idempotent: a repeat finds its field, renews the lease and takes new tokens. A repeat of a
-- refusal can put the client into the list twice, so it says 'check'.
local call, pcall = redis.call, redis.pcall
local floor = tonumber(ARGV[1])
local width = floor and 2 or 1

-- include crowd.lua
-- include draw.lua
-- include none_exist.lua
-- include publish.lua
-- include wait_list.lua
-- include stand.lua
-- include refuse.lua
-- include tell_holder.lua

local reply, locks = {}, {}
for i = 1, #KEYS / width do
    locks[i] = KEYS[width * i - width + 1]
end
local taken = none_exist(locks) and {}  -- of locks that were all free, those taken since
for i, lock in ipairs(locks) do
    local field, lease = ARGV[4 * i - 2], ARGV[4 * i - 1]
    local place, channel, entry = place_and_channel(ARGV[4 * i + 1])
    local mine, left = 1, -2
    if not taken or taken[lock] then
        left = call('pttl', lock)
    end
    if left ~= -2 then
        mine = pcall('hexists', lock, field)
    end
    local behind = left == -2 and place == 'behind' and
        join(wait_list(channel), entry or client_of(field), false)
    if behind then
        reply[i] = {-1, behind, 3}
    elseif mine == 0 then
        local holder = pcall('hkeys', lock)[1]
        local refused = refuse(left, holder, entry or client_of(field), channel, place)
        if refused[2] == 1 and refused[3] == 7 then  -- the first in the list
            tell_holder(holder, channel)
        end
        reply[i] = refused
    elseif mine ~= 1 then
        reply[i] = mine
    else
        -- Calls that can fail come before calls that take: the counter first.
        local token = 0
        if floor then
            token = draw(KEYS[2 * i], ARGV[4 * i], floor)
        end
        if type(token) == 'number' then
            call('hset', lock, field, '1')
            if taken then
                taken[lock] = true
            end
            local set = pcall('pexpire', lock, lease)
            if set ~= 1 then  -- refused: a lock without a lease must not stay
                pcall('hdel', lock, field)
                token = set
            elseif channel ~= '' then
                if place == 'check' or entry then
                    pcall('lrem', wait_list(channel), 1, entry or client_of(field))
                end
                if may_keep(field) and pcall('exists', wait_list(channel)) == 1 then
                    tell_holder(field, channel)
                end
            end
        end
        reply[i] = token
    end
end
return reply
