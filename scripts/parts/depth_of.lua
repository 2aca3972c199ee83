-- How many lease keys the value of a field stands for, up to a limit: a hash that is no lock may have
-- any number there, and a script that counted so far would stop the server. Of an owner that has entered
-- more often, the other lease keys end by themselves.
local function depth_of(value)
    return math.min(tonumber(value) or 0, 1000)
end
