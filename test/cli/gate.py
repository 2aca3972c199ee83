# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""A way to a server that can be shut while something is on it."""

import contextlib
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Callable


class Gate:
    """A unix socket that leads to another. While it is shut, what comes waits."""

    def __init__(self, behind: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="colock-gate-")
        self.url = "unix://" + self.folder + "/gate.sock"
        self.behind = behind
        self.way = threading.Event()
        self.way.set()
        self.has_waiting = threading.Event()
        # Called before something of a client's passes, with that and the client's process.
        self.before: Callable[[bytes, int], None] = lambda data, pid: None
        self.sockets: list[socket.socket] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.folder + "/gate.sock")
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def shut(self) -> None:
        self.has_waiting.clear()
        self.way.clear()

    def open(self) -> None:
        self.way.set()

    def close(self) -> None:
        self.open()
        for each in (self.listener, *self.sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.behind)
                self.sockets += [client, server]
                whose = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                pid = struct.unpack("3i", whose)[0]
                for way in ((client, server, pid), (server, client, 0)):
                    threading.Thread(target=self.carry, args=way, daemon=True).start()

    def carry(self, source: socket.socket, sink: socket.socket, pid: int) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if pid:
                    self.before(data, pid)
                    if not self.way.is_set():
                        self.has_waiting.set()
                self.way.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
