#!/usr/bin/python3
"""Checks the models of the protocols with spin, exhaustively.

    check.py                 all configurations and mutants, but the large ones
    check.py --full          the large ones, too
    check.py NAME...         these: a model, its configurations or mutants, or one of them
    check.py --list          their names

A configuration has to be free of violations in all its states. A mutant, the same with one rule
taken out of the protocol, has to be rejected by the assertion that is about that rule. Exits 1 if
it is otherwise, and shows the shortest schedule that leads to what was not expected; 77 without
spin or a C compiler.
"""

import collections
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = next((c for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c)), None)
SKIPPED = 77

class Configuration(NamedTuple):
    about: str
    switches: str
    is_large: bool = False  # takes minutes, or gigabytes


class Mutant(NamedTuple):
    about: str
    of: str
    rejected_by: str  # part of the assertion; several, separated by |


class Model(NamedTuple):
    """A file with this name, and what is checked of it."""

    configurations: dict[str, Configuration]
    mutants: dict[str, Mutant]
    options: tuple[str, ...] = ()  # for the C compiler
    arguments: tuple[str, ...] = ()  # for the search


# ---- The lock ----------------------------------------------------------------------------------

# Time stands still while anybody has something to do, and nobody renews: leases outlast holds.
TIMELY = "TIMELY LISTEN LEASE=3 RENEW_AT=0 LONGEST_TENURE=1 "

LOCK = {
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
        TIMELY.replace("RENEW_AT=0", "RENEW_AT=1") + "CLIENTS=2 FORCES LONGEST_FREE=1",
    ),
    "re-entry": Configuration(
        "2 clients, re-entry, forced releases, any delay: no old ownership comes back",
        "CLIENTS=2 LEASE=3 FORCES REENTRY",
    ),
}

LOCK_MUTANTS = {
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
    "doubt_ignored": Mutant("hand-over though a letter came", "force", "!(told[c])"),
    "silent_force": Mutant("a force writes no letter", "force", "!(written_to["),
    "early_letter_forgotten": Mutant(
        "a letter that overtakes the grant is forgotten", "force", "!(written_to["
    ),
    "re_entry_creates": Mutant("re-entry creates the key", "re-entry", "!(overtaken["),
}

# ---- The quorum lock ---------------------------------------------------------------------------

QUORUM = {
    "exclusion": Configuration(
        "2 clients, clocks that differ: mutual exclusion, tokens rise", "EXCLUSIVE"
    ),
    "breaks": Configuration(
        "a step is lost, late or run twice: the same", "EXCLUSIVE BREAKS=1 LEAP=0"
    ),
    "restart": Configuration(
        "a server restarts empty and votes at once: tokens rise", "CRASHES=1"
    ),
    "restarts": Configuration("two restarts: tokens rise", "CRASHES=2 LEAP=0"),
    "votes": Configuration(
        "a server that restarts empty has no vote: mutual exclusion, too",
        "EXCLUSIVE VOTING CRASHES=1",
    ),
    "rotation": Configuration(
        "servers restart in turn and vote at once: a hold is not lost", "ROTATE CRASHES=3"
    ),
    "voted_rotation": Configuration(
        "the same without votes after a restart: mutual exclusion, too",
        "ROTATE EXCLUSIVE VOTING CRASHES=3",
    ),
    "clockless": Configuration(
        "the same, and counters begin at 0: tokens rise", "ROTATE CLOCKLESS CRASHES=3"
    ),
    "force": Configuration(
        "all servers are forced: the hold does not come back", "FORCES LEAP=0"
    ),
    "three": Configuration("3 clients: mutual exclusion", "EXCLUSIVE CLIENTS=3 LEAP=0", True),
    "again": Configuration(
        "two attempts of each client: mutual exclusion", "EXCLUSIVE ATTEMPTS=2 LEAP=0", True
    ),
    "breaks_with_clocks": Configuration(
        "a step is lost, late or run twice, and clocks differ", "EXCLUSIVE BREAKS=1", True
    ),
    "restart_and_break": Configuration(
        "a restart, and a step that is lost, late or run twice: tokens rise",
        "CRASHES=1 BREAKS=1 LEAP=0",
        True,
    ),
    "voted_restarts": Configuration(
        "two restarts: mutual exclusion", "EXCLUSIVE VOTING CRASHES=2 LEAP=0", True
    ),
    "proxy": Configuration(
        "a late step outlives the restart: mutual exclusion",
        "EXCLUSIVE VOTING CRASHES=1 BREAKS=1 PROXY LEAP=0",
        True,
    ),
    "force_with_clocks": Configuration("the same as force, and clocks differ", "FORCES", True),
}

TOKENS_RISE = "token>since[c]|used>>cl[c].token|token>highest"
ALONE = "!(other_stands)"
NEVER_AGAIN = "!(began[c])"

QUORUM_MUTANTS = {
    "no_raise": Mutant("counters are not raised", "exclusion", TOKENS_RISE),
    "lowest_token": Mutant("the token is the lowest drawn", "exclusion", TOKENS_RISE),
    "token_of_one": Mutant("the token is that of one answer", "exclusion", TOKENS_RISE),
    "one_fewer": Mutant("half of the parts is enough", "exclusion", ALONE),
    "from_the_answer": Mutant("validity is counted from the answer", "exclusion", ALONE),
    "lapsed_parts_stand": Mutant(
        "a part that has lapsed still stands for its token", "exclusion", ALONE
    ),
    "heals_after_the_end": Mutant("parts of a lost hold are healed", "exclusion", NEVER_AGAIN),
    "late_renewal_revives": Mutant(
        "a renewal brings a lapsed part back", "exclusion", NEVER_AGAIN
    ),
    "no_answer_is_yes": Mutant(
        "a raise without an answer counts as done", "breaks", TOKENS_RISE
    ),
    "raises_for_anybody": Mutant(
        "a raise does not look for its field", "restart", TOKENS_RISE
    ),
    "lost_counter_from_zero": Mutant(
        "a lost counter does not begin at the clock", "restart", TOKENS_RISE
    ),
    "raises_past_clock": Mutant(
        "a raise does not look at the clock", "restart", TOKENS_RISE
    ),
    "always_votes": Mutant("a server that has restarted votes at once", "votes", ALONE),
    "votes_unasked": Mutant("a server votes until it says that it does not", "votes", ALONE),
    "healed_parts_vote": Mutant(
        "a part that is taken again counts at once", "votes", ALONE
    ),
    "heals_without_raise": Mutant(
        "a part that is taken again is not raised", "clockless", TOKENS_RISE
    ),
    "no_confirmation": Mutant(
        "a part is taken again without asking the others", "force", "!(forced[c])"
    ),
    "releases_by_name": Mutant("a release removes any field", "three", ALONE),
}

# ---- Durability --------------------------------------------------------------------------------

DURABILITY = {
    "all_kill": Configuration("all replicas acknowledge, and the primary dies", "KILLS"),
    "all_cut": Configuration(
        "the same, and the old primary goes on, with replicas or without", "CUTS STAY LAG=1"
    ),
    "majority_kill": Configuration(
        "one of two acknowledges, and the one with the most is promoted", "ACKS=1 KILLS HIGHEST"
    ),
    "majority_cut": Configuration(
        "the same, and the old primary goes on without replicas", "ACKS=1 CUTS HIGHEST LAG=1"
    ),
    "majority_pause": Configuration(
        "one of two acknowledges, and the primary waits for the promoted one", "ACKS=1 PAUSES"
    ),
    "mixed": Configuration("some callers want no replicas", "KILLS MIXED LAG=1"),
    "all_cut_behind": Configuration(
        "as all_cut, and replicas are further behind", "CUTS STAY", True
    ),
    "majority_cut_behind": Configuration(
        "as majority_cut, and replicas are further behind", "ACKS=1 CUTS HIGHEST", True
    ),
    "twice": Configuration("as all_kill, with two failovers", "KILLS FAILOVERS=2", True),
    "cut_twice": Configuration(
        "as all_cut, with two failovers", "CUTS STAY FAILOVERS=2 LAG=1", True
    ),
    "renewals": Configuration("as all_kill, with more renewals", "KILLS LEASES=3", True),
}

KEPT = "!(is_hold_taken)"
NO_ORPHAN = "!(is_without_holder)"

DURABILITY_MUTANTS = {
    "no_wait": Mutant("a grant does not wait for replicas", "all_kill", KEPT),
    "wait_on_another_connection": Mutant(
        "WAIT runs on a connection that has written nothing", "all_kill", f"{KEPT}|{NO_ORPHAN}"
    ),
    "next_connection_covers": Mutant(
        "a WAIT counts for steps of the connection before", "all_kill", f"{KEPT}|{NO_ORPHAN}"
    ),
    "unblocked_covers": Mutant(
        "a WAIT that the end of the primary ends counts", "all_kill", f"{KEPT}|{NO_ORPHAN}"
    ),
    "one_fewer": Mutant("one replica fewer is enough", "all_kill", f"{KEPT}|{NO_ORPHAN}"),
    "as_many_as_are_there": Mutant(
        "only replicas that are attached have to acknowledge", "all_cut", f"{KEPT}|{NO_ORPHAN}"
    ),
    "renewal_is_not_strict": Mutant(
        "a renewal that replicas lack extends the validity", "all_kill", KEPT
    ),
    "late_grant": Mutant("a grant after its lease", "all_kill", KEPT),
    "from_the_answer": Mutant("validity is counted from the answer", "all_kill", KEPT),
    "hands_over_uncovered": Mutant(
        "a lock that replicas lack is handed to a caller that wants them", "mixed", KEPT
    ),
    "no_marker": Mutant("a release that finds nothing writes nothing", "all_kill", NO_ORPHAN),
    "release_is_not_owed": Mutant(
        "a release is over when the primary has answered", "all_kill", NO_ORPHAN
    ),
    "undo_is_not_owed": Mutant("a lost undo is not repeated", "all_kill", NO_ORPHAN),
    "any_is_promoted": Mutant(
        "a replica that has less is promoted", "majority_kill", f"{KEPT}|{NO_ORPHAN}"
    ),
    "some_stay": Mutant("a replica stays with the old primary", "majority_cut", KEPT),
}

# ---- Waiting -----------------------------------------------------------------------------------

WAITING = {
    "exclusion": Configuration(
        "3 clients with 2 tasks, any delay: mutual exclusion", "NOMAIL N=3 W=2 AGAIN"
    ),
    "cancels": Configuration("tasks that give up: the same", "LEASE=2 CANCELS"),
    "late_steps": Configuration(
        "steps and answers are lost, or run late: the same", "NOMAIL BREAKS=2 LATE CANCELS"
    ),
    "forced_any_time": Configuration(
        "forced releases at any moment: the same", "NOMAIL FORCES=2 W=2"
    ),
    "beside_redisson": Configuration("a client of Redisson: the same", "NOMAIL FOREIGN=3 W=2"),
    "restart_any_time": Configuration(
        "an empty server, a stopped client: the same", "NOMAIL RESTARTS=1 PAUSES=1"
    ),
    "wake": Configuration("2 clients with 2 tasks: no lost wake-up", "TIMELY W=2 AGAIN CANCELS"),
    "wake_3": Configuration("3 clients: no lost wake-up", "TIMELY N=3"),
    "breaks": Configuration(
        "steps and answers are lost: no lost wake-up", "TIMELY BREAKS=2 CANCELS"
    ),
    "crash": Configuration(
        "who stands in the list dies: no lost wake-up", "TIMELY CRASHES=1 STANDING CANCELS"
    ),
    "force": Configuration(
        "forced releases: told at once, nothing handed over after it", "TIMELY LIVE FORCES=2 W=2"
    ),
    "foreign": Configuration("Redisson beside: no lost wake-up", "TIMELY FOREIGN=2 CANCELS"),
    "vanish": Configuration(
        "a client vanishes: free for one cap at most", "TIMELY VANISHES=1 CANCELS FREE_MAX=1"
    ),
    "vanish_3": Configuration(
        "of three: free for one cap in the whole run", "TIMELY ENDS LIVE N=3 VANISHES=1 FREE_MAX=1 ALL_MAX=1"
    ),
    "losses": Configuration("messages are lost: a cap each", "TIMELY LOSSES=2 CANCELS FREE_MAX=2"),
    "loss_and_vanish": Configuration(
        "both", "TIMELY LOSSES=1 VANISHES=1 CANCELS W=2 AGAIN FREE_MAX=2"
    ),
    "cuts": Configuration("mailboxes are cut: one cap", "TIMELY CUTS=2 CANCELS FREE_MAX=1"),
    "restart": Configuration(
        "the server restarts empty: one cap", "TIMELY RESTARTS=1 CANCELS FREE_MAX=1"
    ),
    "evict": Configuration("the list is lost: one cap", "TIMELY EVICTS=1 CANCELS FREE_MAX=1"),
    "pause": Configuration(
        "a client stops for a while: one cap", "TIMELY PAUSES=1 CANCELS FREE_MAX=1"
    ),
    "late": Configuration(
        "lost steps run late: two caps", "TIMELY BREAKS=1 LATE CANCELS FREE_MAX=2"
    ),
    "served": Configuration("everybody is served", "TIMELY ENDS LIVE W=2 AGAIN PASS_MAX=2"),
    "served_3": Configuration("the same of three", "TIMELY ENDS LIVE N=3 PASS_MAX=4"),
    "served_evicted": Configuration(
        "the same though the list is lost", "TIMELY ENDS LIVE N=3 EVICTS=1 PASS_MAX=6 FREE_MAX=1"
    ),
    "heard": Configuration(
        "Redisson's release is heard though the first is dead", "TIMELY FOREIGN=3 VANISHES=1 FREE_MAX=1 DEAF_MAX=2"
    ),
}

# The assertion of each promise.
ONE_HOLDER = "x<=1"
FREE = "free_for<=|free_all<="
SERVED = "passed[j]<="
NOTHING_LEFT = "owner!=j|ec[i]!=j"
TOLD_AT_ONCE = "sus[c]&&forced[c]|h[j]&&forced[j]"
HEARD = "deaf<="

WAITING_MUTANTS = {
    "kept_for_ever": Mutant("a turn is kept for ever", "vanish", FREE),
    "stays_told": Mutant("who was told in vain stays told", "wake", FREE),
    "back_at_the_end": Mutant("who comes back stands at the end", "served_evicted", SERVED),
    "absent_keeps_turn": Mutant("who did not come keeps its turn", "vanish_3", FREE),
    "unheard_counts": Mutant("who is not connected counts as told", "crash", FREE),
    "newcomer_first": Mutant(
        "a newcomer takes what is free though somebody was told", "served", SERVED
    ),
    "own_field_forgotten": Mutant("a repeated ask does not know its own field", "breaks", FREE),
    "leaves_silently": Mutant("who leaves passes nothing on", "wake", FREE),
    "takes_any_field": Mutant("a release takes whatever its client has", "late_steps", ONE_HOLDER),
    "number_again": Mutant("a number serves two holds", "late_steps", ONE_HOLDER),
    "leaves_behind": Mutant("who gives up leaves what it has at the server", "wake", NOTHING_LEFT),
    "endless_tenure": Mutant("a tenure has no end", "served", SERVED),
    "handed_over_forced": Mutant("handed over though 'forced' was heard", "force", TOLD_AT_ONCE),
    "from_the_answer": Mutant("a lease counts from the answer", "exclusion", ONE_HOLDER),
    "deaf_first": Mutant("the first does not listen to the lock's channel", "foreign", FREE),
    "news_forgotten": Mutant("news during an ask is forgotten", "wake", FREE),
    "lost_is_refused": Mutant("a lost answer counts as a refusal", "breaks", NOTHING_LEFT),
    "no_look": Mutant("nobody looks", "losses", FREE),
    "no_look_when_live": Mutant("no look when the mailbox is live (again)", "wake", FREE),
    "no_ask_when_live": Mutant("no ask when the lock's channel is live", "foreign", FREE),
    "first_unchecked": Mutant("nobody finds out whether the first lives", "heard", HEARD),
    "joins_without_turn": Mutant("`next` joins though nobody has the turn", "wake", FREE),
    "news_for_sleepers": Mutant(
        "news is for who waits, not for the ask under way", "foreign", FREE
    ),
    "passes_on_told_alone": Mutant(
        "the first passes on only a turn that it was told", "foreign", FREE
    ),
}

MODELS = {
    "waiting": Model(WAITING, WAITING_MUTANTS, ("-DCOLLAPSE",)),
    "lock": Model(LOCK, LOCK_MUTANTS),
    "quorum": Model(
        QUORUM, QUORUM_MUTANTS, ("-DNOREDUCE", "-DVECTORSZ=512"), ("-E", "-w24")
    ),
    "durability": Model(
        DURABILITY, DURABILITY_MUTANTS, ("-DNOREDUCE", "-DVECTORSZ=512"), ("-E", "-w24")
    ),
}


class Outcome(NamedTuple):
    violation: str  # none if empty
    states: int
    depth: int
    seconds: float
    exhaustive: bool


def flags(switches: str) -> list[str]:
    return ["-D" + switch for switch in switches.split()]


def build(folder: pathlib.Path, of: str, switches: str, options: list[str]) -> None:
    compiler = [str(COMPILER), *options, *MODELS[of].options, "-w", "-DSAFETY", "-DMEMLIM=6000"]
    for command in (
        ["spin", "-a", *flags(switches), str(HERE / f"{of}.pml")],
        [*compiler, "-o", "pan", "pan.c"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        complaints = [l for l in (done.stdout + done.stderr).splitlines() if "rror" in l]
        if done.returncode or complaints:
            sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


def verify(folder: pathlib.Path, arguments: list[str]) -> Outcome:
    begin = time.monotonic()
    done = subprocess.run(
        ["./pan", *arguments], cwd=folder, capture_output=True, text=True, timeout=1800
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

CREATION = re.compile(r"Starting (?P<who>\w+) with pid (?P<number>\d+)")
STATEMENT = re.compile(
    r"proc +(?P<number>\d+) \((?P<who>\w+):\d+\) .*?(?P<file>\w+\.pml):(?P<line>\d+)"
    r" \(state \d+\)\s+\[(?P<text>.*)\]$"
)
BORING = re.compile(
    r"^(IF|DO|else|sub-sequence|\.?\(goto\)|\(1\)|goto|break|assert|[ijklnx] ?=|\(\([ijkl]<="
    r"|step = 0|got = 0|drew = 0|number = 0|receivers = 0|told_ttl = 0|news = 0|c = )"
)


def schedule(of: str, switches: str) -> str:
    """The shortest one that leads to a violation."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        build(folder, of, switches, ["-O1", "-DBFS"])
        verify(folder, [a for a in MODELS[of].arguments if a != "-E"])
        trail = next(folder.glob("*.trail"), None)
        if not trail:
            return "(no schedule)"
        replay = subprocess.run(
            ["spin", "-k", str(trail), "-p", *flags(switches), str(HERE / f"{of}.pml")],
            cwd=folder,
            capture_output=True,
            text=True,
        ).stdout
    lines: list[str] = []
    names: dict[str, str] = {}
    made: collections.Counter[str] = collections.Counter()
    step = ""
    for line in replay.splitlines():
        if creation := CREATION.search(line):
            who = creation["who"]
            names[creation["number"]] = f"{who} {made[who]}"
            made[who] += 1
        found = STATEMENT.search(line)
        if not found or BORING.match(found["text"]):
            continue
        process = line.split("(")[0]
        if process.split(":")[-1] != step:
            step = process.split(":")[-1]
            lines.append(f"  {names.get(found['number'], found['who'])}")
        lines.append(f"      {found['file']}:{found['line']}: {found['text'][:90]}")
    return "\n".join(lines)


# ---- What to check -----------------------------------------------------------------------------


def check_configuration(of: str, name: str) -> bool:
    model = MODELS[of]
    what = model.configurations[name]
    with tempfile.TemporaryDirectory() as folder:
        build(pathlib.Path(folder), of, what.switches, ["-O1"])
        got = verify(pathlib.Path(folder), ["-m6000000", *model.arguments])
    good = not got.violation and got.exhaustive
    print(
        f"{'ok' if good else 'FAILED':7}{of + '/' + name:26}{got.states:9} states, depth {got.depth:8},"
        f" {got.seconds:5.1f} s  {what.about}",
        flush=True,
    )
    if got.violation:
        print(f"  {got.violation}\n{schedule(of, what.switches)}")
    elif not got.exhaustive:
        print("  not all states were looked at")
    return good


def check_mutant(of: str, name: str) -> bool:
    model = MODELS[of]
    what = model.mutants[name]
    switches = f"{model.configurations[what.of].switches} MUTANT_{name.upper()}"
    with tempfile.TemporaryDirectory() as folder:
        build(pathlib.Path(folder), of, switches, ["-O0"])
        got = verify(pathlib.Path(folder), ["-m3000000", *model.arguments])
    good = any(part in got.violation.replace(" ", "") for part in what.rejected_by.split("|"))
    print(
        f"{'ok' if good else 'FAILED':7}{of + '/' + name:39}of {what.of:17}"
        f" {'rejected: ' + got.violation if got.violation else 'NOT REJECTED'}  ({what.about})",
        flush=True,
    )
    if got.violation and not good:
        print(schedule(of, switches))
    return good


class Check(NamedTuple):
    groups: tuple[str, ...]
    is_large: bool
    run: Callable[[], bool]


def all_checks() -> dict[str, Check]:
    """By name: a model, a slash, and the name in it."""
    found = {}
    for of, model in MODELS.items():
        for name, what in model.configurations.items():
            found[f"{of}/{name}"] = Check(
                (of, f"{of}/configurations", "configurations"),
                what.is_large,
                functools.partial(check_configuration, of, name),
            )
        for name in model.mutants:
            found[f"{of}/{name}"] = Check(
                (of, f"{of}/mutants", "mutants"), False, functools.partial(check_mutant, of, name)
            )
    return found


def main(names: list[str]) -> int:
    known = all_checks()
    if names == ["--list"]:
        print(*known, sep="\n")
        return 0
    if not shutil.which("spin") or not COMPILER:
        print("skipped: needs spin and a C compiler (tools/setup installs them)")
        return SKIPPED
    is_full = "--full" in names
    wanted: list[str] = []
    for asked in [n for n in names if n != "--full"] or MODELS:
        some = [n for n, c in known.items() if asked in c.groups and (is_full or not c.is_large)]
        if not some and asked not in known:
            sys.exit(f"unknown: {asked}; --list names what there is")
        wanted += some or [asked]
    begin = time.monotonic()
    failed = [name for name in wanted if not known[name].run()]
    print(f"{len(wanted) - len(failed)} of {len(wanted)} as expected, {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
