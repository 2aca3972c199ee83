"""Runs a script in a root of Debian 13 that has nothing but the packages it names."""

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable

from . import builds
from .parts import ROOT

# What the library and colock::testing are built with.
TOOLS = "cmake ninja-build python3 libboost-dev libssl-dev liblua5.1-0-dev".split()


def install(*packages: str) -> None:
    """On this machine, what is missing."""
    known = subprocess.run(["dpkg-query", "-W", "-f", "${Status}\n", *packages], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
    if packages and (known.returncode or "not-installed" in known.stdout):
        root = [] if os.geteuid() == 0 else ["sudo"]
        builds.run(*root, "apt-get", "install", "-q", "-y", "--no-install-recommends", *packages)


def words(settings: dict[str, object]) -> str:
    """Of CMake's command line."""
    return shlex.join(f"-D{name}={value}" for name, value in settings.items())


def run(packages: list[str], lines: Iterable[str]) -> None:
    """Runs the lines of a shell script in a new root, which has these packages and TOOLS, and the tree in
    /sources."""
    builds.set_up()
    install("mmdebstrap")
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    with tempfile.TemporaryDirectory() as place:
        sources = pathlib.Path(place, "sources")
        for name in listed:
            if name and (ROOT / name).is_file():
                (sources / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, sources / name)
        (sources / "run.sh").write_text("\n".join(["set -eux", *lines]) + "\n")
        builds.run("mmdebstrap", "--quiet", "--variant=apt", "--dpkgopt=force-unsafe-io",
                   f"--include={','.join([*TOOLS, *packages])}", f"--customize-hook=copy-in {sources} /",
                   '--customize-hook=chroot "$1" sh /sources/run.sh', "--format=null", "trixie", "/dev/null")
