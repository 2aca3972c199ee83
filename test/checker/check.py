#!/usr/bin/python3
"""Judges histories of simulated worlds and of chaos with the outside checker, which is in Go.

    check.py defects                its own tests: one good history, and planted defects
    check.py worlds SIMULATE        worlds of each scenario, and mutants that it has to reject
    check.py chaos CHAOS_TESTS      faults of one server, and a server that grants a lock twice
    check.py histories FOLDER       those that are in a folder

Exits 77 without Go.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "outside"
SKIPPED = 77

# A world has a few thousand operations of each name in this time.
LENGTH = {"idle": 600_000, "contended": 2_000}
USUAL_LENGTH = 20_000
WORLDS = 3
# What users see of it, and not only the judge of the world, which knows the servers.
MUTANTS = {"acquire_ignores_owner": "contended", "tokens_fall": "arena", "permits_never_end": "kinds"}

CHAOS = ["faults/each_once*", "fence/each_once*"]
# They do what may not be.
WRONG = ["a_script_without_its_check", "writes_of_the_stopped_that_are_not_fenced"]


def go(*words: str) -> int:
    return subprocess.run(["go", *words], cwd=PROGRAM, check=False).returncode


def build(folder: pathlib.Path) -> pathlib.Path:
    program = folder / "outside"
    if go("build", "-o", str(program)):
        sys.exit(1)
    return program


def judge(folder: pathlib.Path) -> int:
    """0: each was accepted; 1: one was rejected; 2: one could not be judged."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        sys.exit(f"no histories in {folder}")
    with tempfile.TemporaryDirectory() as made:
        return subprocess.run([build(pathlib.Path(made)), *files], check=False).returncode


def expect(folder: pathlib.Path, what: str, wanted: int) -> bool:
    print(f"-- {what}", flush=True)
    if (found := judge(folder)) == wanted:
        return True
    print(f"{what}: {['accepted', 'rejected', 'not judged'][found]}, and should not be")
    return False


def simulate(program: str, folder: pathlib.Path, *words: str) -> int:
    command = [program, *words, "--shrink", "0", "--story", "0", "--histories", str(folder)]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode


def worlds(program: str) -> bool:
    said = subprocess.run([program, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    scenarios = re.search(r"scenarios:(.*)", said)[1].split()
    good = True
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        for name in scenarios:
            length = str(LENGTH.get(name, USUAL_LENGTH))
            given = (name, "--seed", "1", "--worlds", str(WORLDS), "--length", length)
            if simulate(program, folder, *given):
                good = False
                print(f"{name}: the world's own judge has found something")
        good &= expect(folder, "worlds", 0)
    for mutant, scenario in MUTANTS.items():
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            simulate(program, folder, scenario, "--seed", "1", "--worlds", "40", "--mutant", mutant)
            # The world ends with what its judge finds, so the others are good.
            newest = max(folder.glob("*.jsonl"), key=lambda file: int(file.suffixes[-2][1:]))
            for file in folder.glob("*.jsonl"):
                if file != newest:
                    file.unlink()
            good &= expect(folder, mutant, 1)
    return good


def chaos(program: str) -> bool:
    good = True
    for names, wanted in [(CHAOS, 0)] + [([f"checker_is_checked/{name}"], 1) for name in WRONG]:
        with tempfile.TemporaryDirectory() as made:
            command = [program, *(f"--run_test={name}" for name in names)]
            done = subprocess.run(command, env={**os.environ, "COLOCK_HISTORIES": made}, check=False)
            good &= done.returncode == 0
            good &= expect(pathlib.Path(made), ", ".join(names), wanted)
    return good


def main() -> int:
    if not shutil.which("go"):
        print("Go is missing: tools/setup installs it")
        return SKIPPED
    match sys.argv[1:]:
        case ["defects"]:
            return go("vet") or go("test", "-count=1", "-v")
        case ["worlds", program]:
            return 0 if worlds(program) else 1
        case ["chaos", program]:
            return 0 if chaos(program) else 1
        case ["histories", folder]:
            return judge(pathlib.Path(folder))
    print(__doc__)
    return 64


if __name__ == "__main__":
    sys.exit(main())
