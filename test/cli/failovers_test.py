# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""--durability of the command, and what colock doctor says of failovers."""

import json
import time

import support
from support import Case, Redis, wait_for

SOUND = (
    "--min-replicas-to-write 1",
    "--min-replicas-max-lag 5",
    "--appendonly yes",
    "--repl-diskless-sync-delay 0",
)


class Failovers(Case):
    def servers(self, *lines: str, replicas: int = 1) -> tuple[Redis, list[Redis]]:
        with support.free_port() as port:
            primary = Redis(*lines, port=port)
        self.addCleanup(primary.close)
        others = []
        for _ in range(replicas):
            with support.free_port() as other:
                others.append(Redis(*lines, f"--replicaof 127.0.0.1 {port}", port=other))
            self.addCleanup(others[-1].close)
        wait_for(
            lambda: str(primary.ask("INFO", "replication")).count("state=online") == replicas,
            "replication",
        )
        return primary, others

    def verdict(self, url: str, *words: str, status: int) -> dict[str, object]:
        result = self.colock("doctor", "--json", *words, url=url)
        self.check(result, status)
        lines = [json.loads(line) for line in result.out.splitlines()]
        return next(line for line in lines if line["check"] == "verdict")

    def test_nothing_fails_over_without_replicas(self) -> None:
        said = self.verdict(self.server.url, "--durability", "none", status=0)
        self.assertEqual((said["verdict"], said["level"]), ("no", "ok"))
        self.assertIn("no replica", str(said["found"]))

    def test_all_of_a_sound_pair_is_no(self) -> None:
        primary, _ = self.servers(*SOUND)
        said = self.verdict(primary.url, "--durability", "all", status=0)
        self.assertEqual((said["verdict"], said["because"]), ("no", []))
        none = self.verdict(primary.url, "--durability", "none", status=3)
        self.assertEqual(none["verdict"], "yes")
        self.assertIn("profile", none["because"])
        # Without a profile it is no reason to fail.
        self.assertEqual(self.verdict(primary.url, status=0)["verdict"], "yes")

    def test_a_majority_of_two_stands_one_fault(self) -> None:
        lines = ("--min-replicas-to-write 2", *SOUND[1:])
        primary, replicas = self.servers(*lines, replicas=2)
        words = ("--durability", "majority")
        said = self.verdict(primary.url, *words, "--failovers", "paused", status=2)
        self.assertEqual(said["verdict"], "not by one fault")
        self.assertEqual(self.verdict(primary.url, *words, status=3)["because"], ["paused"])
        result = self.colock("doctor", *words, url=primary.url)
        self.check(result, 3)
        self.assertRegex(result.out, r"(?m)^note +verdict +a failover can lose a lock: yes, because")
        self.assertRegex(result.out, r"(?m)^ok +failover +durability is majority or more")
        for name, value, row in (
            ("replica-priority", "10", "priority"),
            ("min-replicas-to-write", "0", "cut-off"),
            ("min-replicas-max-lag", "20", "lag"),
            ("appendonly", "no", "aof"),
            ("maxmemory-policy", "allkeys-lru", "eviction"),
        ):
            with self.subTest(row=row):
                before = replicas[1].ask("CONFIG", "GET", name)
                replicas[1].ask("CONFIG", "SET", name, value)
                said = self.verdict(primary.url, *words, "--failovers", "paused", status=3)
                self.assertIn(row, said["because"])
                assert isinstance(before, list)
                replicas[1].ask("CONFIG", "SET", name, before[1])
        replicas[1].kill()
        wait_for(lambda: "connected_slaves:1" in str(primary.ask("INFO", "replication")), "the loss")
        away = ("--replicas", "2", "--failovers", "paused")
        said = self.verdict(primary.url, *words, *away, status=3)
        self.assertIn("aof", said["because"])

    def test_several_servers(self) -> None:
        primary, _ = self.servers(*SOUND)
        words = ("doctor", "--durability", "none", "--json")
        result = self.colock(*words, self.server.url, primary.url)
        self.check(result, 3)
        lines = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual([x["verdict"] for x in lines if x["check"] == "verdict"], ["no", "yes"])
        self.check(self.colock(*words, "nowhere"), 64, "nowhere")

    def test_parts_that_are_one_server_or_copies(self) -> None:
        primary, replicas = self.servers(*SOUND)

        def parts(*urls: str, status: int) -> list[tuple[str, str]]:
            result = self.colock("doctor", "--json", *urls)
            self.check(result, status)
            lines = [json.loads(line) for line in result.out.splitlines()]
            return [(x["level"], x["found"]) for x in lines if x["check"] == "part"]

        self.assertEqual(parts(primary.url, status=0), [])
        two = parts(self.server.url, primary.url, status=0)
        self.assertEqual(two, [("ok", "none of the others, nor a copy of one")])
        ((level, found),) = parts(primary.url, primary.url, status=1)
        self.assertEqual(level, "bad")
        self.assertRegex(found, "^the same server as ")
        ((level, found),) = parts(primary.url, replicas[0].url, status=1)
        self.assertEqual(level, "bad")
        self.assertRegex(found, "^has the writes of ")
        primary.ask("ACL", "SETUSER", "mute", "on", ">pw", "~*", "&*", "+@all", "-info")
        mute = primary.url.replace("//", "//mute:pw@")
        ((level, found),) = parts(mute, primary.url, status=0)
        self.assertEqual(level, "note")
        self.assertRegex(found, "^not known: ")

    def test_run_holds_what_replicas_have(self) -> None:
        primary, replicas = self.servers(*SOUND)
        words = ("run", "--durability", "all", "k", "--", "sh", "-c", "echo started; sleep 9")
        held = self.start(*words, url=primary.url)
        assert held.stdout is not None
        self.assertIn("started", str(held.stdout.readline()))
        self.assertEqual(replicas[0].ask("EXISTS", "k"), 1)
        held.terminate()

    def test_run_refuses_what_cannot_be_had(self) -> None:
        began = time.monotonic()
        result = self.colock("run", "--durability", "majority", "k", "--", "true")
        self.check(result, 77, "1 replica has to acknowledge each step, and the server has 0")
        self.assertLess(time.monotonic() - began, 3)
        self.check(self.colock("info", "--durability", "majority", "k"), 0)
        self.check(self.colock("run", "--durability", "some", "k", "--", "true"), 64, "none of")


if __name__ == "__main__":
    support.main()
