"""Runs the commands that the pages show, in a fresh clone with what tools/setup has installed.

Each command needs a rule below: it runs as it is or with other words in its place, or a part of
tools/proof runs it, or it can't be run here, for a reason. One without a rule is a failure.
"""

import os
import pathlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import NamedTuple

from .parts import ROOT, Failed, shown

CLONE = ROOT / "build/pages/clone"

# What a line of a block begins with, if it is a command.
BEGINS = re.compile(
    r"(?:(?:tools|bench|build|examples|test|cmake)/\S|cmake |c\+\+ |colock-simulate |docker |conan |vcpkg "
    r"|colock (?:run|elect|doctor|inspect|watch|bench) "
    r"|sudo |apk |python3 |redis-cli |\./\S)"
)

WITH_SERVER = "examples/with_redis.py"


class Rule(NamedTuple):
    """For the commands that the expression matches: what runs, by re.sub; or why nothing does."""

    command: str
    runs: str = r"\g<0>"
    part: str = ""
    reason: str = ""
    status: int = 0


SIMULATE = "build/dev/test/simulation/colock-simulate"
NO_OPTION = "-DCOLOCK_BUILD_TESTS=OFF -DCOLOCK_BUILD_BENCH=OFF"
RULES = [
    Rule(r"tools/setup.*", r"tools/setup --dry-run"),
    Rule(r"tools/demo", "tools/demo"),
    Rule(r"tools/(?:test|proof)\b.*", reason="they run this"),
    Rule(r"tools/release --draft"),
    # The builds.
    Rule(
        r"cmake --preset (?:dev|install|release)(?: -D\S+)?"
        r"(?: && cmake --build --preset release(?: --target \S+)?)?"
    ),
    Rule(r"cmake --build (?:--preset \w+|build/dev)(?: --target [\w/-]+)?"),
    Rule(r"(cmake --install build/install) --prefix \S+", r"\1 --prefix build/prefix"),
    Rule(
        r"cmake -B build (-D.*?) && cmake --build build (-j \S+) && sudo cmake --install build",
        r"cmake -B build/by_hand -DCMAKE_INSTALL_PREFIX=$PWD/build/prefix_by_hand \1"
        r" && cmake --build build/by_hand \2 && cmake --install build/by_hand",
    ),
    Rule(
        r"cmake -S first .*|cmake --build build-first|\./build-first/first .*|c\+\+ .*pkg-config.*",
        part="consumer",
    ),
    Rule(r"redis-cli (?:ping|monitor)", reason="it asks the user's own server"),
    # What is measured.
    Rule(r"bench/peers/build\.sh", reason="it downloads the other libraries and their toolchains"),
    Rule(r"bench/compare --far .*", reason="it needs root, and a kernel that delays packets"),
    Rule(
        r"bench/compare\b.*",
        "bench/compare --peers raw,colock --workloads PING,W1,W3 --seconds 1 --reps 1",
    ),
    Rule(r"bench/growth\b.*", "bench/growth --most 100 --seconds 1 --idle 1"),
    Rule(
        r"(build/release/bench/colock-bench W3) --redis \S+ --seconds 5 (\| python3 -m json\.tool)",
        rf"{WITH_SERVER} \1 --redis {{url}} --seconds 1 \2",
    ),
    Rule(r"tools/sizing .*"),
    # Programs.
    Rule(r"examples/with_redis\.py (?:--servers 3 )?build/release/examples/\w+(?: \{url\d?\})+"),
    Rule(r"build/dev/test/colock-unit-tests -t \w+"),
    Rule(r"build/dev/test/colock-replay-tests.*", part="replay"),
    Rule(
        r"(?:build/dev/test/simulation/)?colock-simulate (\w+) --seconds \d+",
        rf"{SIMULATE} \1 --seconds 1",
    ),
    Rule(
        r"(?:build/dev/test/simulation/)?colock-simulate (\w+ --mutant .*)",
        rf"{SIMULATE} \1 --worlds 50",
        status=1,
    ),
    Rule(r"colock-simulate --recipe FILE", part="pages"),
    Rule(r"colock-simulate \w+ --histories FOLDER|test/checker/check\.py.*", part="checker"),
    Rule(r"(?:build/dev/test/simulation/)?colock-simulate (.*)", rf"{SIMULATE} \1"),
    Rule(
        r"(?:examples/with_redis\.py examples/seckill/load\.py|build/release/examples/seckill/seckill) .*",
        part="examples",
    ),
    Rule(r"tools/pictures .*", part="pages"),
    Rule(r"colock (?:run|elect|doctor)\b.*", part="command"),
    Rule(r"python3 cmake/embed_scripts\.py .*"),
    Rule(r"redis-cli SCRIPT EXISTS (.*)", r"redis-cli --version && echo \1"),
    # The long ones.
    Rule(r"test/model/check\.py --full.*", part="long-model"),
    Rule(r"test/model/check\.py.*", part="model"),
    Rule(r"tools/chaos.*", part="long-chaos"),
    Rule(r"tools/soak.*", part="long-soak"),
    Rule(r"tools/fuzz.*", part="fuzz"),
    Rule(r"build/dev/test/fuzz/colock-fuzz-corpus .*", part="headers"),
    Rule(
        r"build/asan/test/fuzz/.*|test/fuzz/corpus\.py (?:add|pack) .*",
        reason="it changes the kept inputs",
    ),
    Rule(r"tools/servers --list"),
    Rule(r"tools/servers --test .*", reason="it downloads servers, and runs the tests for each"),
    # Other systems, and what they install.
    Rule(r"(?:sudo )?(?:apt-get|dnf|pacman|apk) .*", reason="it installs packages of a system"),
    Rule(r"docker .*", reason="it needs Docker; the steps of the Dockerfile run as far as they can"),
    Rule(r"(?:conan|vcpkg) .*", part="packages"),
]

# They may not depend on ccache: a warning may come with one of the two ways alone.
WITHOUT_CCACHE = [
    f"cmake --preset {preset} -B build/{preset}-plain -DCOLOCK_CCACHE=OFF"
    f" && cmake --build build/{preset}-plain"
    for preset in ("install", "release")
]
# The text and the tables of pages name them.
NAMED = ["tools/docs", f"{WITH_SERVER} build/docker/root/usr/local/bin/colock doctor --url {{url}}"]


class Shown(NamedTuple):
    page: str
    command: str
    rule: Rule | None

    def words(self) -> str:
        """What to run for it; nothing if nothing does here."""
        if self.rule is None or self.rule.part or self.rule.reason:
            return ""
        return re.sub(self.rule.command, self.rule.runs, self.command)


# ---- What the pages show -------------------------------------------------------------------------


def pages() -> list[pathlib.Path]:
    own = subprocess.run(
        ["git", "ls-files", "-z", "--", "*.md"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split("\0")
    # A Chinese page has the blocks of the English one.
    return [ROOT / name for name in own if name and "zh" not in re.split(r"[/.-]", name.lower())]


def lines_of_blocks(text: str) -> str:
    """Those that are indented, and of ``` blocks those of a shell or of no language."""
    found, language = [], None
    for line in text.splitlines():
        if line.startswith("```"):
            language = line.removeprefix("```").strip() if language is None else None
        elif language in ("", "sh") or (language is None and line.startswith("    ")):
            found.append(line.strip())
        else:
            found.append("")
    return "\n".join(found)


def commands_of(text: str) -> Iterator[str]:
    for line in re.sub(r"\\\n|\n(?=&& )", " ", lines_of_blocks(text)).splitlines():
        # A comment, or in README.md a description in a column of its own.
        command = re.split(r"\s+# |\s{3,}(?=[a-z])", line)[0].strip()
        if BEGINS.match(command) and not command.endswith(";"):
            yield " ".join(command.split())


def rule_for(command: str) -> Rule | None:
    return next((rule for rule in RULES if re.fullmatch(rule.command, command)), None)


def all_shown() -> list[Shown]:
    return [
        Shown(str(page.relative_to(ROOT)), command, rule_for(command))
        for page in pages()
        for command in commands_of(page.read_text("utf-8"))
    ]


def check() -> int:
    """Each command has its rule, and each rule its command."""
    shown_ones = all_shown()
    lost = [f"{each.page}: nothing runs: {each.command}" for each in shown_ones if each.rule is None]
    used = {each.rule for each in shown_ones}
    lost += [f"no page shows what a rule is for: {rule.command}" for rule in RULES if rule not in used]
    print(*lost, sep="\n", end="\n" if lost else "")
    return 1 if lost else 0


# ---- Running them --------------------------------------------------------------------------------


def make_clone() -> None:
    """As a user gets it, with the changes of the working tree."""
    shutil.rmtree(CLONE.parent, ignore_errors=True)
    CLONE.parent.mkdir(parents=True)
    quietly(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(CLONE)])
    changes = subprocess.run(
        ["git", "diff", "--binary", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout
    if changes:
        subprocess.run(["git", "apply"], cwd=CLONE, input=changes, check=True)
    (CLONE / ".deps").symlink_to((ROOT / ".deps").resolve())


def quietly(words: list[str]) -> None:
    if subprocess.run(words, check=False).returncode:
        raise Failed


def run_one(words: str, status: int) -> bool:
    begin = time.monotonic()
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", words],
        cwd=CLONE,
        # Nothing that this run was told is told to what users would run.
        env={name: value for name, value in os.environ.items() if not name.startswith("COLOCK_")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    good = done.returncode == status
    print(f"{'ok' if good else 'FAILED':<7}{shown(time.monotonic() - begin):>12}  {words}", flush=True)
    if not good:
        print(*done.stdout.splitlines()[-40:], f"error: ended with {done.returncode}: {words}", sep="\n")
    return good


def steps_of_docker() -> Iterator[str]:
    """Of the stage that builds: with what it copies alone, and without what needs its system."""
    text = (CLONE / "packaging/docker/Dockerfile").read_text("utf-8").replace("\\\n", " ")
    build, _, _ = text.partition("\nFROM debian:13-slim\n")
    yield "mkdir -p build/docker/colock"
    # A user has Boost from the image.
    own = "DESTDIR=$PWD/build/docker/root CMAKE_PREFIX_PATH=$PWD/.deps/usr"
    for line in build.splitlines():
        word, _, rest = line.partition(" ")
        if word == "COPY":
            *sources, to = rest.split()
            yield f"cp -r {' '.join(sources)} build/docker/colock/{to if len(sources) > 1 else ''}"
        elif word == "RUN" and not rest.startswith("apt-get"):
            yield f"export {own}; cd build/docker/colock && {' '.join(rest.split())}"


def run() -> None:
    if check():
        raise Failed
    make_clone()
    good, seen = True, set()
    for each in all_shown():
        words = each.words()
        if words and words not in seen:
            seen.add(words)
            good &= run_one(words, each.rule.status if each.rule else 0)
    for words in (*steps_of_docker(), *NAMED):
        good &= run_one(words, 0)
    left = [each for each in all_shown() if not each.words() and each.rule]
    print("not run here:")
    for each in {(e.command, e.rule.part, e.rule.reason) for e in left if e.rule}:
        print(f"    {each[0]}: {f'part {each[1]}' if each[1] else each[2]}")
    if not good:
        raise Failed


def run_without_ccache() -> None:
    make_clone()
    if not all([run_one(words, 0) for words in WITHOUT_CCACHE]):
        raise Failed
