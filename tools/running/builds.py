"""Sets up, configures, builds, and runs tests of ctest."""

import json
import os
import pathlib
import platform
import re
import subprocess
import sys
from collections.abc import Iterable

from . import honesty
from .parts import ROOT, Failed

sys.path.insert(0, str(ROOT / "cmake"))
from list_suites import suites_of  # noqa: E402

JOBS = os.cpu_count() or 2
IN_CI = os.environ.get("CI") == "true"


def run(*command: object, **environment: str) -> None:
    words = [str(word) for word in command]
    if subprocess.run(words, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode:
        raise Failed


def changed_at(path: pathlib.Path) -> float:
    return path.stat().st_mtime if path.exists() else 0


def set_up() -> None:
    """Runs tools/setup, unless all of it has run since it was changed."""
    if is_set_up("all"):
        print("nothing to do: tools/setup has run since it was changed")
    else:
        run("tools/setup")


def set_up_tests() -> None:
    """Runs of tools/setup what tools/test has to have, unless it has run since it was changed."""
    if IN_CI:
        set_up()  # nothing is left out there
    elif is_set_up("tests") or is_set_up("all"):
        print("nothing to do: tools/setup has run since it was changed")
    else:
        run("tools/setup", "--tests")


def is_set_up(part: str) -> bool:
    return changed_at(ROOT / f".deps/ready_for_{part}") > changed_at(ROOT / "tools/setup")


def configure(preset: str, *more: object) -> None:
    command = ["cmake", "--preset", preset, *map(str, more)]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        print(done.stdout)
        raise Failed


def folder(preset: str) -> pathlib.Path:
    return ROOT / "build" / preset


def build(preset: str, *targets: str) -> None:
    configure(preset)
    what = ("--target", *targets) if targets else ()
    run("cmake", "--build", folder(preset), "-j", JOBS, *what)


# ---- What a test is made of ----------------------------------------------------------------------


class Program:
    """A program of Boost.Test suites, as cmake/AddTests.cmake notes it."""

    def __init__(self, line: str) -> None:
        self.label, self.name, *self.sources = line.split(" ")

    def tests(self) -> set[str]:
        texts = ((pathlib.Path(path).read_text("utf-8"), path) for path in self.sources)
        return {f"{self.label}.{suite}" for text, path in texts for suite in suites_of(text, path)}


def programs(preset: str) -> list[Program]:
    return [Program(line) for line in (folder(preset) / "test_programs").read_text().splitlines()]


def programs_of(preset: str, labels: set[str]) -> list[str]:
    return [program.name for program in programs(preset) if program.label in labels]


def tests_of_ctest(preset: str) -> list[dict]:
    words = ["ctest", "--preset", preset, "--show-only=json-v1"]
    said = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout
    return json.loads(said)["tests"]


def labels_of(test: dict) -> list[str]:
    return next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])


def tests_of(preset: str, labels: set[str]) -> list[dict]:
    return [test for test in tests_of_ctest(preset) if labels & set(labels_of(test))]


def command_of(preset: str, name: str) -> list[str]:
    """As CMake wrote it: ctest shows no command whose program isn't built yet."""
    line = re.compile(rf"^add_test\(\[=*\[{re.escape(name)}\]=*\] (.*)\)$", re.MULTILINE)
    files = folder(preset).rglob("CTestTestfile.cmake")
    # A build that a test makes inside this one has files of the same names, deeper.
    for file in sorted(files, key=lambda path: len(path.parts)):
        if found := line.search(file.read_text("utf-8")):
            return re.findall(r'"([^"]*)"', found[1])
    return []


def outputs_in(preset: str, test: dict) -> set[str]:
    """The programs of the build that the command or the environment of a test names."""
    words = test.get("command") or command_of(preset, test["name"])
    for each in test.get("properties", []):
        if each["name"] == "ENVIRONMENT":
            words += [word.partition("=")[2] for word in each["value"]]
    inside = f"{folder(preset)}/"
    return {word.removeprefix(inside) for word in words if word.startswith(inside)}


def known_outputs(preset: str) -> set[str]:
    words = ["ninja", "-C", str(folder(preset)), "-t", "targets", "all"]
    said = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False).stdout
    return {line.partition(": ")[0] for line in said.splitlines()}


def targets_for(preset: str, wanted: str) -> list[str]:
    """What to build for the tests whose names match, as ctest -R matches them."""
    match = re.compile(wanted).search
    found = {
        program.name for program in programs(preset) if any(match(test) for test in program.tests())
    }
    for test in tests_of_ctest(preset):
        if match(test["name"]):
            found |= outputs_in(preset, test)
    return sorted(found & known_outputs(preset))


# ---- Running them --------------------------------------------------------------------------------


def fixed_addresses(preset: str) -> list[str]:
    """The memory that the thread sanitizer reserves collides with a layout of more random bits."""
    bits = pathlib.Path("/proc/sys/vm/mmap_rnd_bits")
    if preset == "tsan" and bits.exists() and int(bits.read_text()) > 28:
        return ["setarch", platform.machine(), "-R"]
    return []


# In the output of a test that fails. .ci/run repeats it at its end.
TELLING = re.compile(r"error: |again: |\*\*\*")


def ctest(preset: str, *arguments: str, **environment: str) -> None:
    # Most of them wait most of the time; one of several processes counts as two (PROCESSORS).
    at_once = 3 * JOBS if preset == "dev" else 2 * JOBS
    words = [*fixed_addresses(preset), "ctest", "--preset", preset, "-j", str(at_once), *arguments]
    skipped, telling = [], []
    with subprocess.Popen(
        words, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)
            if "***Skipped" in line:
                skipped.append(line.strip())
            elif TELLING.search(line):
                telling.append(line)
    if running.returncode:
        note_failures(telling)
    log = folder(preset) / "Testing/Temporary/LastTest.log"
    if log.exists():
        skipped += honesty.complaints(preset, log.read_text("utf-8", errors="replace"))
    if skipped and IN_CI:
        note_failures(f"{preset}: {line}\n" for line in skipped)
        print("with CI=true what is skipped, or checks nothing, has failed:", *skipped, sep="\n    ")
        raise Failed
    if running.returncode:
        raise Failed


def note_failures(lines: Iterable[str]) -> None:
    with (ROOT / "build/failures").open("a") as failures:
        failures.writelines(lines)


def without(what: str) -> None:
    """What is not there can't be tested. That is no success with CI=true."""
    print(what)
    if IN_CI:
        note_failures([f"with CI=true it has failed: {what}\n"])
        raise Failed


def test(preset: str, labels: set[str], *more: str, **environment: str) -> None:
    """Builds what the tests with these labels need, and runs them; hands `more` on."""
    configure(preset)
    needed = set(programs_of(preset, labels))
    needed.update(*(outputs_in(preset, test) for test in tests_of(preset, labels)))
    if targets := sorted(needed & known_outputs(preset)):
        build(preset, *targets)
    # Some can be listed only now.
    found = tests_of(preset, labels)
    if empty := labels.difference(*(labels_of(test) for test in found)):
        without(f"there are no tests {' '.join(sorted(empty))}")
    if found:
        ctest(preset, "-L", f"^({'|'.join(sorted(labels))})$", *more, **environment)


def test_named(preset: str, wanted: str, *more: str, **environment: str) -> None:
    """Builds what the tests of these names need, and runs them."""
    configure(preset)
    if targets := targets_for(preset, wanted):
        build(preset, *targets)
    ctest(preset, "-R", wanted, *more, **environment)
