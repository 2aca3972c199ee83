"""The failures that tools/hunt has found: test/seeds/NAME/SEED. test/seeds/README.md has the rules."""

import datetime
import os
import pathlib
import shlex
import subprocess
import time
from typing import NamedTuple

from .parts import ROOT

FOLDER = ROOT / "test/seeds"
MOST_OPEN = 3
OPEN_DAYS = 2
FIELDS = ("name", "seed", "found", "version", "command", "repeats")


class Kept(NamedTuple):
    path: pathlib.Path
    head: dict[str, str]

    @property
    def is_open(self) -> bool:
        return "open" in self.head


def read(path: pathlib.Path) -> Kept:
    head = {}
    for line in path.read_text("utf-8").splitlines():
        if not line:
            break
        name, _, value = line.partition(": ")
        head[name] = value
    return Kept(path, head)


def all_kept(folder: pathlib.Path = FOLDER) -> list[Kept]:
    return [read(path) for path in sorted(folder.glob("*/*")) if path.suffix != ".input"]


def complaints(kept: list[Kept], today: datetime.date) -> list[str]:
    found = []
    for each in kept:
        head, path = each.head, each.path
        if missing := [name for name in FIELDS if not head.get(name)]:
            found.append(f"{path}: says nothing of {' '.join(missing)}")
        if sum(bool(head.get(state)) for state in ("open", "mended")) != 1:
            found.append(f"{path}: is either open, with a date, or mended, with what it was")
        elif each.is_open:
            age = today - datetime.date.fromisoformat(head["open"])
            if age.days > OPEN_DAYS:
                found.append(f"{path}: has been open for {age.days} days, and {OPEN_DAYS} are the most")
        text = path.read_text("utf-8")
        if head.get("name", "").startswith("worlds.") and "\nrecipe\n" not in text:
            found.append(f"{path}: a world without its recipe")
    open_ones = sum(each.is_open for each in kept)
    if open_ones > MOST_OPEN:
        found.append(f"{open_ones} failures are open, and {MOST_OPEN} are the most")
    return found


def date_of_commit() -> datetime.date:
    """Not today's: a commit that was good stays good."""
    said = subprocess.run(
        ["git", "log", "-1", "--format=%cs"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    ).stdout.strip()
    return datetime.date.fromisoformat(said) if said else datetime.datetime.now(datetime.UTC).date()


def check() -> int:
    said = complaints(all_kept(), date_of_commit())
    print(*said, sep="\n", end="\n" if said else "")
    return 1 if said else 0


class Command(NamedTuple):
    environment: dict[str, str]
    words: list[str]

    @property
    def program(self) -> str:
        return pathlib.Path(self.words[0]).name


def command_of(kept: Kept) -> Command:
    words = shlex.split(kept.head["command"])
    environment = {}
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    return Command(environment, words)


def run_again(kept: Kept, programs: dict[str, str], limit: float) -> subprocess.CompletedProcess[str]:
    """By that program, or the one in the command."""
    command = command_of(kept)
    words = [programs.get(command.program, command.words[0]), *command.words[1:]]
    return subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, **command.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=limit,
        check=False,
    )


def run_kept(paths: list[str], folder: pathlib.Path = FOLDER) -> int:
    """The mended ones that one of these programs repeats."""
    programs = {pathlib.Path(path).name: path for path in paths}
    failed = count = 0
    begin = time.monotonic()
    for kept in all_kept(folder):
        if kept.is_open or command_of(kept).program not in programs:
            continue
        count += 1
        done = run_again(kept, programs, 180)
        if done.returncode:
            failed += 1
            print(f"{done.stdout}\nerror: {kept.path} fails again: {kept.head['command']}")
    print(f"{count} kept failures, {failed} of them again, in {time.monotonic() - begin:.1f} s")
    return 1 if failed else 0
