#!/usr/bin/python3
"""Checks that cmake/Platform.cmake refuses what colock is not built for in one sentence, which says what
is needed, and nothing else.
"""

import pathlib
import subprocess
import sys

PLATFORM = pathlib.Path(__file__).resolve().parents[2] / "cmake/Platform.cmake"
GOOD = {"SYSTEM_NAME": "Linux", "SIZEOF_VOID_P": "8", "CXX_COMPILER": "c++", "CXX_COMPILER_ID": "GNU",
        "CXX_COMPILER_VERSION": "12.2.0"}

# What differs from a good platform, and what the sentence must say; nothing if it is good, too.
CASES: list[tuple[dict[str, str], list[str]]] = [
    ({}, []),
    ({"SYSTEM_NAME": "Darwin", "CXX_COMPILER_ID": "AppleClang", "CXX_COMPILER_VERSION": "16.0.0"}, []),
    ({"SYSTEM_NAME": "FreeBSD", "CXX_COMPILER_ID": "Clang", "CXX_COMPILER_VERSION": "19.1.5"}, []),
    ({"SYSTEM_NAME": "Windows", "CXX_COMPILER_VERSION": "14.2.0"}, []),
    ({"SIZEOF_VOID_P": "4"}, ["needs a 64-bit target"]),
    ({"SYSTEM_NAME": "Emscripten"}, ["needs Linux, macOS, FreeBSD or Windows", "is for Emscripten"]),
    ({"CXX_COMPILER_VERSION": "11.4.0"}, ["needs g++ 12,", "is GNU 11.4.0"]),
    ({"CXX_COMPILER_ID": "Clang", "CXX_COMPILER_VERSION": "14.0.6"}, ["Clang 16", "is Clang 14.0.6"]),
    ({"CXX_COMPILER_ID": "MSVC", "CXX_COMPILER_VERSION": "19.40"}, ["MinGW", "is MSVC 19.40"]),
]


def said(changed: dict[str, str]) -> tuple[int, str]:
    words = [f"-DCMAKE_{name}={value}" for name, value in (GOOD | changed).items()]
    done = subprocess.run(["cmake", *words, "-P", PLATFORM], capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def main() -> None:
    for changed, parts in CASES:
        status, text = said(changed)
        sentence = text.partition("(message):")[2].partition("Call Stack")[0].strip()
        if bool(status) != bool(parts) or any(part not in sentence for part in parts):
            sys.exit(f"{changed}: wanted {parts}, and cmake ended with {status}: {text}")
        if parts and (sentence.count(". ") or not sentence.endswith(".")):
            sys.exit(f"{changed}: more than one sentence: {sentence}")
    print(f"{len(CASES)} platforms")


main()
