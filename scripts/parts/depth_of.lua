-- How many lease keys the value of a field stands for. Re-entry needs less than the limit, but a hash
-- that is no lock may have any number there, and a script that counted so far would stop the server.
local function depth_of(value)
    return math.min(tonumber(value) or 0, 1000)
end
