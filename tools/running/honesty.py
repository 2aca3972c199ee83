"""Finds, in what tests of ctest have printed, cases that were skipped or have checked nothing."""

import re
from typing import NamedTuple

# By ctest's name of the test and Boost.Test's name of the case.
CHECKS_NOTHING: dict[str, str] = {}


class Skip(NamedTuple):
    case: str
    reason: str
    # In these presets alone; none means each.
    presets: tuple[str, ...] = ()


SANITIZED = ("asan", "tsan")
SKIPPED = (
    Skip(
        r"chaos\.(faults|fence)/alone.*",
        "tools/chaos has the time for it; `each_once` has the same faults",
    ),
    Skip(r"chaos\.versions/.*", "needs a worker of another version: tools/chaos --against"),
    Skip(
        r"chaos\.(clocks|hangs)/.*",
        "no library can be loaded before the runtime of a sanitizer",
        SANITIZED,
    ),
)

BLOCK = re.compile(
    r"^\d+/\d+ Testing: (?P<test>\S+)\n.*?^Output:\n-+\n(?P<output>.*?)^<end of output>",
    re.MULTILINE | re.DOTALL,
)
NOTHING = re.compile(r"Test case (.+) did not check any assertions")
# A filter disables what belongs to another test of ctest.
SKIPPED_CASE = re.compile(r'Test \w+ "([^"]+)" is skipped because (?!disabled)(.*)')
# unittest's last line: OK (skipped=2)
SKIPPED_METHODS = re.compile(r"^(?:OK|FAILED) \(.*?skipped=(\d+).*\)$", re.MULTILINE)


def is_allowed(preset: str, case: str) -> bool:
    return any(
        re.fullmatch(skip.case, case) and (not skip.presets or preset in skip.presets)
        for skip in SKIPPED
    )


def complaints(preset: str, log: str) -> list[str]:
    found = []
    for block in BLOCK.finditer(log):
        test, output = block["test"], block["output"]
        label = test.partition(".")[0]
        for case in NOTHING.findall(output):
            if f"{label}.{case}" not in CHECKS_NOTHING:
                found.append(f"{label}.{case} has checked nothing")
        for case, why in SKIPPED_CASE.findall(output):
            if not is_allowed(preset, f"{label}.{case}"):
                found.append(f"{label}.{case} was skipped: {why}")
        found += [f"{test} has skipped {count} cases" for count in SKIPPED_METHODS.findall(output)]
    return found


def self_test() -> None:
    log = """
1/4 Testing: unit.one
1/4 Test: unit.one
Command: "x"
Output:
----------------------------------------------------------
Test suite "two" is skipped because disabled
a.cpp(3): Entering test case "seen"
Test case one/empty did not check any assertions
Test case "one/absent" is skipped because precondition failed
<end of output>
2/4 Testing: cli.run
2/4 Test: cli.run
Output:
----------------------------------------------------------
Ran 5 tests in 0.1s

OK (skipped=2)
<end of output>
3/4 Testing: cli.watch
Output:
----------------------------------------------------------
OK
<end of output>
4/4 Testing: chaos.clocks
Output:
----------------------------------------------------------
x.cpp(9): Test case "clocks/of_clients" is skipped because precondition failed
<end of output>
"""
    everywhere = [
        "unit.one/empty has checked nothing",
        "unit.one/absent was skipped: precondition failed",
        "cli.run has skipped 2 cases",
    ]
    assert complaints("asan", log) == everywhere, complaints("asan", log)
    clocks = "chaos.clocks/of_clients was skipped: precondition failed"
    assert complaints("dev", log) == [*everywhere, clocks], complaints("dev", log)


if __name__ == "__main__":
    self_test()
