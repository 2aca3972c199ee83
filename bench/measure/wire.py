"""A wire between the drivers and their server: colock-bench-wire, and what runs at its ends."""

import contextlib
import ctypes
import os
import re
import subprocess
from collections.abc import Callable, Iterator

from measure.drivers import COLOCK
from measure.lifetime import dies_with_us
from measure.problem import Failure

PROGRAM = COLOCK.with_name("colock-bench-wire")
SERVER_HOST = "10.77.0.2"
CLONE_NEWNET = 0x40000000
UNITS = {"us": 1, "µs": 1, "ms": 1000}
_libc = ctypes.CDLL(None, use_errno=True)


def microseconds(text: str) -> int:
    """Of `500us` or `0.5ms`."""
    if not (found := re.fullmatch(r"([\d.]+)(us|µs|ms)", text)):
        raise ValueError(f"not a time such as 500us or 2ms: {text}")
    return round(float(found[1]) * UNITS[found[2]])


def _enter(space: int) -> None:
    if _libc.setns(space, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Wire:
    """Two network namespaces from `with` to the end of its block. They have no name, so the kernel
    removes them with the last process inside, however that ends."""

    def __init__(self, rtt_us: int, loss_percent: float) -> None:
        self._rtt_us = rtt_us
        self._loss = loss_percent
        self._spaces: list[int] = []

    @property
    def name(self) -> str:
        lost = f"{self._loss:g} % of packets lost each way" if self._loss else "no loss"
        return f"a wire of {self._rtt_us:,} µs there and back, {lost}"

    def __enter__(self) -> "Wire":
        if os.geteuid() != 0:
            raise Failure("a wire needs root: it makes network namespaces and tun devices")
        if not PROGRAM.exists():
            raise Failure(
                "colock-bench-wire is not built:"
                " cmake --preset release && cmake --build --preset release"
            )
        self._process = subprocess.Popen(
            [str(PROGRAM), str(self._rtt_us // 2), f"{self._loss:g}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=dies_with_us,
        )
        try:
            paths = self._process.stdout.readline().split()
            if len(paths) != 2:
                raise Failure(f"no wire: {self._process.stderr.read().strip()}")
            self._spaces = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()
        while self._spaces:
            os.close(self._spaces.pop())

    def _prepare(self, side: int) -> Callable[[], None]:
        def prepare() -> None:
            dies_with_us()
            _enter(self._spaces[side])

        return prepare

    def client_side(self) -> Callable[[], None]:
        """For Popen's preexec_fn."""
        return self._prepare(0)

    def server_side(self) -> Callable[[], None]:
        return self._prepare(1)

    @contextlib.contextmanager
    def beside_the_server(self) -> Iterator[None]:
        """What this thread connects in the block isn't delayed, and stays so."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(self._spaces[1])
            yield
        finally:
            _enter(home)
            os.close(home)
