"""What tools/mutants --self-test runs: which mutants a source and a script have, and which are stale."""

from .mutation import Accepted, entry_of, read_accepted, stale_ones
from .operators import mutants_of

SOURCE = """\
namespace colock {

// a < b in a comment, "a < b" in a string
bool less(int a, int b)
{
    if (auto const c = a; c + 1 < b && !is_odd(c)) {
        note("x < y", std::min(a, b));  // a < b
        last_ = b;
        return true;
    }
    if (a == 0)
        clear();
    else
        ++count_;
    switch (a) {
    case kind::one: note(1); break;
    default: values_[a] = a;
    }
    return b > 2 ? a : b - 1;
}

template <class T>
void other(std::vector<T> const& of)
{
    for (auto const& each : of)
        each();
}

}
"""

OF_SOURCE = {
    "one": ["c + 1 < b -> c < b", "b - 1 -> b"],
    "comparison": ["c + 1 < b -> c + 1 <= b", "a == 0 -> a != 0", "b > 2 -> b >= 2"],
    "bound": ["a == 0 -> a == 1", "b > 2 -> b > 3"],
    "logic": ["b && !is_odd -> b || !is_odd"],
    "negation": ["!is_odd -> is_odd"],
    "least": ["std::min -> std::max"],
    "truth": ["return true -> return false"],
    "branch": ["if (a == 0) -> if (!(a == 0))"],
    "guard": ["c + 1 < b && !is_odd(c)) -> false && ( c + 1 < b && !is_odd(c)))"],
    "choice": ["a : b - 1 -> b - 1 : a"],
    "index": ["values_[a] -> values_[a + 1]"],
    "statement": [
        'note("x < y", std::min(a, b)); -> { if (false) note("x < y", std::min(a, b)); }',
        "last_ = b; -> { if (false) last_ = b; }",
        "clear(); -> { if (false) clear(); }",
        "++count_; -> { if (false) ++count_; }",
        "note(1); -> { if (false) note(1); }",
        "values_[a] = a; -> { if (false) values_[a] = a; }",
        "each(); -> { if (false) each(); }",
    ],
}

SCRIPT = """\
-- traits: joins 7
-- Takes it if a < b.
local pcall = redis.pcall

-- include publish.lua

local function lowest(a, b)
    if a <= b and not a then
        return a + 1
    end
    return b
end

local taken = pcall('hget', KEYS[1],
    'a < b')
if taken == 0 then
    redis.call('del', KEYS[1])
else
    taken = math.min(taken, 3)
end
return taken
"""

OF_SCRIPT = {
    "include": ["-- include publish.lua -> --"],
    "comparison": ["a <= b -> a < b", "taken == 0 -> taken ~= 0"],
    "bound": ["taken == 0 -> taken == 1"],
    "logic": ["b and not -> b or not"],
    "negation": ["not a -> a"],
    "one": ["a + 1 -> a"],
    "guard": ["if a <= b and not a then -> if false and (a <= b and not a) then"],
    "branch": ["if taken == 0 then -> if not (taken == 0) then"],
    "index": ["KEYS[1] -> KEYS[1 + 1]", "KEYS[1] -> KEYS[1 + 1]"],
    "least": ["math.min -> math.max"],
    "call": ["local taken = pcall('hget', KEYS[1],\n    'a < b') -> local taken = nil"],
    "statement": [
        "redis.call('del', KEYS[1]) -> if false then redis.call('del', KEYS[1]) end",
        "taken = math.min(taken, 3) -> if false then taken = math.min(taken, 3) end",
    ],
}


def check(file: str, text: str, wanted: dict[str, list[str]]) -> None:
    mutants = mutants_of(file, text)
    found = {operator: [m for m in mutants if m.operator == operator] for operator in wanted}
    assert {m.operator for m in mutants} == set(wanted), {m.operator for m in mutants} ^ set(wanted)
    for operator, changes in wanted.items():
        assert len(found[operator]) == len(changes), (operator, [m.apply(text) for m in found[operator]])
        for mutant, change in zip(found[operator], changes, strict=True):
            before, _, after = change.partition(" -> ")
            assert before in text and after in mutant.apply(text), (operator, change, mutant.apply(text))


def check_accepted() -> None:
    mutant = next(m for m in mutants_of("a.cpp", SOURCE) if m.operator == "negation")
    (accepted,) = read_accepted(entry_of(mutant).replace("reason = ''", "reason = 'no test sees it'"))
    assert isinstance(accepted, Accepted) and accepted.covers(mutant)
    assert not stale_ones([accepted], {"a.cpp": SOURCE}.get)
    # Comments and the layout are not the function; another function may change.
    same = SOURCE.replace("// a < b", "// another word").replace("each();", "each(1);")
    assert not stale_ones([accepted], {"a.cpp": "\n" + same}.get)
    # Its own code is, even in a string.
    for changed in (SOURCE.replace("++count_", "--count_"), SOURCE.replace('"x < y"', '"x < z"')):
        assert stale_ones([accepted], {"a.cpp": changed}.get) != []
    assert stale_ones([accepted], {}.get) != []
    # The same function has the same share, wherever it stands.
    moved = next(m for m in mutants_of("a.cpp", "\n\n" + SOURCE) if m.operator == "negation")
    assert moved.share(1000) == mutant.share(1000) and moved.line == mutant.line + 2


def run() -> int:
    check("a.cpp", SOURCE, OF_SOURCE)
    check("a.lua", SCRIPT, OF_SCRIPT)
    check_accepted()
    print("ok")
    return 0
