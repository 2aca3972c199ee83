#!/usr/bin/python3
"""Runs a program whose work fails, and checks that it leaves no lock at the server.

    leaves_nothing.py PROGRAM URL     URL is unix://PATH, as with_redis.py gives it
"""

import re
import socket
import subprocess
import sys


def keys(path: str) -> list[str]:
    """All that the server has."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(path)
    server.sendall(b"KEYS *\r\nPING\r\n")
    answer = b""
    while not answer.endswith(b"+PONG\r\n"):
        answer += server.recv(4096)
    return re.findall(r"\$\d+\r\n(.*)\r\n", answer.decode())


def main() -> int:
    program, url = sys.argv[1:]
    status = subprocess.run([program, url]).returncode
    left = keys(url.removeprefix("unix://"))
    print(f"exit status {status}; left: {left}")
    # The fencing counter stays, and shows that the lock was taken at all.
    counters = [key for key in left if key.startswith("colock_fence:")]
    return 0 if status == 1 and counters and left == counters else 1


if __name__ == "__main__":
    sys.exit(main())
