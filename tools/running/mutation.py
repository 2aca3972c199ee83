"""Mutants of the product: which are accepted, and copies of the tree in which they are built and tested."""

import contextlib
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
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from .operators import Mutant, functions_of, mutants_of
from .parts import ROOT

sys.path.insert(0, str(ROOT / "cmake"))
from embed_scripts import FORMS, INCLUDE, expand  # noqa: E402
from list_suites import suites_of  # noqa: E402
from shape import File  # noqa: E402

ACCEPTED = ROOT / "test/accepted_mutants.toml"
FIELDS = {"file", "function", "digest", "mutant", "reason"}

# Those that take longer come later, because the first failure ends the tests of a mutant.
LABELS = ("unit", "simulation", "world")
PROGRAMS = {
    "unit": "colock-unit-tests",
    "simulation": "colock-simulation-tests",
    "world": "colock-simulate",
}
FOLDERS = {"unit": "unit", "simulation": "simulation/tests"}
SCENARIOS = ("contended", "kinds", "storm", "arena", "failover", "shards")

OPTIONS = [f"-DCOLOCK_BUILD_{what}=OFF" for what in ("EXAMPLES", "BENCH", "TOOLS")]
OPTIONS += ["-DCOLOCK_INTEROP=OFF"]

# A mutant has its own style.
IGNORED = "".join(
    f'#pragma GCC diagnostic ignored "-W{what}"\n'
    for what in ("parentheses", "unused-variable", "unused-parameter", "type-limits", "extra")
)

ERROR = re.compile(r'error: in "([^"]+)"')


class Wrong(Exception):
    """The list, or the tree, is not as it has to be."""


# ---- Which mutants there are ---------------------------------------------------------------------


def product() -> list[str]:
    folders = [*(ROOT / "src").rglob("*.?pp"), *(ROOT / "scripts").rglob("*.lua")]
    return sorted(str(path.relative_to(ROOT)) for path in folders)


def all_mutants(files: list[str]) -> list[Mutant]:
    return [each for file in files for each in mutants_of(file, (ROOT / file).read_text("utf-8"))]


def changed_lines(base: str) -> dict[str, set[int]]:
    """The lines of the product that are not as they were at that revision."""
    words = ["git", "diff", "--unified=0", "--no-color", "--no-ext-diff", base, "--", "src", "scripts"]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Wrong(f"git knows no {base}")
    found: dict[str, set[int]] = {}
    file = ""
    for line in done.stdout.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ b/")
        elif match := re.match(r"@@ -\S+ \+([0-9]+)(?:,([0-9]+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            found.setdefault(file, set()).update(range(first, first + count))
    return {name: lines for name, lines in found.items() if (ROOT / name).is_file() and lines}


def is_on(mutant: Mutant, lines: set[int]) -> bool:
    return any(line in lines for line in range(mutant.line, mutant.last_line + 1))


# ---- Which of them no test has to find -----------------------------------------------------------


class Accepted(NamedTuple):
    file: str
    function: str
    digest: str
    mutant: str
    reason: str

    def covers(self, mutant: Mutant) -> bool:
        function = mutant.function
        known = (mutant.file, function.name, function.digest, mutant.label)
        return known == (self.file, self.function, self.digest, self.mutant)


def read_accepted(text: str) -> list[Accepted]:
    found = []
    for entry in tomllib.loads(text).get("accepted", []):
        if set(entry) != FIELDS or not all(entry.values()):
            raise Wrong(f"{ACCEPTED.name}: an entry has {' '.join(sorted(FIELDS))}: {entry}")
        found.append(Accepted(**entry))
    return found


def stale_ones(accepted: list[Accepted], text_of) -> list[str]:  # noqa: ANN001
    """What has to be looked at again: its function is another one now."""
    complaints = []
    for each in accepted:
        text = text_of(each.file)
        functions = functions_of(each.file, text) if text is not None else []
        if not any((f.name, f.digest) == (each.function, each.digest) for f in functions):
            complaints.append(f"{each.file}: {each.function} has changed: {each.mutant} ({each.reason})")
        elif not any(each.covers(mutant) for mutant in mutants_of(each.file, text)):
            complaints.append(f"{each.file}: {each.function} has no mutant {each.mutant}")
    return complaints


def text_of_tree(file: str) -> str | None:
    path = ROOT / file
    return path.read_text("utf-8") if path.is_file() else None


def entry_of(mutant: Mutant) -> str:
    """As the list of accepted ones has it, without its reason."""
    function = mutant.function
    return (
        f"[[accepted]]\nfile = '{mutant.file}'\nfunction = '{function.name}'\n"
        f"digest = '{function.digest}'\nmutant = '{mutant.label}'\nreason = ''\n"
    )


# ---- Which tests are likely to find one ----------------------------------------------------------


def sources_of_suites() -> dict[str, str]:
    """label.suite, and the texts of the files that it is in."""
    found: dict[str, str] = {}
    for label, folder in FOLDERS.items():
        for path in sorted((ROOT / "test" / folder).rglob("*.cpp")):
            text = path.read_text("utf-8")
            for suite in suites_of(text, str(path)):
                found[f"{label}.{suite}"] = found.get(f"{label}.{suite}", "") + text
    return found


def words_for_source(file: str) -> Counter[str]:
    """What a test names that has to do with a source, each with its weight."""
    path = pathlib.Path(file)
    words = Counter({path.stem: 3, str(path.with_suffix(".hpp")).removeprefix("src/"): 5})
    for sibling in (ROOT / file).parent.glob(f"{path.stem}.?pp"):
        for each in File(file, sibling.read_text("utf-8")).classes:
            words[each.name.rpartition("::")[2]] = 1
    # A class in parts is named by its first word: exclusive_lock of exclusive_lock_asker.cpp.
    stem = path.stem
    while "_" in stem:
        stem = stem.rpartition("_")[0]
        if (ROOT / file).with_name(f"{stem}.hpp").exists():
            words[stem] = 2
    return words


def words_for_script(file: str) -> Counter[str]:
    """The scripts that have this text in them."""
    name = pathlib.Path(file).name.replace(".sharded", "").replace(".both", "")
    reached, found = {name}, Counter[str]()
    texts = {p.name: p.read_text("utf-8") for p in (ROOT / "scripts").rglob("*.lua")}
    while more := {n for n, text in texts.items() if reached & set(INCLUDE.findall(text))} - reached:
        reached |= more
    for path in (ROOT / "scripts").glob("*.lua"):
        if path.name in reached:
            found[f"scripts::{path.stem}"] = 2 if path.name == name else 1
    return found


@functools.cache
def suites_by_likeness(file: str) -> dict[str, int]:
    words = words_for_script(file) if file.endswith(".lua") else words_for_source(file)
    likeness = {}
    for test, text in sources_of_suites().items():
        named = sum(
            weight * min(5, len(re.findall(rf"\b{re.escape(word)}\b", text)))
            for word, weight in words.items()
        )
        if pathlib.Path(file).stem in test:
            named += 20
        likeness[test] = named
    return likeness


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

    @contextlib.contextmanager
    def script_as(self, name: str, text: str) -> Iterator[None]:
        """With another text for a while, of which the build knows nothing."""
        path = self.root / name
        before, stat = path.read_bytes(), path.stat()
        path.write_text(text, "utf-8")
        try:
            yield
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

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
        return self.run("cmake", "--build", self.build_folder, "-j", jobs, "--target", PROGRAMS[label])

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
        if label == "world":
            words = [str(program), which, "--seed", "1", "--seconds", str(seconds), "--shrink", "0"]
        self.process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=program.parent,
            env={
                **os.environ,
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
