"""What looks at the source, and at nothing that is built."""

import shutil
import subprocess

from .builds import IN_CI, build, configure, ctest, run
from .parts import ROOT, Failed

CLANG_FORMAT = "clang-format-16"


def own_files() -> list[str]:
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    listed = subprocess.run(
        [*words, "*.hpp", "*.cpp"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def is_missing(program: str, what: str) -> bool:
    """Some systems have no release 16 of LLVM's tools; with CI=true they have to be there."""
    if IN_CI or shutil.which(program):
        return False
    print(f"{program} is not installed: {what}")
    return True


def check_format() -> None:
    if is_missing(CLANG_FORMAT, "the format is not checked"):
        return
    try:
        run(CLANG_FORMAT, "--dry-run", "-Werror", *own_files())
    except Failed:
        print(f"{CLANG_FORMAT} -i puts these files right")
        raise


# Later commits have subjects of at most so many characters.
SUBJECTS_SINCE = "8c32fd3fab45530973394d6c4a66d7715abeed8b"
LONGEST_SUBJECT = 72


def subjects() -> list[str]:
    def log(*words: str) -> str | None:
        said = subprocess.run(
            ["git", "log", "--format=%h %s", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        return None if said.returncode else said.stdout

    # A clone of the last commits alone does not have the one to begin with.
    found = log(f"{SUBJECTS_SINCE}..HEAD")
    return (log("-1", "HEAD") or "" if found is None else found).splitlines()


def check_subjects() -> None:
    too_long = [line for line in subjects() if len(line.partition(" ")[2]) > LONGEST_SUBJECT]
    if too_long:
        print(f"subjects of more than {LONGEST_SUBJECT} characters:", *too_long, sep="\n    ")
        raise Failed


def lint() -> None:
    check_subjects()
    check_format()
    configure("dev")
    ctest("dev", "-L", "^(lint|setup)$")


# As many as a landing has, or more. All files take twenty minutes where nothing is remembered.
COMMITS_IN_CI = 40


def tidy(everything: bool = False) -> None:
    """With the commands of the preset clang, where each source is compiled alone."""
    if is_missing("clang-tidy-16", "it does not run") or is_missing("clang++-16", "no clang-tidy"):
        return
    build("clang", "colock-scripts")
    if everything:
        run("tools/tidy.py", "--all")
    else:
        run("tools/tidy.py", "--commits", COMMITS_IN_CI if IN_CI else 0)
