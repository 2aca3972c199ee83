"""Mutants: what test/mutants.toml lists, and copies of the tree in which they are built and tested."""

import functools
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import tomllib
from typing import NamedTuple

from .parts import ROOT

sys.path.insert(0, str(ROOT / "cmake"))
from embed_scripts import FORMS, expand  # noqa: E402
from list_suites import suites_of  # noqa: E402

LIST = ROOT / "test/mutants.toml"
FIELDS = {"name", "file", "line", "with", "breaks", "first"}
LABELS = ("unit", "simulation", "world")
PROGRAMS = {label: f"colock-{label}-tests" for label in LABELS}
# It is about the simulator, and breaks the product in ways of its own.
NOT_ASKED = {"world.world_machinery"}

OPTIONS = [f"-DCOLOCK_BUILD_{what}=OFF" for what in ("EXAMPLES", "BENCH", "TOOLS")]
OPTIONS += ["-DCOLOCK_INTEROP=OFF"]

ERROR = re.compile(r'error: in "([^"]+)"')


class Wrong(Exception):
    """The list, or the tree, is not as it has to be."""


# ---- The list ------------------------------------------------------------------------------------


class Mutant(NamedTuple):
    name: str
    file: str
    line: list[str]
    instead: list[str]
    breaks: str
    first: str

    def apply(self, text: str) -> str:
        """The text of the file with its line replaced, which has to be there once."""
        lines = text.splitlines()
        bare = [line.strip() for line in lines]
        size = len(self.line)
        places = [at for at in range(len(bare)) if bare[at : at + size] == self.line]
        if len(places) != 1:
            raise Wrong(f"{self.name}: {self.file} has {len(places)} times: {' / '.join(self.line)}")
        at = places[0]
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines[at : at + size] = [indent + line for line in self.instead]
        return "\n".join(lines) + "\n"


def stripped(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def mutant_of(entry: dict) -> Mutant:
    if unknown := (FIELDS - {"first"} - set(entry)) | (set(entry) - FIELDS):
        raise Wrong(f"{entry.get('name', entry)}: missing or unknown: {' '.join(sorted(unknown))}")
    return Mutant(
        entry["name"],
        entry["file"],
        stripped(entry["line"]),
        stripped(entry["with"]),
        entry["breaks"],
        entry.get("first", ""),
    )


def read_list() -> list[Mutant]:
    found = [mutant_of(entry) for entry in tomllib.loads(LIST.read_text("utf-8"))["mutant"]]
    names = [mutant.name for mutant in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise Wrong(f"more than one is called {' '.join(sorted(twice))}")
    return found


def check_list(mutants: list[Mutant]) -> None:
    """Each is still about a line that is there once, and about a test that is there."""
    known, complaints = all_suites(), []
    for mutant in mutants:
        try:
            mutant.apply((ROOT / mutant.file).read_text("utf-8"))
        except (Wrong, OSError) as wrong:
            complaints.append(str(wrong))
        suite = mutant.first.partition("/")[0]
        if suite and suite not in known:
            complaints.append(f"{mutant.name}: no test {suite}")
    if complaints:
        raise Wrong("\n".join(complaints))


def all_suites() -> set[str]:
    """label.suite of the tests that mutants have to fear."""
    folders = {"unit": "unit", "simulation": "simulation/tests", "world": "simulation/world/tests"}
    return {
        f"{label}.{suite}"
        for label, folder in folders.items()
        for path in (ROOT / "test" / folder).rglob("*.cpp")
        for suite in suites_of(path.read_text("utf-8"), str(path))
    } - NOT_ASKED


# ---- A copy of the tree --------------------------------------------------------------------------


def files_of_tree() -> list[str]:
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


class Tree:
    """A copy with a build of its own. What is the same stays untouched, so little is built again."""

    def __init__(self, number: int) -> None:
        self.root = ROOT / "build/mutants" / str(number)
        self.build_folder = self.root / "build/dev"
        self.log = self.root / "build/log"
        self.scripts = self.root / "build/scripts"

    def bring(self) -> None:
        """Makes it the same as the working tree."""
        wanted = set(files_of_tree())
        for name in wanted:
            self.put(name, (ROOT / name).read_bytes())
        for path in self.root.rglob("*"):
            name = path.relative_to(self.root)
            if name.parts[0] in ("build", ".deps") or not path.is_file():
                continue
            if str(name) not in wanted:
                path.unlink()
        link = self.root / ".deps"
        if not link.is_symlink() and (ROOT / ".deps").exists():
            link.symlink_to((ROOT / ".deps").resolve())

    def put(self, name: str, content: bytes) -> None:
        path = self.root / name
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod((ROOT / name).stat().st_mode & 0o777)

    # ---- Scripts, which the simulated server takes from a folder: nothing is built for them

    def script_texts(self) -> list[str]:
        """All scripts as they are sent, in each form, in the same order each time."""
        return [
            expand(path, form)
            for path in sorted((self.root / "scripts").glob("*.lua"))
            for form in ("plain", *FORMS)
        ]

    def note_broken_scripts(self, whole: list[str]) -> None:
        for path in self.scripts.glob("*"):
            path.unlink()
        self.scripts.mkdir(exist_ok=True)
        for text, broken in zip(whole, self.script_texts(), strict=True):
            if broken != text:
                sha1 = hashlib.sha1(text.encode()).hexdigest()
                (self.scripts / f"{sha1}.lua").write_text(broken)

    # ---- Building

    def run(self, *words: object) -> bool:
        with self.log.open("a") as log:
            command = [str(word) for word in words]
            done = subprocess.run(command, cwd=self.root, stdout=log, stderr=log, check=False)
        return done.returncode == 0

    def configure(self) -> bool:
        self.log.parent.mkdir(exist_ok=True)
        self.log.write_text("")
        return self.run("cmake", "--preset", "dev", *OPTIONS)

    def build(self, label: str, jobs: int) -> bool:
        return self.run(
            "cmake", "--build", self.build_folder, "-j", jobs, "--target", PROGRAMS[label]
        )

    @functools.cache  # noqa: B019
    def program(self, label: str) -> pathlib.Path:
        found = [path for path in self.build_folder.rglob(PROGRAMS[label]) if path.is_file()]
        if len(found) != 1:
            raise Wrong(f"no {PROGRAMS[label]}: is what tools/setup installs there?")
        return found[0]

    def last_words(self) -> str:
        lines = self.log.read_text("utf-8", "replace").splitlines()
        errors = [line for line in lines if re.search(r"\berror\b|FAILED", line)]
        return "\n".join((errors or lines)[-5:])


# ---- Tests ---------------------------------------------------------------------------------------


class Found(NamedTuple):
    test: str  # label.suite/case; none if all went well
    by_timeout: bool = False


class Run:
    """One suite, or one case of it, until it ends or the first check of it fails."""

    def __init__(self, tree: Tree, test: str, limit: float, seconds: int) -> None:
        self.test, self.limit = test, limit
        label, _, which = test.partition(".")
        self.label = label
        program = tree.program(label)
        words = [str(program), f"--run_test={which}", "--log_level=error", "--color_output=no"]
        self.process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=program.parent,
            env={
                **os.environ,
                # All of them take about a minute.
                "COLOCK_SIMULATION_WORLDS": str(seconds * 100 // 60),
                "COLOCK_SCRIPTS": str(tree.scripts),
            },
        )

    def outcome(self) -> Found:
        timed_out = threading.Event()

        def end() -> None:
            timed_out.set()
            self.process.kill()

        timer = threading.Timer(self.limit, end)
        timer.start()
        try:
            for line in self.process.stdout or ():
                if case := ERROR.search(line):
                    return Found(f"{self.label}.{case[1]}")
            status = self.process.wait()
        finally:
            timer.cancel()
            self.process.kill()
            self.process.wait()
        if timed_out.is_set():
            return Found(self.test, by_timeout=True)
        return Found(self.test if status else "")


class Suites:
    """Runs suites of one tree, several at once, until one has failed."""

    def __init__(self, tree: Tree, at_once: int, seconds: int) -> None:
        self.tree, self.at_once, self.seconds = tree, at_once, seconds
        self.lock = threading.Lock()
        self.running: list[Run] = []
        self.found = Found("")
        self.took: dict[str, float] = {}

    def first_failing(self, tests: list[str], limits: dict[str, float]) -> Found:
        self.found = Found("")
        left = list(tests)

        def work() -> None:
            while True:
                with self.lock:
                    if not left or self.found.test:
                        return
                    test = left.pop(0)
                    run = Run(self.tree, test, limits.get(test, 600), self.seconds)
                    self.running.append(run)
                begin = time.monotonic()
                outcome = run.outcome()
                with self.lock:
                    self.running.remove(run)
                    self.took[test] = time.monotonic() - begin
                    if outcome.test and not self.found.test:
                        self.found = outcome
                        for other in self.running:
                            other.process.kill()

        threads = [threading.Thread(target=work) for _ in range(self.at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.found
