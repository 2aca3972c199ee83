"""A redis-server of our own, and what it says of itself."""

import dataclasses
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from measure.lifetime import dies_with_us


class Failure(Exception):
    """What the user is told in one line."""


@dataclasses.dataclass
class Usage:
    commands: float = 0  # all that the server has executed, also from within scripts
    cpu: float = 0
    connections: float = 0
    calls: dict[str, int] = dataclasses.field(default_factory=dict)

    def since(self, earlier: "Usage") -> dict:
        calls = {name: n - earlier.calls.get(name, 0) for name, n in self.calls.items()}
        return {
            # The INFO that reads the counters is one of them.
            "cmds": int(self.commands - earlier.commands) - 1,
            "cmdstat": {n: c for n, c in calls.items() if c and n != "info"},
            "redis_cpu": round(self.cpu - earlier.cpu, 3),
            "conns": int(self.connections - earlier.connections),
        }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Runs from `with` to the end of its block, on a free port, in a folder that goes with it."""

    def __init__(self, program: str = "redis-server") -> None:
        if not (found := shutil.which(program)):
            raise Failure(f"{program} is not there: tools/setup installs it")
        self.program = found
        self.port = 0
        self._connection: socket.socket | None = None
        self._buffer = b""

    def __enter__(self) -> "Server":
        self._folder = tempfile.TemporaryDirectory(prefix="colock-bench-")
        self.port = free_port()
        options = {"port": self.port, "bind": "127.0.0.1", "dir": self._folder.name}
        options |= {"save": "", "appendonly": "no", "daemonize": "no"}
        self._log = pathlib.Path(self._folder.name, "log").open("wb")
        self._process = subprocess.Popen(
            [
                self.program,
                *(word for name, value in options.items() for word in (f"--{name}", str(value))),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            preexec_fn=dies_with_us,
        )
        try:
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection:
            self._connection.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        self._folder.cleanup()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def _connect(self) -> None:
        patience = time.monotonic() + 10
        while time.monotonic() < patience and self._process.poll() is None:
            try:
                self._connection = socket.create_connection(("127.0.0.1", self.port), 30)
                self.command("PING")
                return
            except (OSError, EOFError):
                time.sleep(0.05)
        log = pathlib.Path(self._log.name).read_text(errors="replace").strip().splitlines()
        raise Failure(f"{self.program} doesn't start: {log[-1] if log else 'no output'}")

    def command(self, *words: str) -> str:
        text = f"*{len(words)}\r\n" + "".join(f"${len(w.encode())}\r\n{w}\r\n" for w in words)
        self._connection.sendall(text.encode())
        head = self._line()
        if head.startswith("-"):
            raise Failure(f"redis-server: {head[1:]}")
        if not head.startswith("$"):
            return head[1:]
        size = int(head[1:])
        while len(self._buffer) < size + 2:
            self._receive()
        body, self._buffer = self._buffer[:size], self._buffer[size + 2 :]
        return body.decode()

    def usage(self) -> Usage:
        now = Usage()
        for line in self.command("INFO", "everything").splitlines():
            name, _, value = line.partition(":")
            if name.startswith("cmdstat_"):
                now.calls[name.removeprefix("cmdstat_")] = int(value.split(",")[0].split("=")[1])
            elif name in ("used_cpu_sys", "used_cpu_user"):
                now.cpu += float(value)
            elif name == "total_commands_processed":
                now.commands = float(value)
            elif name == "total_connections_received":
                now.connections = float(value)
        return now

    def _line(self) -> str:
        while b"\r\n" not in self._buffer:
            self._receive()
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line.decode()

    def _receive(self) -> None:
        if not (more := self._connection.recv(1 << 20)):
            raise EOFError("redis-server closed the connection")
        self._buffer += more
