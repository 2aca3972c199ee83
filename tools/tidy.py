#!/usr/bin/python3
"""Runs clang-tidy over changed files, two at once, and remembers what is clean.

    tidy.py [--all | --commits N] [--build DIR]

Changed is what differs from the last commit, or on a branch from where it left main, or what the last
N commits have changed. A header is
looked at by way of a unit that includes it. Needs the compile commands of a configured build in which
each source is compiled alone, and its generated headers. What is remembered is kept by the contents of a unit and all
its parts, beside the compiler's cache, so that it serves other checkouts as well.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLANG_TIDY = "clang-tidy-16"
FOLDERS = ("src", "include", "cli", "bench", "examples")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "colock-tidy"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
DIAGNOSTIC = re.compile(r"^(/[^:\n]+):(\d+):(\d+): (?:error|warning): ", re.MULTILINE)


def git(*arguments: str) -> str | None:
    result = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
    )
    return result.stdout if result.returncode == 0 else None


def own(paths: Iterable[str]) -> list[str]:
    return sorted(
        path
        for path in set(paths)
        if path.startswith(tuple(f"{folder}/" for folder in FOLDERS))
        and path.endswith((".cpp", ".hpp"))
        and (ROOT / path).is_file()
    )


def all_files() -> list[str]:
    return own((git("ls-files", "--cached", "--others", "--exclude-standard") or "").splitlines())


def changed_files(commits: int) -> list[str]:
    base = f"HEAD~{commits}"
    branch = (git("branch", "--show-current") or "").strip()
    if commits == 0 and branch != "main":
        for trunk in ("origin/main", "main"):
            if common := git("merge-base", "HEAD", trunk):
                base = common.strip()
                break
    changed = git("diff", "--name-only", "--diff-filter=d", base)
    if changed is None:
        return all_files()  # there are not so many commits
    untracked = git("ls-files", "--others", "--exclude-standard") or ""
    return own([*changed.splitlines(), *untracked.splitlines()])


def tools_and_libraries() -> str:
    """What a finding depends on beside our own files: clang-tidy, and the packages with headers."""
    version = subprocess.run([CLANG_TIDY, "--version"], stdout=subprocess.PIPE, text=True, check=True)
    packages = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Version}\\n", "*-dev"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    boost = ROOT / ".deps/usr/include/boost/version.hpp"
    return version.stdout + packages.stdout + (boost.read_text("utf-8") if boost.exists() else "")


class Build:
    """The units of a build: how each is compiled, and of what files of ours it consists."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.commands: dict[str, str] = {}
        self.parts: dict[str, set[str]] = {}
        self.included: dict[str, list[str]] = {}
        for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
            unit = self.relative(entry["file"])
            self.commands[unit] = entry["command"]
            self.parts[unit] = self.closure(unit, self.own_folders(entry["command"]))
        self.tools = tools_and_libraries()

    def own_folders(self, command: str) -> list[str]:
        """Where the compiler looks for our headers."""
        places = [word[2:] for word in shlex.split(command) if word.startswith("-I")]
        return [self.relative(place) for place in places if place.startswith(f"{ROOT}/")]

    def closure(self, unit: str, places: list[str]) -> set[str]:
        """The unit, and the files of ours that it includes, directly or not."""
        found, left = {unit}, [unit]
        while left:
            file = left.pop()
            for name in self.names_in(file):
                for place in [os.path.dirname(file), *places]:
                    path = os.path.normpath(os.path.join(place, name))
                    if (ROOT / path).is_file():
                        if path not in found:
                            found.add(path)
                            left.append(path)
                        break
        return found

    def names_in(self, file: str) -> list[str]:
        if file not in self.included:
            self.included[file] = INCLUDE.findall((ROOT / file).read_text(encoding="utf-8"))
        return self.included[file]

    def relative(self, path: str) -> str:
        return os.path.relpath(path, ROOT) if path.startswith(f"{ROOT}/") else path

    def unit_for(self, header: str) -> str | None:
        """A unit that includes the header: of its own name, else the one with the fewest parts."""
        users = [
            unit
            for unit, parts in self.parts.items()
            if header in parts and not unit.startswith(("test/", "build/"))
        ]
        stem = pathlib.PurePath(header).stem

        def order(unit: str) -> tuple[bool, int, str]:
            return pathlib.PurePath(unit).stem != stem, len(self.parts[unit]), unit

        return min(users, key=order, default=None)

    def fingerprint(self, unit: str) -> str:
        digest = hashlib.sha1(self.tools.encode())
        digest.update(self.commands[unit].replace(str(ROOT), "").encode())
        for part in [".clang-tidy", "tools/tidy.py", *sorted(self.parts[unit])]:
            path = ROOT / part
            digest.update(part.encode() + b"\0" + (path.read_bytes() if path.is_file() else b""))
        return digest.hexdigest()


def units_of(build: Build, files: list[str]) -> list[str]:
    units: set[str] = set()
    headers = []
    for file in files:
        if file in build.commands:
            units.add(file)
        elif file.endswith(".hpp"):
            headers.append(file)
        else:
            print(f"tidy: {file} is in no target")
    for header in headers:
        if any(header in build.parts[unit] for unit in units):
            continue
        if unit := build.unit_for(header):
            units.add(unit)
        else:
            print(f"tidy: no unit includes {header}")
    return sorted(units)


def run(build: Build, unit: str) -> tuple[str, str, int, float]:
    begin = time.monotonic()
    result = subprocess.run(
        [CLANG_TIDY, "--quiet", "-p", str(build.folder), str(ROOT / unit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    # What stands on standard error of a clean run is a count of silenced warnings.
    text = result.stdout + (result.stderr if result.returncode and not result.stdout else "")
    return unit, text, result.returncode, time.monotonic() - begin


def report(text: str, seen: set[str]) -> None:
    """Prints each finding once, though each unit that includes the header has it."""
    starts = [match.start() for match in DIAGNOSTIC.finditer(text)] or [0]
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        finding = text[begin:end].rstrip().replace(f"{ROOT}/", "")
        if finding and finding not in seen:
            seen.add(finding)
            print(finding)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--commits", type=int, default=0)
    parser.add_argument("--build", default=str(ROOT / "build/clang"))
    options = parser.parse_args()

    build = Build(pathlib.Path(options.build).resolve())
    units = units_of(build, all_files() if options.all else changed_files(options.commits))
    cache = CACHE
    cache.mkdir(parents=True, exist_ok=True)
    stamps = {unit: cache / build.fingerprint(unit) for unit in units}
    left = [unit for unit in units if not stamps[unit].exists()]

    failed = 0
    seen: set[str] = set()
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for unit, text, status, seconds in pool.map(lambda unit: run(build, unit), left):
            print(f"tidy: {unit} {seconds:.0f} s", flush=True)
            if status:
                failed += 1
                report(text, seen)
            else:
                stamps[unit].touch()
    print(f"tidy: {len(units)} units, {len(left)} looked at, {failed} with findings")
    sys.exit(1 if failed else 0)


main()
