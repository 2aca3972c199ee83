# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""The command with a cluster, with Sentinels, over TLS; before servers that are old or full, and
names that nobody resolves."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import support
from support import Case, Command, Redis, Result, wait_for

OTHER = "11111111-2222-3333-4444-555555555555:7"
NAMES = os.environ.get("COLOCK_HOST_NAMES_LIBRARY", "")
SECRETS = ("us3r-Secret", "p4ss-Secret", "s3ntinel-User", "s3ntinel-Pass")


def ports(number: int, most: int = 65_000) -> list[int]:
    """Some that are free now."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < number:
            probe = held.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            if probe.getsockname()[1] < most:
                found.append(probe.getsockname()[1])
    return found


class Elsewhere(unittest.TestCase):
    def start_server(self, *lines: str, port: int = 0) -> Redis:
        server = Redis(*lines, port=port)
        self.addCleanup(server.close)
        return server

    def colock(self, url: str, *words: str, status: int = 0) -> Result:
        command = support.Command(*words, url=url)
        self.addCleanup(support.finish, command)
        result = command.end()
        self.assertEqual(result.status, status, result)
        return result


class Cluster(Elsewhere):
    def setUp(self) -> None:
        self.nodes = []
        numbers = ports(4)
        for number, bus in (numbers[:2], numbers[2:]):
            lines = ("--cluster-enabled yes", f"--cluster-port {bus}")
            self.nodes.append(self.start_server(*lines, port=number))
        a, b = self.nodes
        a.ask("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
        b.ask("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
        a.ask("CLUSTER", "MEET", "127.0.0.1", str(b.port), str(numbers[3]))
        for node in self.nodes:
            wait_for(lambda: "cluster_state:ok" in str(node.ask("CLUSTER", "INFO")), "the cluster")
            wait_for(lambda: len(node.ask("CLUSTER", "SLOTS")) == 2, "all slots")  # type: ignore
        self.url = f"redis+cluster://127.0.0.1:{a.port}"

    def test_a_cluster_that_is_down(self) -> None:
        node = self.nodes[0]  # of bar
        node.ask("CLUSTER", "DELSLOTS", "0")
        wait_for(lambda: "cluster_state:fail" in str(node.ask("CLUSTER", "INFO")), "the failure")
        for wait in ("0", "1s"):
            with self.subTest(wait):
                result = self.colock(self.url, "run", "--connect-timeout", "1s", "--wait", wait,
                                     "bar", "--", "true", status=69)
                self.assertIn(" refuses for the moment: CLUSTERDOWN ", result.err)

    def test_all_primaries(self) -> None:
        held = support.Command(
            "run", "--lease", "1s", "foo", "--", "cat", url=self.url, stdin=subprocess.PIPE
        )
        self.addCleanup(support.finish, held)
        for key, node in (("foo", self.nodes[1]), ("bar", self.nodes[0])):
            node.ask("HSET", key, OTHER, "1") if key == "bar" else wait_for(
                lambda: node.ask("EXISTS", key) == 1, "the lock"
            )
        listed = self.colock(self.url, "ls", "--json").out.splitlines()
        self.assertEqual([json.loads(line)["key"] for line in listed], ["bar", "foo"])
        waits = support.Command("run", "foo", "--", "true", url=self.url)
        self.addCleanup(support.finish, waits)

        def waiting() -> object:
            return json.loads(self.colock(self.url, "info", "--json", "foo").out)["waiting_clients"]

        wait_for(lambda: waiting() == 1, "the waiter")  # by a sharded channel
        self.assertIn("Unlocked", self.colock(self.url, "unlock", "--yes", "foo").out)
        self.assertEqual(waits.end().status, 0)
        self.assertEqual(held.wait(10), 70)
        found = [json.loads(line) for line in self.colock(self.url, "doctor", "--json").out.splitlines()]
        self.assertEqual(len([f for f in found if f["check"] == "version"]), 2)
        self.assertEqual([f["level"] for f in found if f["check"] == "cluster"], ["ok"])

    def test_what_may_not_be_asked(self) -> None:
        for node in self.nodes:
            node.ask("ACL", "SETUSER", "some", "on", ">secret", "~*", "&*", "+@all", "-cluster|info")
        url = self.url.replace("//", "//some:secret@")
        found = [json.loads(line) for line in self.colock(url, "doctor", "--json").out.splitlines()]
        self.assertEqual([f["level"] for f in found if f["check"] == "cluster"], ["note"])

    def test_a_node_taken_for_a_server(self) -> None:
        url = f"redis://127.0.0.1:{self.nodes[0].port}"
        result = self.colock(url, "run", "k", "--", "true", status=69)
        self.assertIn("redis+cluster://", result.err)


class Sentinel(Elsewhere):
    def test_the_primary_that_they_name(self) -> None:
        number, own = ports(2)
        primary = self.start_server(port=number)
        folder = tempfile.mkdtemp(prefix="colock-cli-")
        self.addCleanup(shutil.rmtree, folder, True)
        with open(folder + "/sentinel.conf", "w") as file:
            file.write(f"port {own}\ndir {folder}\nsentinel monitor main 127.0.0.1 {number} 1\n")
        process = subprocess.Popen(
            [support.SERVER, folder + "/sentinel.conf", "--sentinel"],
            stdout=subprocess.DEVNULL,
            preexec_fn=support.die_with_parent,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def is_there() -> bool:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", own), 1).close()
                return True
            return False

        wait_for(is_there, "the Sentinel")
        url = f"redis+sentinel://127.0.0.1:{own}/main"
        self.assertEqual(self.colock(url, "run", "k", "--", "sh", "-c", "echo ran").out, "ran\n")
        primary.ask("HSET", "k", OTHER, "1")
        self.assertIn(OTHER, self.colock(url, "ls").out)
        wrong = self.colock(url.replace("main", "other"), "run", "--wait", "1s", "k", "--", "true", status=77)
        self.assertIn("other", wrong.err)


@unittest.skipUnless(shutil.which("openssl"), "no openssl")
class Tls(Elsewhere):
    def test_with_an_authority_of_ones_own(self) -> None:
        folder = tempfile.mkdtemp(prefix="colock-cli-")
        self.addCleanup(shutil.rmtree, folder, True)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            + ["-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext"]
            + ["subjectAltName=DNS:localhost,IP:127.0.0.1"]
            + ["-keyout", folder + "/key", "-out", folder + "/cert"],
            check=True,
            capture_output=True,
        )
        [number] = ports(1)
        self.start_server(
            f"--tls-port {number}", f"--tls-cert-file {folder}/cert", f"--tls-key-file {folder}/key",
            f"--tls-ca-cert-file {folder}/cert", "--tls-auth-clients no"
        )
        url = f"rediss://127.0.0.1:{number}"
        trust = ("--tls-ca", folder + "/cert")
        self.colock(url, "run", *trust, "k", "--", "true")
        self.assertIn("free", self.colock(url, "info", *trust, "k").out)
        result = self.colock(url, "run", "--connect-timeout", "2s", "k", "--", "true", status=69)
        self.assertIn("certificate", result.err)
        missing = self.colock(url, "info", "--tls-ca", "/nowhere", "k", status=64)
        self.assertIn("/nowhere", missing.err)


class Servers(unittest.TestCase):
    def start_server(self, *lines: str) -> Redis:
        server = Redis(*lines, port=ports(1)[0])
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
