#!/usr/bin/python3
"""Runs a command against a redis-server of its own, on a unix socket in a temporary folder.

    with_redis.py [--servers N] COMMAND [ARG...]

{url} in an argument becomes the server's URL; with several servers {url2} and so on are the others.
{tcp}, {tcp2} and so on are the same servers for a command that knows no unix sockets.

Exits as the command does, 128 + n for a signal, 77 if there is no redis-server. On SIGINT, SIGTERM
and SIGHUP the command is asked to end, and made to after five seconds. Whatever happens, the server
and the folder are gone afterwards.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

GRACE = 5.0
SKIPPED = 77
CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def die_with_parent() -> None:
    """In the child: a wrapper that is killed outright takes the server with it."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def start_server(program: str, folder: str, path: str, port: int = 0) -> subprocess.Popen[bytes]:
    server = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--unixsocket", path, "--dir", folder]
        + ["--save", "", "--appendonly", "no", "--daemonize", "no"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        preexec_fn=die_with_parent,
        start_new_session=True,  # Ctrl-C is for the command; the server ends after it
    )
    try:
        limit = time.monotonic() + 10
        while server.poll() is None and time.monotonic() < limit:
            if answers(path):
                return server
            time.sleep(0.02)
        raise SystemExit(f"with_redis: {program} does not answer")
    except BaseException:
        stop(server)
        raise


def answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
            probe.sendall(b"PING\r\n")
            return probe.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def stop(server: subprocess.Popen[bytes]) -> None:
    server.kill()  # it has nothing to save
    server.wait()


def run(command: list[str]) -> int:
    asked: list[int] = []
    child = subprocess.Popen(command, preexec_fn=die_with_parent)

    def pass_on(number: int, _: object) -> None:
        asked.append(number)
        signal.alarm(int(GRACE))
        child.send_signal(number)

    for number in CAUGHT:
        signal.signal(number, pass_on)
    signal.signal(signal.SIGALRM, lambda *_: child.kill())
    status = child.wait()
    for number in (*CAUGHT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    if asked:
        return 128 + asked[0]
    return status if status >= 0 else 128 - status


def arguments() -> tuple[int, list[str]]:
    """How many servers, and the command."""
    words = sys.argv[1:]
    count = 1
    if len(words) > 1 and words[0] == "--servers":
        count = int(words[1])
        words = words[2:]
    if not words:
        print(__doc__, file=sys.stderr)
        raise SystemExit(64)
    return count, words


def named(command: list[str], kind: str, urls: list[str]) -> list[str]:
    for i, url in enumerate(urls, 1):
        name = f"{{{kind}}}" if i == 1 else f"{{{kind}{i}}}"
        command = [word.replace(name, url) for word in command]
    return command


def main() -> int:
    count, command = arguments()
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        print("with_redis: no redis-server in PATH", file=sys.stderr)
        return SKIPPED
    for number in CAUGHT:
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    signal.pthread_sigmask(signal.SIG_BLOCK, CAUGHT)
    folder = tempfile.mkdtemp(prefix="colock-")
    servers: list[subprocess.Popen[bytes]] = []
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, CAUGHT)
        paths = [os.path.join(folder, f"redis{i or ''}.sock") for i in range(count)]
        ports = []
        for path in paths:
            ports.append(free_port() if any("{tcp" in word for word in command) else 0)
            servers.append(start_server(program, folder, path, ports[-1]))
        command = named(command, "url", ["unix://" + path for path in paths])
        return run(named(command, "tcp", [f"redis://127.0.0.1:{port}" for port in ports]))
    finally:
        for number in CAUGHT:
            signal.signal(number, signal.SIG_IGN)
        for server in servers:
            stop(server)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
