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


def lint() -> None:
    check_format()
    configure("dev")
    ctest("dev", "-L", "^(lint|setup)$")


def tidy(everything: bool = IN_CI) -> None:
    """With the commands of the preset clang, where each source is compiled alone."""
    if is_missing("clang-tidy-16", "it does not run") or is_missing("clang++-16", "no clang-tidy"):
        return
    build("clang", "colock-scripts")
    run("tools/tidy.py", *(["--all"] if everything else []))
