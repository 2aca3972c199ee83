-- traits: joins 9, draws_tokens
-- Takes each lock that is free, or that this same ownership has taken already. A lock that is free
-- is anybody's, unless somebody was told that it is its turn: then who waits, waits behind that one.
-- KEYS for each lock: lock, fencing counter; without fencing the lock alone
-- ARGV 1 how tokens are drawn: 'clock', 'redisson', or '' without fencing;
--      then for each lock: field, lease in ms, number of tokens; the wait list, '' if the client has
--      never stood there; how the names of the mailboxes begin; and since when the client stands in
--      the list, '0' if it has not stood there yet, '-' if it waits behind those who have the turn, but
--      could not be told, and '' if it takes whatever is free.
-- Reply: a list, for each lock an integer if granted: the last token taken, with a minus sign if it
--        is only one of several that were asked for (0 without fencing); a list if it has to wait:
--        the ms until something changes of which no message tells, -1 if nothing does; since when
--        the client stands in the wait list, else 0; and the sum of 1 if it stands there, 2 if it is
--        the first, and 4 if the holder's release does not tell the list; an error if the key does
--        not hold a lock.
-- Idempotent: a repeat finds its field, renews the lease and takes new tokens, or finds its entry.
local call, pcall = redis.call, redis.pcall

local mode, clock

-- include draw.lua
-- include take.lua
