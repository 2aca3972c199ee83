#!/usr/bin/python3
# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""Processes of colock and of a client in another language enter one section in turns.

    run.py OURS [--sections N] [--limit SECONDS] [NAME ...]

OURS is the program colock-interop-language. NAME is `rust` (the crate redisson) or `node` (the package
node-redisson); without one, all of them. Each is built by its own package manager in a folder of its own
beside OURS. For each, two processes of ours and two of theirs share a plain lock on a server of their own,
until N sections are done (5,000) or the time is over. A file that only the owner of the section has shows
overlaps; each section leaves a letter in a journal, of which the turns are counted. Exits with 1 after an
overlap, or if one side had no turn.
"""

import argparse
import itertools
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def node(folder: pathlib.Path) -> list[str]:
    for name in ("package.json", "theirs.js"):
        shutil.copy(HERE / "node" / name, folder)
    subprocess.run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--omit=peer", "--silent"],
                   cwd=folder, check=True)
    return ["node", str(folder / "theirs.js")]


def rust(folder: pathlib.Path) -> list[str]:
    shutil.copy(HERE / "rust/Cargo.toml", folder)
    shutil.copytree(HERE / "rust/src", folder / "src", dirs_exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=folder, check=True)
    return [str(folder / "target/release/theirs")]


LANGUAGES = {"rust": rust, "node": node}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def turns(journal: str) -> dict[str, int]:
    found = {"c": 0, "t": 0}
    for letter, _ in itertools.groupby(journal):
        found[letter] += 1
    return found


def run(ours: pathlib.Path, name: str, sections: int, limit: float) -> bool:
    folder = ours.parent / f"interop-{name}"
    folder.mkdir(exist_ok=True)
    theirs = LANGUAGES[name](folder)
    port = free_port()
    with tempfile.TemporaryDirectory() as shared:
        server = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", shared],
                                  stdout=subprocess.DEVNULL)
        running: list[subprocess.Popen] = []
        begin = time.monotonic()
        try:
            while subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True, check=False).returncode:
                time.sleep(0.05)
            more = ["mixed", str(sections), shared]
            begin = time.monotonic()
            for _ in range(2):
                running.append(subprocess.Popen([*theirs, str(port), *more]))
                running.append(subprocess.Popen([ours, f"redis://127.0.0.1:{port}", *more]))
            while any(each.poll() is None for each in running) and time.monotonic() < begin + limit:
                time.sleep(0.05)
        finally:
            took = time.monotonic() - begin
            failed = [each.args[0] for each in running if each.poll() not in (None, 0)]
            for each in (*running, server):
                each.kill()
                each.wait()
        journal = pathlib.Path(shared, "journal").read_text("ascii")
        overlaps = pathlib.Path(shared, "overlaps")
        met = len(overlaps.read_text("ascii")) if overlaps.exists() else 0
    had = turns(journal)
    print(f"{name}: {len(journal)} sections in {took:.1f} s; theirs {journal.count('t')} in {had['t']} turns, "
          f"ours {journal.count('c')} in {had['c']} turns; overlaps {met}", flush=True)
    if failed:
        print(f"{name}: ended with an error: {failed}")
    return met == 0 and not failed and all(had.values()) and len(journal) >= sections


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sections", type=int, default=5_000)
    parser.add_argument("--limit", type=float, default=600)
    given = parser.parse_args()
    if unknown := set(given.names) - set(LANGUAGES):
        parser.error(f"no {' '.join(unknown)}; there are: {' '.join(LANGUAGES)}")
    good = [run(given.ours.resolve(), name, given.sections, given.limit) for name in given.names or LANGUAGES]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
