-- Needs `tell`.
-- The first of the list, or one that had the turn, is not there any more. Tells those that can get in;
-- if nobody can, the next one, which then listens to the semaphore's channel for those who do not know
-- the list.
local function tell_next(semaphore, list, box, left)
    if not tell(list, box, semaphore, left, 0) then
        tell(list, box, semaphore, 1, 0, true)
    end
end
