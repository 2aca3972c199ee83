# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""The command for users who may do little: what docs/deployments.md says they need, and colock ls."""

import json
import pathlib
import re

import support
from gate import Gate
from support import UUID, Case, wait_for

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/deployments.md"
OTHER = "11111111-2222-3333-4444-555555555555:7"


class Restricted(Case):
    def login(self, *rules: str) -> str:
        """The URL of a user with these rules and no others."""
        self.assertEqual(self.server.ask("ACL", "SETUSER", "app", "reset", "on", ">word", *rules), "OK")
        self.addCleanup(self.server.ask, "ACL", "DELUSER", "app")
        return "unix://app:word@" + self.server.path


class Documented(Restricted):
    def setUp(self) -> None:
        self.page = PAGE.read_text()
        block = self.page.split("```acl\n")[1].split("```")[0].split()
        self.rules = block[block.index(">secret") + 1 :]

    def more(self, command: str) -> list[str]:
        [row] = [line for line in self.page.splitlines() if line.startswith("| `colock") and f"`{command}`" in line]
        return re.findall(r"\+[a-z|]+", row.replace("\\|", "|"))

    def login_for(self, command: str) -> str:
        return self.login(*self.rules, *self.more(command))

    def test_run(self) -> None:
        result = self.colock("run", "orders:1", "--", "sh", "-c", "echo $COLOCK_OWNER", url=self.login(*self.rules))
        self.check(result, 0)
        self.assertRegex(result.out, f"^{UUID.pattern}:\\d+$")
        self.assertEqual(result.err, "")

    def test_info(self) -> None:
        bare = self.colock("info", "orders:1", url=self.login(*self.rules))
        self.check(bare, 77, "NOPERM", "TYPE")
        url = self.login_for("colock info")

        def info(key: str) -> dict[str, object]:
            return json.loads(self.colock("info", "--json", key, url=url).out)  # type: ignore[no-any-return]

        for key, kind in (("orders:1", "lock"), ("orders:2", "fair")):
            self.hold(key, "--kind", kind)
            self.start("run", "--kind", kind, key, "--", "true")
        wait_for(lambda: info("orders:1")["waiting_clients"] == 1, "the waiter")
        wait_for(lambda: "queue" in info("orders:2"), "the queue")

    def test_watch(self) -> None:
        watching = self.start("watch", "orders:1", url=self.login_for("watch"))
        self.assertIn("free", watching.stdout.readline())  # type: ignore[union-attr]
        held = self.hold("orders:1")
        self.assertIn("acquired", watching.stdout.readline())  # type: ignore[union-attr]
        held.stdin.close()  # type: ignore[union-attr]
        self.assertRegex(watching.stdout.readline(), rf"released +{UUID.pattern}:\d+$")  # type: ignore[union-attr]

    def test_unlock(self) -> None:
        url = self.login_for("unlock")
        for kind in ("lock", "fair", "read", "write"):
            with self.subTest(kind):
                self.hold("orders:1", "--kind", kind, "--on-lost", "ignore")
                result = self.colock("unlock", "--yes", "orders:1", url=url)
                self.check(result, 0)
                self.assertIn("Unlocked.", result.out)

    def test_deadlocks_of_locks_that_it_may_not_read(self) -> None:
        self.server.ask("HSET", "theirs:1", OTHER, "1")
        client = OTHER[:36]
        parts = ["1", client, "theirs", "1", "waits", "lock", "theirs:1", "", "1", "5000"]
        report = "".join(f"{len(p)}:{p}" for p in parts)
        self.server.ask("SET", "colock_client:" + client.replace("-", "")[:16], report, "PX", "15000")
        url = self.login_for("colock doctor --deadlocks")
        result = self.colock("doctor", "--deadlocks", url=url)
        self.assertIn("note  1 key can't be read, so deadlocks may be unseen: NOPERM", result.out)
        self.assertNotIn("no deadlock", result.out)
        self.check(result, 77)
        told = json.loads(self.colock("doctor", "--deadlocks", "--json", url=url).out)
        self.assertEqual((told["level"], told["refused"]), ("note", 1))

    def test_ls(self) -> None:
        self.server.ask("HSET", "orders:1", OTHER, "1")
        self.check(self.colock("ls", url=self.login(*self.rules)), 77, "needs SCAN")
        self.server.ask("HSET", "others", OTHER, "1")
        result = self.colock("ls", "orders:*", url=self.login_for("colock ls"))
        self.check(result, 0)
        self.assertIn("orders:1", result.out)
        self.assertEqual(result.err, "")

    def test_doctor(self) -> None:
        result = self.colock("doctor", "--json", url=self.login_for("colock doctor"))
        self.check(result, 0)
        found = {line["check"]: line for line in map(json.loads, result.out.splitlines())}
        self.assertEqual(found["permissions"]["found"], "all that locks need")
        self.assertEqual(found["persistence"]["found"], "none")


class List(Restricted):
    def test_says_what_it_was_not_let_look_at(self) -> None:
        for name in ("mine:1", "theirs:1", "theirs:2"):
            self.server.ask("HSET", name, OTHER, "1")
        for words in (("ls",), ("ls", "--json")):
            result = self.colock(*words, url=self.login("~mine:*", "~colock_fence:*", "+@all"))
            self.check(result, 77, "2 hashes could not be looked at: NOPERM", "HRANDFIELD")
            self.assertIn("mine:1", result.out)
            self.assertNotIn("theirs", result.out)

    def test_says_which_command_it_needs(self) -> None:
        self.server.ask("HSET", "k", OTHER, "1")
        for command in ("hrandfield", "hstrlen", "hget", "hlen", "pttl"):
            result = self.colock("ls", url=self.login("~*", "+@all", "-" + command))
            self.check(result, 77, "1 hash could not be looked at: NOPERM", command)
            self.assertEqual(result.out, "")

    def test_what_changes_after_the_scan_is_left_out(self) -> None:
        gate = Gate(self.server.path)
        self.addCleanup(gate.close)

        def change(data: bytes, pid: int) -> None:
            if b"HRANDFIELD" in data:
                self.server.ask("DEL", "gone", "changed")
                self.server.ask("SET", "changed", "1")

        gate.before = change
        for name in ("changed", "gone", "stays"):
            self.server.ask("HSET", name, OTHER, "1")
        result = self.colock("ls", "--json", url=gate.url)
        self.check(result, 0)
        self.assertEqual([json.loads(line)["key"] for line in result.out.splitlines()], ["stays"])
        self.assertEqual(result.err, "")

    def test_the_server_goes_after_the_scan(self) -> None:
        self.server.ask("HSET", "k", OTHER, "1")
        gate = Gate(self.server.path)
        self.addCleanup(gate.close)

        def cut(data: bytes, pid: int) -> None:
            if b"HRANDFIELD" in data:
                raise ConnectionResetError

        gate.before = cut
        result = self.colock("ls", "--connect-timeout", "500ms", url=gate.url)
        self.check(result, 69, "colock ls: ask with", "no connection to")
        self.assertEqual(result.out, "")


if __name__ == "__main__":
    support.main()
