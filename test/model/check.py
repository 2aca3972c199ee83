#!/usr/bin/python3
"""Checks the model of the lock's protocol with spin, exhaustively.

    check.py                 all configurations and mutants
    check.py NAME...         these
    check.py --list          their names

A configuration has to be free of violations in all its states. A mutant, the same with one rule
taken out of the protocol, has to be rejected by the assertion that is about that rule. Exits 1 if
it is otherwise, and shows the shortest schedule that leads to what was not expected; 77 without
spin or a C compiler.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

MODEL = pathlib.Path(__file__).resolve().parent / "lock.pml"
COMPILER = next((c for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c)), None)
SKIPPED = 77

# Time stands still while anybody has something to do, and nobody renews: leases outlast holds.
TIMELY = "TIMELY LISTEN LEASE=3 RENEW_AT=0 LONGEST_TENURE=1 "


class Configuration(NamedTuple):
    about: str
    switches: str


CONFIGURATIONS = {
    "exclusion": Configuration(
        "3 clients, hand-over, any delay: mutual exclusion", "CLIENTS=3 LEASE=3"
    ),
    "reconnect": Configuration(
        "2 clients, links break, late duplicates: no late step touches a later ownership",
        "CLIENTS=2 LEASE=2 DRIFT=0 BREAKS",
    ),
    "crash": Configuration(
        "2 clients, crashes, tasks that wait and leave: taken when the lease ends, no deadlock",
        TIMELY + "CLIENTS=2 CRASHES LONGEST_FREE=0 LONGEST_WITHOUT=4",
    ),
    "wake": Configuration(
        "3 clients: no lost wake-up, a free lock is taken at once",
        TIMELY + "CLIENTS=3 TASKS=1 LONGEST_FREE=0",
    ),
    "leave": Configuration(
        "2 clients, hand-over, waiters that leave: no lost wake-up",
        TIMELY + "CLIENTS=2 LEAVES LONGEST_FREE=0",
    ),
    "linger": Configuration(
        "2 clients, waiters that leave, subscriptions dropped: no lost wake-up",
        TIMELY + "CLIENTS=2 LEAVES UNSUBSCRIBES LONGEST_FREE=0",
    ),
    "cap": Configuration(
        "2 clients, lost messages: a free lock is taken within the poll cap",
        TIMELY + "CLIENTS=2 TASKS=1 LOSSY CAP=1 LONGEST_FREE=1",
    ),
    "force": Configuration(
        "2 clients, forced releases: told at once or at a renewal, nothing handed over after it",
        TIMELY.replace("RENEW_AT=0", "RENEW_AT=1") + "CLIENTS=2 FORCES LONGEST_FREE=0",
    ),
    "re-entry": Configuration(
        "2 clients, re-entry, forced releases, any delay: no old ownership comes back",
        "CLIENTS=2 LEASE=3 FORCES REENTRY",
    ),
    "turns": Configuration(
        "2 clients with 2 tasks each: who stands back lets the other in",
        TIMELY + "CLIENTS=2 TURNS LONGEST_FREE=2",
    ),
}


class Mutant(NamedTuple):
    about: str
    of: str
    rejected_by: str  # part of the assertion; several, separated by |


MUTANTS = {
    "no_drift": Mutant("the server's clock is trusted", "exclusion", "<=1"),
    "from_the_answer": Mutant(
        "validity is counted from the answer", "exclusion", "<=1)|owner==cl[c].number"
    ),
    "late_grant": Mutant("a grant after its validity", "exclusion", "owner==cl[c].number"),
    "late_hand_over": Mutant("hand-over after the validity", "exclusion", "owner==cl[c].number"),
    "field_again": Mutant("a field is used again", "reconnect", "owner==number"),
    "no_retry": Mutant("no re-try after subscribing", "wake", "free_for<="),
    "silent_head": Mutant("a head leaves with what it heard", "leave", "free_for<="),
    "no_cap": Mutant("no poll cap", "cap", "free_for<="),
    "doubt_ignored": Mutant("hand-over though a message came", "force", "!(told[c])"),
    "re_entry_creates": Mutant("re-entry creates the key", "re-entry", "!(overtaken["),
    "echo_ends_stand_back": Mutant("one's own echo ends it", "turns", "stood_back!="),
}


class Outcome(NamedTuple):
    violation: str  # none if empty
    states: int
    depth: int
    seconds: float
    exhaustive: bool


def flags(switches: str) -> list[str]:
    return ["-D" + switch for switch in switches.split()]


def build(folder: pathlib.Path, what: Configuration, options: list[str]) -> None:
    for command in (
        ["spin", "-a", *flags(what.switches), str(MODEL)],
        [str(COMPILER), *options, "-w", "-DSAFETY", "-DMEMLIM=3000", "-o", "pan", "pan.c"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        complaints = [l for l in (done.stdout + done.stderr).splitlines() if "rror" in l]
        if done.returncode or complaints:
            sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


def verify(folder: pathlib.Path, arguments: list[str]) -> Outcome:
    begin = time.monotonic()
    done = subprocess.run(
        ["./pan", *arguments], cwd=folder, capture_output=True, text=True, timeout=300
    )
    text = done.stdout
    violation = re.search(r"^pan:1: (.*) \(at depth", text, re.MULTILINE)
    errors = re.search(r"errors: (\d+)", text)
    states = re.search(r"^ *([\d.e+]+) states, stored", text, re.MULTILINE)
    depth = re.search(r"depth reached (\d+)", text)
    whole = "Full statespace search" in text and not re.search(
        r"max search depth too small|bytes limit|Search not completed|Bit statespace", text
    )
    found = violation[1] if violation else ""
    if not found and (not errors or errors[1] != "0"):
        found = "spin has not finished: " + (done.stderr or text)[-300:]
    return Outcome(
        found,
        int(float(states[1])) if states else 0,
        int(depth[1]) if depth else 0,
        time.monotonic() - begin,
        whole and not found,
    )


# ---- Schedules ---------------------------------------------------------------------------------

STATEMENT = re.compile(r"proc +\d+ \((?P<who>\w+):\d+\) .*?(?P<file>\w+\.pml):(?P<line>\d+) \(state \d+\)\s+\[(?P<text>.*)\]$")
BORING = re.compile(r"^(IF|DO|else|sub-sequence|\.?\(goto\)|\(1\)|goto|break|k ?=|\(\(?k<=|step = 0|got = 0|number = 0|receivers = 0|told_ttl = 0|news = 0|c = )")


def schedule(of: Configuration) -> str:
    """The shortest one that leads to a violation."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        build(folder, of, ["-O1", "-DBFS"])
        verify(folder, [])
        trail = next(folder.glob("*.trail"), None)
        if not trail:
            return "(no schedule)"
        replay = subprocess.run(
            ["spin", "-k", str(trail), "-p", *flags(of.switches), str(MODEL)],
            cwd=folder,
            capture_output=True,
            text=True,
        ).stdout
    lines: list[str] = []
    step = ""
    for line in replay.splitlines():
        found = STATEMENT.search(line)
        if not found or BORING.match(found["text"]):
            continue
        process = line.split("(")[0]
        number = re.search(r"proc +(\d+)", process)[1]
        if process.split(":")[-1] != step:
            step = process.split(":")[-1]
            client = (int(number) - 1) // 2
            who = found["who"] if found["who"] in ("clock", "fate") else f"{found['who']} {client}"
            lines.append(f"  {who}")
        lines.append(f"      {found['file']}:{found['line']}: {found['text'][:90]}")
    return "\n".join(lines)


# ---- What to check -----------------------------------------------------------------------------


def check_configuration(name: str) -> bool:
    what = CONFIGURATIONS[name]
    with tempfile.TemporaryDirectory() as folder:
        build(pathlib.Path(folder), what, ["-O1"])
        got = verify(pathlib.Path(folder), ["-m5000000"])
    good = not got.violation and got.exhaustive
    print(
        f"{'ok' if good else 'FAILED':7}{name:17}{got.states:9} states, depth {got.depth:8},"
        f" {got.seconds:5.1f} s  {what.about}"
    )
    if got.violation:
        print(f"  {got.violation}\n{schedule(what)}")
    elif not got.exhaustive:
        print("  not all states were looked at")
    return good


def check_mutant(name: str) -> bool:
    what = MUTANTS[name]
    of = CONFIGURATIONS[what.of]
    mutant = of._replace(switches=f"{of.switches} MUTANT_{name.upper()}")
    with tempfile.TemporaryDirectory() as folder:
        build(pathlib.Path(folder), mutant, ["-O0"])
        got = verify(pathlib.Path(folder), ["-m3000000"])
    good = any(part in got.violation.replace(" ", "") for part in what.rejected_by.split("|"))
    print(
        f"{'ok' if good else 'FAILED':7}{name:25}of {what.of:17}"
        f" {'rejected: ' + got.violation if got.violation else 'NOT REJECTED'}  ({what.about})"
    )
    if got.violation and not good:
        print(schedule(mutant))
    return good


def main(names: list[str]) -> int:
    if names == ["--list"]:
        print(*CONFIGURATIONS, *MUTANTS, sep="\n")
        return 0
    if not shutil.which("spin") or not COMPILER:
        print("skipped: needs spin and a C compiler (tools/setup installs them)")
        return SKIPPED
    known = {**{n: check_configuration for n in CONFIGURATIONS}, **{n: check_mutant for n in MUTANTS}}
    groups = {"configurations": list(CONFIGURATIONS), "mutants": list(MUTANTS)}
    wanted = [n for name in names or known for n in groups.get(name, [name])]
    if unknown := [name for name in wanted if name not in known]:
        sys.exit(f"unknown: {' '.join(unknown)}; --list names what there is")
    begin = time.monotonic()
    failed = [name for name in wanted if not known[name](name)]
    print(f"{len(wanted) - len(failed)} of {len(wanted)} as expected, {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
