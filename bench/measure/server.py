"""A redis-server of our own, and what it says of itself."""

import contextlib
import dataclasses
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from collections.abc import Callable

from measure import certificates
from measure.lifetime import dies_with_us
from measure.problem import Failure
from measure.wire import SERVER_HOST, Wire

__all__ = ["Failure", "Server", "Usage"]


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
    """Runs from `with` to the end of its block, on a free port, in a folder that goes with it; at
    the far end of `wire` if there is one. It has a unix socket too, and TLS if asked to."""

    def __init__(
        self, program: str = "redis-server", wire: Wire | None = None, tls: bool = False
    ) -> None:
        if not (found := shutil.which(program)):
            raise Failure(f"{program} is not there: tools/setup installs it")
        self.program = found
        self.wire = wire
        self.host = SERVER_HOST if wire else "127.0.0.1"
        self.port = 0
        self._tls = tls
        self._connection: socket.socket | None = None
        self._buffer = b""

    def __enter__(self) -> "Server":
        self._folder = tempfile.TemporaryDirectory(prefix="colock-bench-")
        folder = pathlib.Path(self._folder.name)
        # The other end of a wire has all ports for itself.
        self.port = 6379 if self.wire else free_port()
        self.unix_socket = folder / "socket"
        options = {"port": self.port, "bind": self.host, "dir": folder, "protected-mode": "no"}
        options |= {"save": "", "appendonly": "no", "daemonize": "no"}
        options |= {"unixsocket": self.unix_socket}
        try:
            if self._tls:
                options |= self._tls_options(folder)
        except BaseException:
            self._folder.cleanup()
            raise
        self._log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            [
                self.program,
                *(word for name, value in options.items() for word in (f"--{name}", str(value))),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            preexec_fn=self.wire.server_side() if self.wire else dies_with_us,
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

    def _tls_options(self, folder: pathlib.Path) -> dict:
        self.tls_port = 6380 if self.wire else free_port()
        self.certificates = certificates.make(folder, self.host)
        return {
            "tls-port": self.tls_port,
            "tls-auth-clients": "no",
            "tls-ca-cert-file": self.certificates.ca_file,
            "tls-cert-file": self.certificates.certificate_file,
            "tls-key-file": self.certificates.key_file,
        }

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def address_options(self, over: str, by_url: bool = True) -> list[str]:
        """A driver's options that lead it here, over "tcp", "unix" or "tls"."""
        if over == "unix":
            return ["--redis", f"unix://{self.unix_socket}"]
        if over == "tls":
            authority = str(self.certificates.ca_file)
            if not by_url:
                return ["--redis", f"{self.host}:{self.tls_port}", "--ca-file", authority]
            url = f"rediss://{self.host}:{self.tls_port}"
            return ["--redis", url, "--ca-file", authority, "--info", self.address]
        return ["--redis", self.address]

    def client_side(self) -> Callable[[], None]:
        """For the preexec_fn of Popen, for clients of this server."""
        return self.wire.client_side() if self.wire else dies_with_us

    @property
    def pid(self) -> int:
        return self._process.pid

    def _connect(self) -> None:
        patience = time.monotonic() + 10
        while time.monotonic() < patience and self._process.poll() is None:
            try:
                with self.wire.beside_the_server() if self.wire else contextlib.nullcontext():
                    self._connection = socket.create_connection((self.host, self.port), 30)
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
