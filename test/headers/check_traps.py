#!/usr/bin/python3
"""Checks that the compiler tells of the mistakes that release a lock at once.

    check_traps.py --compiler C [--clang C] [--include DIR]... [--system DIR]...

Clang has to refuse the marked lines of dropped.cpp, and only those: it warns of a dropped `co_await`,
and g++ 12 to 14 do not. Each compiler has to refuse refused.cpp, once for each mark, with the words
that belong to the mark, and to take forms.cpp without a warning. Without clang the first part is skipped: the exit status is 77.
"""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SKIPPED = 77

# How a compiler refuses a line with this mark.
WORDS = {
    "argument": r"error: static assertion failed.*the work takes a reference to what is held, or nothing",
    "coroutine": r"error: static assertion failed.*the work is a coroutine that returns boost::asio::awaitable",
}


def errors_of(compiler: str, flags: list[str], source: pathlib.Path) -> list[str]:
    """The lines with the compiler's errors."""
    result = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", *flags, str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return [line for line in result.stdout.splitlines() if "error: " in line]


def marks_in(source: pathlib.Path) -> dict[int, str]:
    lines = source.read_text().splitlines()
    found = [(number, re.search(r"// \[(.+)\]$", line)) for number, line in enumerate(lines, 1)]
    return {number: mark[1] for number, mark in found if mark}


def findings_of_dropped(clang: str, flags: list[str]) -> list[str]:
    source = HERE / "dropped.cpp"
    wanted = set(marks_in(source))
    errors = errors_of(clang, [*flags, "-Werror=unused-result", "-Werror=unused-value"], source)
    at = {line: re.match(r".*dropped\.cpp:(\d+):\d+: error: ignoring", line) for line in errors}
    refused = {int(place[1]) for place in at.values() if place}
    wrong = [f"dropped.cpp:{number}: clang says nothing" for number in sorted(wanted - refused)]
    wrong += [line for line, place in at.items() if not place or int(place[1]) not in wanted]
    return wrong


def findings_of_refused(compiler: str, flags: list[str]) -> list[str]:
    source = HERE / "refused.cpp"
    wanted = list(marks_in(source).values())
    errors = errors_of(compiler, flags, source)
    wrong = []
    for mark, words in WORDS.items():
        said = sum(bool(re.search(words, line)) for line in errors)
        if said != wanted.count(mark):
            wrong.append(
                f"refused.cpp: {compiler} says {said} times, and not {wanted.count(mark)}: {words}"
            )
    return wrong + (errors if wrong else [])


def findings_of_forms(compiler: str, flags: list[str]) -> list[str]:
    return errors_of(compiler, [*flags, "-Wall", "-Wextra", "-Wconversion", "-Werror"], HERE / "forms.cpp")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--clang", default="")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--system", action="append", default=[])
    options = parser.parse_args()
    flags = [f"-I{folder}" for folder in options.include]
    for folder in options.system:
        flags += ["-isystem", folder]

    wrong = []
    for compiler in sorted({options.compiler, options.clang} - {""}):
        wrong += findings_of_refused(compiler, flags)
        wrong += findings_of_forms(compiler, flags)
    if options.clang:
        wrong += findings_of_dropped(options.clang, flags)
    print("\n".join(wrong))
    if wrong:
        sys.exit(1)
    if not options.clang:
        print("skipped: without clang nobody warns of a dropped co_await")
        sys.exit(SKIPPED)


main()
