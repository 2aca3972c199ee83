# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""What the tests of the command share: a server of their own, the command, a terminal."""

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator

COLOCK = os.environ.get("COLOCK_COMMAND", "")
SERVER = os.environ.get("COLOCK_REDIS_SERVER") or shutil.which("redis-server") or ""
LIMIT = 10.0
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Redis:
    """A server in a temporary folder, on a unix socket or on a port."""

    def __init__(self, *lines: str, port: int = 0) -> None:
        self.folder = tempfile.mkdtemp(prefix="colock-cli-")
        self.path = self.folder + "/redis.sock"
        self.port = port
        self.lines = lines
        self.url = f"redis://127.0.0.1:{port}" if port else "unix://" + self.path
        self.start()

    def start(self) -> None:
        arguments = [SERVER, "--port", str(self.port), "--unixsocket", self.path]
        arguments += ["--dir", self.folder, "--save", "", "--daemonize", "no"]
        self.process = subprocess.Popen(
            arguments + [word for line in self.lines for word in line.split()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        wait_for(lambda: self.answers(), "the server")

    def answers(self) -> bool:
        try:
            return self.ask("PING") is not None
        except OSError:
            return False

    def ask(self, *words: str | bytes) -> object:
        """One command over a connection of its own."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(self.path)
            parts = [w.encode() if isinstance(w, str) else w for w in words]
            text = b"*%d\r\n" % len(parts)
            connection.sendall(text + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
            with connection.makefile("rb") as stream:
                return read_reply(stream)

    def keys(self) -> list[str]:
        """All but the fencing counters, which stay."""
        found = self.ask("KEYS", "*")
        assert isinstance(found, list)
        return sorted(k for k in found if not k.startswith("colock_fence:"))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def read_reply(stream: object) -> object:
    line = stream.readline()  # type: ignore[attr-defined]
    kind, rest = line[:1], line[1:].strip()
    if kind == b"*":
        return [read_reply(stream) for _ in range(int(rest))]
    if kind == b"$":
        if rest == b"-1":
            return None
        text = stream.read(int(rest) + 2)[:-2]  # type: ignore[attr-defined]
        return text.decode("utf-8", "replace")
    return int(rest) if kind == b":" else rest.decode()


def die_with_parent() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def wait_for(is_so: Callable[[], object], what: str, limit: float = LIMIT) -> None:
    until = time.monotonic() + limit
    while not is_so():
        if time.monotonic() > until:
            raise AssertionError(f"{what} didn't come within {limit} s")
        time.sleep(0.005)


class Result:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    def __repr__(self) -> str:
        return f"status {self.status}\nout: {self.out}\nerr: {self.err}"


class Command(subprocess.Popen[str]):
    """The command, under way."""

    def __init__(self, *words: str, url: str = "", **more: object) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("COLOCK_")}
        if url:
            environment["COLOCK_URL"] = url
        environment.update(more.pop("env", {}))  # type: ignore[call-overload]
        options = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        options.update(more)  # type: ignore[arg-type]
        super().__init__([COLOCK, *words], text=True, env=environment, **options)  # type: ignore

    def end(self, limit: float = LIMIT) -> Result:
        try:
            out, err = self.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.kill()
            out, err = self.communicate()
            raise AssertionError(f"it didn't end within {limit} s\nout: {out}\nerr: {err}") from None
        return Result(self.returncode, out, err)


class Case(unittest.TestCase):
    """Tests beside a server that none of them harms."""

    lines: tuple[str, ...] = ()
    server: Redis

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Redis(*cls.lines)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    def tearDown(self) -> None:
        with contextlib.suppress(OSError):
            self.server.ask("FLUSHALL")

    def start(self, *words: str, **more: object) -> Command:
        more.setdefault("url", self.server.url)
        command = Command(*words, **more)  # type: ignore[arg-type]
        self.addCleanup(finish, command)
        return command

    def colock(self, *words: str, **more: object) -> Result:
        return self.start(*words, **more).end()

    def hold(self, key: str = "k", *options: str) -> Command:
        """A `colock run` that holds the key until its standard input ends."""
        held = self.start("run", *options, key, "--", "cat", stdin=subprocess.PIPE)
        wait_for(lambda: self.server.ask("EXISTS", key) == 1, "the lock")
        return held

    def check(self, result: Result, status: int, *in_err: str) -> None:
        self.assertEqual(result.status, status, result)
        for text in in_err:
            self.assertIn(text, result.err)

    def check_nothing_is_left(self) -> None:
        """But for what a client tells of itself, which ends by itself."""
        left = [key for key in self.server.keys() if not key.startswith("colock_client:")
                or self.server.ask("PTTL", key) == -1]
        self.assertEqual(left, [])


def state_of(pid: int) -> str:
    """As ps shows it: `T` is stopped, `Z` a zombie; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def children_of(pid: int) -> list[int]:
    """The oldest first."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(each) for each in file.read().split()]


def finish(command: subprocess.Popen[str]) -> None:
    if command.poll() is None:
        command.kill()
        command.wait()
    for stream in (command.stdin, command.stdout, command.stderr):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()


class Terminal:
    """A program in a session of its own, with a terminal that we type on."""

    def __init__(self, words: list[str], url: str, cwd: str | None = None) -> None:
        self.text = ""
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:  # whatever happens, it ends here
            os.environ.update(COLOCK_URL=url, PS1="$ ", TERM="xterm", HISTFILE="")
            os.environ.pop("PROMPT_COMMAND", None)
            with contextlib.suppress(OSError, ValueError):
                os.execvp(words[0], words)
            os._exit(127)
        self.status: int | None = None

    def read(self, for_seconds: float = 0.02) -> bool:
        ready, _, _ = select.select([self.descriptor], [], [], for_seconds)
        if not ready:
            return True
        try:
            new = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.text += new.decode("utf-8", "replace")
        return bool(new)

    def expect(self, pattern: str, limit: float = LIMIT) -> str:
        """Reads until the pattern comes; what came before it is gone then."""
        until = time.monotonic() + limit
        while not (found := re.search(pattern, self.text)):
            if time.monotonic() > until or not self.read():
                raise AssertionError(f"{pattern!r} didn't come: {self.text!r}")
        self.text = self.text[found.end() :]
        return found.group()

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def foreground(self) -> int:
        return os.tcgetpgrp(self.descriptor)

    def end(self, limit: float = LIMIT) -> int:
        until = time.monotonic() + limit
        while self.status is None:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                raise AssertionError(f"the program doesn't end: {self.text!r}")
        return self.status

    def close(self) -> None:
        if self.status is None:
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.close(self.descriptor)


def main() -> None:
    if not os.access(COLOCK, os.X_OK):
        sys.exit("COLOCK_COMMAND doesn't name the command")
    if not SERVER:
        print("no redis-server")
        sys.exit(77)
    for number in (signal.SIGHUP, signal.SIGQUIT):  # which nohup and a shell's & leave ignored
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main(module="__main__")


@contextlib.contextmanager
def free_port() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    yield port
