#!/usr/bin/python3
"""Checks that a public header brings in neither OpenSSL, spdlog, prometheus-cpp nor opentelemetry-cpp.

    check_includes.py --compiler C --include DIR --system DIR HEADER
"""

import argparse
import re
import subprocess
import sys

UNWANTED = re.compile(r"/(openssl|spdlog|fmt|prometheus|opentelemetry)(/|\.hpp$)|/boost/asio/ssl(/|\.hpp$)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--system", action="append", default=[])
    parser.add_argument("header")
    options = parser.parse_args()

    command = [options.compiler, "-std=c++20", "-x", "c++", "-M", "-"]
    command += [f"-I{folder}" for folder in options.include]
    for folder in options.system:
        command += ["-isystem", folder]
    result = subprocess.run(
        command,
        input=f"#include <{options.header}>\n",
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if result.returncode:
        sys.exit(f"{options.header} doesn't compile")
    files = result.stdout.replace("\\\n", " ").split()[1:]
    unwanted = [file for file in files if UNWANTED.search(file)]
    for file in unwanted:
        print(f"{options.header} brings in {file}")
    print(f"{options.header}: {len(files)} files, {len(unwanted)} of them unwanted")
    sys.exit(1 if unwanted else 0)


main()
