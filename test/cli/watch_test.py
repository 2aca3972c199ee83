# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""colock watch, and colock unlock."""

import fcntl
import json
import os
import re
import select
import socket
import subprocess
import time
from collections.abc import Callable

import support
from gate import Gate
from support import Case, Redis, Terminal, wait_for

OTHER = "11111111-2222-3333-4444-555555555555:7"


class Watch(Case):
    def watch(self, key: str = "k") -> Callable[[], dict[str, object]]:
        """What gives the next event."""
        watching = self.start("watch", "--json", key)
        wait_for(lambda: self.server.ask("PUBSUB", "CHANNELS", f"*lock_*{key}*") != [], "its ear")

        stdout = watching.stdout.fileno()  # type: ignore[union-attr]
        read = b""

        def event() -> dict[str, object]:
            nonlocal read
            while b"\n" not in read:
                self.assertTrue(select.select([stdout], [], [], support.LIMIT)[0], "no event")
                new = os.read(stdout, 65536)
                self.assertTrue(new, "it has ended")
                read += new
            line, read = read.split(b"\n", 1)
            return json.loads(line)

        return event

    def test_what_happens(self) -> None:
        event = self.watch()
        self.assertEqual(event()["event"], "free")
        holder = self.hold()
        got = event()
        self.assertEqual((got["event"], got["key"]), ("acquired", "k"))
        self.assertRegex(str(got["time"]), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        holder.stdin.close()  # type: ignore[union-attr]
        released = event()
        self.assertEqual((released["event"], released["owner"]), ("released", got["owner"]))
        holder = self.hold()
        self.assertEqual(event()["event"], "acquired")
        self.server.ask("DEL", "k")
        self.assertEqual(event()["event"], "free")
        self.assertEqual(self.colock("run", "k", "--", "true").status, 0)
        seen = [event()["event"]]
        if seen == ["acquired"]:  # a reading came just then
            seen = [event()["event"]]
        self.assertEqual(seen, ["released"])

    def test_the_end_of_a_lease(self) -> None:
        event = self.watch()
        self.assertEqual(event()["event"], "free")
        self.server.ask("EVAL", "redis.call('hset', 'k', ARGV[1], 1) redis.call('pexpire', 'k', 1500)", "0", OTHER)
        self.assertEqual(event()["event"], "acquired")
        gone = event()
        self.assertEqual((gone["event"], gone["owner"]), ("gone", OTHER))

    def test_a_fair_lock_that_nobody_waits_for(self) -> None:
        holder = self.hold("k", "--kind", "fair")
        event = self.watch()
        owner = event()["owner"]
        holder.stdin.close()  # type: ignore[union-attr]
        free = event()
        self.assertEqual((free["event"], free["owner"]), ("free", owner))

    def test_a_fair_lock_that_passes_on(self) -> None:
        holder = self.hold("k", "--kind", "fair")
        self.start("run", "--kind", "fair", "k", "--", "sleep", "60")
        wait_for(lambda: "queue" in self.colock("info", "k").out, "the queue")
        event = self.watch()
        owner = event()["owner"]
        holder.stdin.close()  # type: ignore[union-attr]
        released = event()
        self.assertEqual((released["event"], released["owner"]), ("released", owner))
        self.assertEqual(event()["event"], "acquired")

    def test_a_reader_that_leaves_others_behind(self) -> None:
        leaves = self.hold("k", "--kind", "read")
        owner = json.loads(self.colock("info", "--json", "k").out)["holders"][0]["owner"]
        self.start("run", "--kind", "read", "k", "--", "sleep", "60")
        wait_for(lambda: self.server.ask("HLEN", "k") == 3, "two readers")
        event = self.watch()
        self.assertEqual([event()["event"], event()["event"]], ["held", "held"])
        leaves.stdin.close()  # type: ignore[union-attr]
        released = event()
        self.assertEqual((released["event"], released["owner"]), ("released", owner))

    def test_a_message_that_comes_after_what_it_tells_of(self) -> None:
        for i in range(100):
            key = f"late-{i}"
            self.server.ask("HSET", key, OTHER, "1")
            event = self.watch(key)
            self.assertEqual(event()["event"], "held")
            channel = next(c for c in self.server.ask("PUBSUB", "CHANNELS") if "_lock__" in c and key in c)  # type: ignore
            self.server.ask("DEL", key)
            deleted = self.looks()
            begun = time.monotonic()
            while self.looks() == deleted:
                begun = time.monotonic()
            self.server.ask("PUBLISH", channel, "0")
            if time.monotonic() - begun < 0.03:  # in time, for sure
                released = event()
                self.assertEqual((released["event"], released.get("owner")), ("released", OTHER))
                return
        self.fail("this machine is too slow")

    def looks(self) -> str:
        found = re.search(r"cmdstat_hscan:calls=(\d+)", str(self.server.ask("INFO", "commandstats")))
        return found.group() if found else ""

    def test_the_server_goes_and_comes(self) -> None:
        server = Redis()
        self.addCleanup(server.close)
        watching = self.start("watch", "--connect-timeout", "500ms", "k", url=server.url)
        self.assertIn("free", watching.stdout.readline())  # type: ignore[union-attr]
        server.kill()
        self.assertIn("unreachable", watching.stdout.readline())  # type: ignore[union-attr]
        server.start()
        self.assertIn("reached", watching.stdout.readline())  # type: ignore[union-attr]


class Reader(Case):
    """What colock watch writes to, and that goes away."""

    def test_ends_with_it_though_nothing_happens(self) -> None:
        for restore in (True, False):  # False: SIGPIPE is ignored
            for kind in ("pipe", "socket"):
                with self.subTest(kind, restore=restore):
                    ours, theirs = socket.socketpair() if kind == "socket" else map(os.fdopen, os.pipe(), "rw")
                    watching = self.start("watch", "k", stdout=theirs, restore_signals=restore)
                    theirs.close()
                    self.assertIn(b"free", os.read(ours.fileno(), 1000))
                    ours.close()
                    self.check(watching.end(), 0)

    def test_says_in_json_why_it_sees_nothing(self) -> None:
        gate = Gate(self.server.path)
        self.addCleanup(gate.close)
        watching = self.start("watch", "--json", "k", url=gate.url)
        self.assertEqual(json.loads(watching.stdout.readline())["event"], "free")
        gate.close()
        away = json.loads(watching.stdout.readline())
        self.assertEqual(away["event"], "unreachable")
        self.assertTrue(away["why"])

    def test_ends_with_it_though_the_server_hangs(self) -> None:
        gate = Gate(self.server.path)
        self.addCleanup(gate.close)
        watching = self.start("watch", "--connect-timeout", "1m", "k", url=gate.url)
        self.assertIn("free", watching.stdout.readline())  # type: ignore[union-attr]
        gate.shut()
        self.assertTrue(gate.has_waiting.wait(support.LIMIT))
        watching.stdout.close()  # type: ignore[union-attr]
        self.assertEqual(watching.wait(support.LIMIT), 0)

    def test_ends_with_it_while_it_is_behind(self) -> None:
        ours, theirs = os.pipe()
        fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(theirs, False)  # as another program may have left it
        long = "k" * 3000
        watching = self.start("watch", "--json", long, stdout=theirs)
        wait_for(lambda: select.select([ours], [], [], 0)[0], "the first line")
        self.server.ask("HSET", long, OTHER, "1")
        wait_for(lambda: not select.select([], [theirs], [], 0)[1], "that the pipe is full")
        os.close(theirs)
        os.close(ours)
        self.check(watching.end(), 0)

    def test_says_when_there_is_none(self) -> None:
        words = ["sh", "-c", 'exec "$@" >&-', "sh", support.COLOCK, "watch", "--url", self.server.url, "k"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=support.LIMIT)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("colock watch: write to standard output: Bad file descriptor", done.stderr)


class Unlock(Case):
    def test_has_to_be_told_where_there_is_no_terminal(self) -> None:
        self.hold()
        self.check(self.colock("unlock", "k"), 64, "colock unlock: k: ", "--yes", "Usage: ")
        self.assertEqual(self.server.keys(), ["k"])

    def test_wakes_who_waits(self) -> None:
        for kind in ("lock", "fair", "write", "read"):
            with self.subTest(kind):
                self.hold("k", "--kind", kind, "--on-lost", "ignore")
                waits_for = {"read": "write", "write": "read"}.get(kind, kind)
                waits = self.start("run", "--kind", waits_for, "k", "--", "true")
                wait_for(lambda: self.server.ask("PUBSUB", "CHANNELS", "*") != [], "the waiter")
                time.sleep(0.05)
                begun = time.monotonic()
                result = self.colock("unlock", "--yes", "k")
                self.check(result, 0)
                self.assertIn("held by", result.out)
                self.assertIn("Unlocked.", result.out)
                self.assertEqual(waits.end().status, 0)
                self.assertLess(time.monotonic() - begun, 2)
                self.server.ask("FLUSHALL")

    def test_of_one_who_writes_and_reads(self) -> None:
        self.server.ask("HSET", "k", "mode", "write", OTHER, "1", OTHER + ":write", "1")
        result = self.colock("unlock", "--yes", "k")
        self.check(result, 0)
        self.assertIn("Unlocked.", result.out)
        self.assertEqual(self.server.keys(), [])

    def test_asks_again_when_another_has_it(self) -> None:
        self.server.ask("HSET", "k", OTHER, "1")
        terminal = Terminal([support.COLOCK, "unlock", "k"], self.server.url)
        self.addCleanup(terminal.close)
        terminal.expect(OTHER)
        terminal.expect(r"\[y/N\]")
        another = OTHER + "7"
        self.server.ask("DEL", "k")
        self.server.ask("HSET", "k", another, "1")
        terminal.type("y\n")
        terminal.expect("changed hands")
        terminal.expect(another)
        terminal.expect(r"\[y/N\]")
        self.assertEqual(self.server.keys(), ["k"])
        terminal.type("y\n")
        terminal.expect("Unlocked")
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(self.server.keys(), [])

    def changing_hands(self, change: Callable[[], None]) -> str:
        """The URL of a server where this happens just before the lock is taken away."""
        gate = Gate(self.server.path)
        self.addCleanup(gate.close)

        def at_release(data: bytes, pid: int) -> None:
            if b"EVAL" in data and re.search(rb"channel:{k}|rwlock:{k}", data) and not done:
                done.append(pid)
                change()

        done: list[int] = []
        gate.before = at_release
        return gate.url

    def test_leaves_it_to_one_who_came_meanwhile(self) -> None:
        another = OTHER + "7"

        def pass_on() -> None:
            self.server.ask("DEL", "k")
            self.server.ask("HSET", "k", another, "1")

        for queue in ((), (OTHER + "8",)):
            with self.subTest(queue):
                self.server.ask("HSET", "k", OTHER, "1")
                for each in queue:
                    self.server.ask("RPUSH", "redisson_lock_queue:{k}", each)
                result = self.colock("unlock", "--yes", "k", url=self.changing_hands(pass_on))
                self.check(result, 1)
                self.assertIn(f"{OTHER} no longer had it.", result.out)
                self.assertIn("changed hands meanwhile: nothing was released", result.out)
                self.assertIn(f"held by   {another}", result.out)
                self.assertEqual(self.server.ask("HGETALL", "k"), [another, "1"])
                self.server.ask("FLUSHALL")

    def test_leaves_its_place_to_one_who_waits_again(self) -> None:
        queue = "redisson_lock_queue:{k}"

        def wait_again() -> None:
            self.server.ask("DEL", "k")
            self.server.ask("HSET", "k", OTHER + "8", "1")
            self.server.ask("DEL", queue)
            self.server.ask("RPUSH", queue, OTHER)
            self.server.ask("ZADD", "redisson_lock_timeout:{k}", "9" * 13, OTHER)

        self.server.ask("HSET", "k", OTHER, "1")
        self.server.ask("RPUSH", queue, OTHER + "8")
        result = self.colock("unlock", "--yes", "k", url=self.changing_hands(wait_again))
        self.check(result, 1)
        self.assertEqual(self.server.ask("LRANGE", queue, "0", "-1"), [OTHER])

    def test_takes_a_read_lock_from_those_it_has_shown(self) -> None:
        readers = [OTHER + n for n in "123"]
        self.server.ask("HSET", "k", "mode", "read", readers[0], "1", readers[1], "1")
        self.server.ask("PEXPIRE", "k", "60000")
        for each in readers:
            self.server.ask("SET", f"{{k}}:{each}:rwlock_timeout:1", "1", "PX", "60000")

        def come_and_go() -> None:
            self.server.ask("HDEL", "k", readers[0])
            self.server.ask("HSET", "k", readers[2], "1")

        result = self.colock("unlock", "--yes", "k", url=self.changing_hands(come_and_go))
        self.check(result, 0)
        self.assertIn(f"{readers[0]} no longer had it.", result.out)
        self.assertEqual(self.server.ask("HKEYS", "k"), ["mode", readers[2]])

    def test_says_when_its_answer_was_lost(self) -> None:
        def take_away_and_hang_up() -> None:
            self.server.ask("DEL", "k")
            raise ConnectionResetError

        self.server.ask("HSET", "k", OTHER, "1")
        result = self.colock("unlock", "--yes", "k", url=self.changing_hands(take_away_and_hang_up))
        self.check(result, 69, "k: unlock", "may be taken away already", "colock info")

    def test_free_or_no_lock(self) -> None:
        result = self.colock("unlock", "-y", "k")
        self.check(result, 0)
        self.assertIn("nothing to unlock", result.out)
        self.server.ask("SET", "k", "1")
        self.check(self.colock("unlock", "-y", "k"), 65, "k: unlock")
        self.assertEqual(self.server.ask("GET", "k"), "1")


if __name__ == "__main__":
    support.main()
