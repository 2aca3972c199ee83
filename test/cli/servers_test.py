# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""The command before servers that are old or full, and names that nobody resolves."""

import contextlib
import os
import signal
import socket
import time
import unittest

import support
from support import Command, Redis, Result, wait_for

NAMES = os.environ.get("COLOCK_HOST_NAMES_LIBRARY", "")
SECRETS = ("us3r-Secret", "p4ss-Secret", "s3ntinel-User", "s3ntinel-Pass")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Servers(unittest.TestCase):
    def start_server(self, *lines: str) -> Redis:
        server = Redis(*lines, port=free_port())
        self.addCleanup(server.close)
        return server

    def start(self, *words: str, url: str, **more: object) -> Command:
        command = Command(*words, url=url, **more)  # type: ignore[arg-type]
        self.addCleanup(support.finish, command)
        return command


class Old(Servers):
    def test_no_secret_is_shown(self) -> None:
        old = self.start_server("--rename-command HELLO ____")
        with socket.socket() as probe:
            self.assertEqual(probe.connect_ex(("127.0.0.1", old.port)), 0)
        user, password, *others = SECRETS
        environment = dict(zip(("COLOCK_SENTINEL_USERNAME", "COLOCK_SENTINEL_PASSWORD"), others))
        for url in (
            f"redis://{user}:{password}@127.0.0.1:{old.port}",
            f"redis+sentinel://{user}:{password}@127.0.0.1:{old.port}/main",
        ):
            for words in (("info", "k"), ("run", "-v", "--wait", "1s", "k", "--", "true"), ("doctor",)):
                with self.subTest(url=url.split("@")[0], words=words):
                    result = self.start(*words, url=url, env=environment).end()
                    self.assertNotEqual(result.status, 0, result)
                    for secret in SECRETS:
                        self.assertNotIn(secret, result.out + result.err)
                    self.assertIn("does not know HELLO", result.out + result.err)


class Full(Servers):
    def setUp(self) -> None:
        self.server = self.start_server()
        self.asking = socket.create_connection(("127.0.0.1", self.server.port))
        self.addCleanup(self.asking.close)
        self.set_room(1)

    def set_room(self, clients: int) -> None:
        """Over a connection that is there already."""
        self.asking.sendall(b"CONFIG SET maxclients %d\r\n" % clients)
        self.assertEqual(self.asking.recv(100), b"+OK\r\n")

    def test_a_limited_wait_ends_without_a_refusal(self) -> None:
        result = self.start("run", "--wait", "1s", "k", "--", "true", url=self.server.url).end()
        self.assertNotEqual(result.status, 77, result)
        self.assertIn("max number of clients", result.err)

    def test_it_gets_in_when_there_is_room(self) -> None:
        waits = self.start("run", "--wait", "20s", "k", "--", "echo", "ran", url=self.server.url)
        with contextlib.suppress(AssertionError):
            wait_for(lambda: waits.poll() is not None, "an end that should not come", 1)
        self.set_room(100)
        result = waits.end()
        self.assertEqual((result.status, result.out), (0, "ran\n"), result)


@unittest.skipUnless(os.access(NAMES, os.R_OK), "no library of host names")
class Names(Servers):
    environment = {"LD_PRELOAD": NAMES, "COLOCK_HOST_NAMES": "hangs.test=12000"}
    url = "redis://hangs.test:6379"

    def run_for(self, *options: str) -> tuple[Command, float]:
        begun = time.monotonic()
        command = self.start("run", *options, "k", "--", "true", url=self.url, env=self.environment)
        return command, begun

    def check_soon(self, begun: float, limit: float, result: Result) -> None:
        self.assertLess(time.monotonic() - begun, limit, result)

    def test_a_limited_wait(self) -> None:
        command, begun = self.run_for("--wait", "1s")
        result = command.end(20)
        self.assertNotIn(result.status, (0, 77), result)
        self.check_soon(begun, 2, result)

    def test_a_signal(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name):
                command, begun = self.run_for()
                wait_for(lambda: catches(command.pid, number), "that it looks at signals")
                command.send_signal(number)
                result = command.end(20)
                self.assertEqual(result.status, 128 + number, result)
                self.check_soon(begun, 2, result)

    def test_looking_takes_no_longer_than_its_limit(self) -> None:
        begun = time.monotonic()
        command = self.start(
            "info", "--connect-timeout", "1s", "k", url=self.url, env=self.environment
        )
        result = command.end(20)
        self.assertEqual(result.status, 69, result)
        self.check_soon(begun, 2, result)

    def test_a_slow_lookup_succeeds(self) -> None:
        server = self.start_server()
        names = {**self.environment, "COLOCK_HOST_NAMES": "slow.test=5000,127.0.0.1"}
        result = self.start(
            "run", "--connect-timeout", "15s", "k", "--", "echo", "ran",
            url=f"redis://slow.test:{server.port}", env=names,
        ).end(20)
        self.assertEqual((result.status, result.out), (0, "ran\n"), result)


def catches(pid: int, number: int) -> bool:
    """Whether the process has a handler for the signal, or takes it some other way."""
    with open(f"/proc/{pid}/status") as file:
        masks = [int(line.split()[1], 16) for line in file if line.startswith(("SigBlk", "SigCgt"))]
    return any(mask & 1 << (number - 1) for mask in masks)


if __name__ == "__main__":
    support.main()
