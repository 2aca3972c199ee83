# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""The command with a cluster, with Sentinels, and over TLS."""

import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import unittest

import support
from support import Case, Redis, Result, wait_for

OTHER = "11111111-2222-3333-4444-555555555555:7"


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


if __name__ == "__main__":
    support.main()
