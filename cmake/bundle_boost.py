#!/usr/bin/python3
"""Copies what of Boost a user of colock needs: Asio, and what it and colock's headers include.

    bundle_boost.py COMPILER COLOCK_INCLUDE BOOST_INCLUDE FOLDER

What is included is what the compiler says of a file that includes all of it; Asio and Boost.Config,
which include by compiler and system, are copied whole.
"""

import pathlib
import shutil
import subprocess
import sys

WHOLE = ("asio", "config")
# Headers of colock, and folders of them, that want a library of somebody else's.
OPTIONAL = {"spdlog.hpp", "prometheus.hpp", "otel.hpp", "otel"}
# Beyond colock's needs: compiled libraries stand behind them, or other systems.
LEFT_OUT = ("spawn.hpp", "windows", "unyield.hpp", "yield.hpp")


def includes(boost: pathlib.Path, colock: pathlib.Path) -> list[str]:
    asio = [
        f"boost/asio/{path.relative_to(boost / 'boost/asio')}"
        for folder in ("", "experimental", "ip", "local", "posix", "execution", "ssl")
        for path in sorted((boost / "boost/asio" / folder).glob("*.hpp"))
        if path.name not in LEFT_OUT
    ]
    own = [
        str(path.relative_to(colock))
        for path in sorted(colock.rglob("*.hpp"))
        if not OPTIONAL & set(path.relative_to(colock).parts)
    ]
    return [*asio, "boost/asio.hpp", *own]


def dependencies(compiler: str, boost: pathlib.Path, colock: pathlib.Path) -> set[pathlib.Path]:
    source = "".join(f"#include <{name}>\n" for name in includes(boost, colock))
    # g++ looks in /usr/include by itself. If it is named, g++ finds the C headers there too early.
    system = [] if boost == pathlib.Path("/usr/include") else ["-isystem", boost]
    run = subprocess.run(
        [compiler, "-std=c++20", "-M", "-x", "c++", "-I", colock, *system, "-"],
        input=source,
        capture_output=True,
        text=True,
    )
    if run.returncode != 0:
        sys.exit(f"bundle_boost: {compiler} -M fails:\n{run.stderr}")
    words = run.stdout.replace("\\\n", " ").split()
    found = {pathlib.Path(word).resolve() for word in words if "/boost/" in word}
    return {path for path in found if path.is_relative_to(boost / "boost")}


def main() -> None:
    compiler, colock, boost, to = sys.argv[1], *(pathlib.Path(a).resolve() for a in sys.argv[2:])
    files = dependencies(compiler, boost, colock)
    for folder in WHOLE:
        files.update(path for path in (boost / "boost" / folder).rglob("*") if path.is_file())
    shutil.rmtree(to, ignore_errors=True)
    for path in sorted(files):
        target = to / path.relative_to(boost)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    size = sum(path.stat().st_size for path in files)
    print(f"{len(files)} files, {size / 2**20:.1f} MiB")


main()
