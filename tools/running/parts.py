"""Runs named parts one after the other: says what comes, how long it took last time and how it went."""

import argparse
import contextlib
import json
import pathlib
import sys
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
DURATIONS = ROOT / "build/durations.json"
# Of the runs since .ci/run began; it prints them at its end.
RESULTS = ROOT / "build/results"


class Failed(Exception):
    """A part has failed; what there is to say has been printed."""


class Part(NamedTuple):
    name: str
    what: str
    run: Callable[[], None]
    # If it fails, the parts after it can't be run.
    needed: bool = False


def shown(seconds: float | None) -> str:
    if seconds is None:
        return "not run yet"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def durations() -> dict[str, float]:
    try:
        return json.loads(DURATIONS.read_text())
    except (OSError, ValueError):
        return {}


def note_duration(name: str, seconds: float) -> None:
    DURATIONS.parent.mkdir(exist_ok=True)
    DURATIONS.write_text(json.dumps({**durations(), name: round(seconds, 1)}, indent=1))


def print_list(parts: Iterable[Part]) -> None:
    last = durations()
    for part in parts:
        print(f"{part.name:<12} {part.what} ({shown(last.get(part.name))})")


def print_plan(title: str, parts: list[Part]) -> None:
    last = durations()
    known = [last[part.name] for part in parts if part.name in last]
    new = len(parts) - len(known)
    print(f"{title}: {', '.join(part.name for part in parts)}")
    print(f"{title}: last time {shown(sum(known))}" + (f", and {new} not run yet" if new else ""))


def chosen(parts: list[Part], names: list[str]) -> list[Part]:
    """The parts of these names, in their own order; ends the program if there is no such part."""
    known = {part.name for part in parts}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no part {' '.join(unknown)}; there are: {' '.join(sorted(known))}")
    return [part for part in parts if part.name in names]


def run_one(part: Part, place: str) -> bool:
    print(f"\n== [{place}] {part.name}: {part.what} ({shown(durations().get(part.name))})", flush=True)
    begin = time.monotonic()
    good = False
    with contextlib.suppress(Failed):
        part.run()
        good = True
    if good:
        note_duration(part.name, time.monotonic() - begin)
    print(f"== {part.name}: {'ok' if good else 'FAILED'}, {shown(time.monotonic() - begin)}", flush=True)
    return good


def run_all(title: str, parts: list[Part]) -> int:
    """Runs them, prints a summary, and returns the exit status."""
    print_plan(title, parts)
    begin = time.monotonic()
    results: list[tuple[str, str, float]] = []
    stopped = False
    for number, part in enumerate(parts, 1):
        if stopped:
            results.append((part.name, "not run", 0))
            continue
        start = time.monotonic()
        good = run_one(part, f"{number}/{len(parts)}")
        results.append((part.name, "ok" if good else "FAILED", time.monotonic() - start))
        stopped = part.needed and not good
    failed = any(result != "ok" for _, result, _ in results)
    results.append((title, "FAILED" if failed else "ok", time.monotonic() - begin))
    table = "".join(f"{name:<16} {result:<7} {seconds:5.0f} s\n" for name, result, seconds in results)
    print(f"\n== summary\n{table}", end="", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(table)
    return 1 if failed else 0


def parser(text: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
