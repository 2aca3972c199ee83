-- traits: joins 9, draws_tokens
-- Takes each lock that is free, or that this same ownership has taken already.
-- KEYS for each lock: lock, fencing counter; without fencing the lock alone
-- ARGV 1 how tokens are drawn: 'clock', 'redisson', or '' without fencing;
--      then for each lock: field, lease in ms, number of tokens, and if the client knows that it
--      may have to wait, 'place:channel', else ''. The channel is the lock's, the place the
--      client's in the wait list if it has to wait: '' for none, 'last', 'first', 'check' for the
--      place that it may have, else the last, or 'behind' for the last even if the lock is free.
-- Reply: a list, for each lock an integer if granted: the last token taken, with a minus sign if it
--        is only one of several that were asked for (0 without fencing); a list if it has to wait:
--        the lock's PTTL (-1 if the lock is free, for those before); how many wait, as far as it is
--        known; and the sum of 1 if the client stands in the wait list, 2 if the holder's release
--        tells the first of the list, and 4 if the client is the first; an error if the key does
--        not hold a lock.
-- Idempotent: a repeat finds its field, renews the lease and takes new tokens. A repeat of a
-- refusal can put the client into the list twice, so it says 'check'.
local call, pcall = redis.call, redis.pcall

local mode, time
local function holder_of(lock)
    return pcall('hkeys', lock)[1]
end

-- include draw.lua
-- include take.lua
