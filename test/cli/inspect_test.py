# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""colock info, ls, doctor, bench; wrong usage; the man page and the completions."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import support
from gate import Gate
from support import UUID, Case, Redis, Terminal, wait_for

CLI = pathlib.Path(__file__).resolve().parents[2] / "cli"
COMMANDS = ("run", "elect", "info", "ls", "watch", "unlock", "doctor", "bench")
WORKLOADS = [*(f"W{n}" for n in range(1, 13)), "W1d", "keys"]
OTHER = "11111111-2222-3333-4444-555555555555:7"


class Usage(Case):
    def test_says_what_was_wrong_and_shows_the_usage_line(self) -> None:
        long = "x" * 10_001
        for words, what in (
            ((), "which command?"),
            (("ruin",), "ruin"),
            (("run",), "KEY is missing"),
            (("elect", "k"), "no '--' before the command"),
            (("elect", "--wait", "1s", "k", "--", "true"), "--wait"),
            (("run", "--at-least", "soon", "k", "--", "true"), "soon is no duration"),
            (("run", "k"), "no '--' before the command"),
            (("run", "k", "true"), "no '--' before the command"),
            (("run", "k", "--"), "CMD is missing"),
            (("run", "--", "true"), "KEY is missing"),
            (("run", "", "--", "true"), "KEY is empty"),
            (("run", long, "--", "true"), "10001 bytes"),
            (("run", "k", "more", "--", "true"), "more"),
            (("run", "--waits", "1", "k", "--", "true"), "there is no option --waits\n"),
            (("run", "--wait", "soon", "k", "--", "true"), "soon is no duration: write 500ms"),
            (("run", "--wait", "-1", "k", "--", "true"), "-1 is no duration"),
            (("run", "--wait", "1x", "k", "--", "true"), "1x is no duration"),
            (("run", "--wait", "1e3", "k", "--", "true"), "1e3 is no duration"),
            (("run", "--wait", "99999999h", "k", "--", "true"), "is no duration"),
            (("run", "--lease", "50ms", "k", "--", "true"), "too short: at least 100 ms"),
            (("run", "--kind", "mutex", "k", "--", "true"), "mutex is none of fair, fenced, lock"),
            (("run", "--on-lost", "cry", "k", "--", "true"), "cry is none of ignore, kill, term"),
            (("run", "--conflict-exit-code", "256", "k", "--", "true"), "256"),
            (("run", "--wait"), "--wait"),
            (("run", "--tls-cert", "x", "k", "--", "true"), "--tls-cert and --tls-key"),
            (("info",), "KEY"),
            (("info", ""), "KEY is empty"),
            (("info", "a", "b"), "b"),
            (("ls", "a", "b"), "b"),
            (("watch",), "KEY"),
            (("unlock",), "KEY"),
            (("unlock", "k"), "there is no terminal"),
            (("doctor", "x"), "x"),
            (("bench",), "workload"),
            (("bench", "W99"), "W99"),
        ):
            with self.subTest(words=[w[:20] for w in words]):
                result = self.colock(*words)
                self.assertEqual(result.status, 64, result)
                self.assertIn(what, result.err)
                name = f"colock {words[0]}" if words and words[0] in COMMANDS else "colock"
                self.assertIn(f"Usage: {name} ", result.err)
                self.assertEqual(result.err.count("Usage"), 1)
                self.assertTrue(result.err.startswith(name + ": "), result.err)

    def test_bad_urls(self) -> None:
        for url, what in (
            ("http://host", "scheme"),
            ("redis://host:0", "port"),
            ("redis://us%er:pw%zz@host", "credentials"),
        ):
            result = self.colock("info", "--url", url, "k")
            self.check(result, 64, "--url")
            self.assertNotIn("pw%zz", result.err)
        self.check(self.colock("info", "--tls-ca", "/x", "k"), 64, "rediss")

    def test_a_url_given_as_key_is_not_printed(self) -> None:
        for words in (("info",), ("info", "k"), ("watch",), ("unlock", "--yes"), ("run",), ("run", "--")):
            result = self.colock(*words, "redis://us:pw@host", "--", "true")
            self.check(result, 64)
            self.assertNotIn("pw", result.out + result.err)
        for scheme in ("redis", "rediss", "redis+sentinel", "rediss+cluster", "unix"):
            self.check(self.colock("info", f"{scheme}://us:pw@host"), 64, "is given with --url")
        self.check(self.colock("info", "orders://us@host"), 0)

    def test_help(self) -> None:
        self.assertEqual(self.colock("--version").out, "colock 0.3.0\n")
        whole = self.colock("--help")
        self.check(whole, 0)
        for name in COMMANDS:
            self.assertIn(name, whole.out)
            result = self.colock(name, "--help")
            self.check(result, 0)
            self.assertTrue(f"Usage: colock {name} " in result.out, result.out)
            self.assertIn("Examples:", result.out)

    def test_the_man_page_and_the_completions_have_all_options(self) -> None:
        man = (CLI / "colock.1").read_text().replace("\\-", "-")
        bash = (CLI / "completion/colock.bash").read_text()
        zsh = (CLI / "completion/_colock").read_text()
        for name in COMMANDS:
            options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", options_part(self.colock(name, "--help").out)))
            self.assertGreater(len(options), 5)
            for option in options:
                for where, text in (("man", man), ("bash", bash), ("zsh", zsh)):
                    found = re.search(re.escape(option) + r"(?![a-z-])", text)
                    self.assertTrue(found, f"{option} of {name} in {where}")

    def test_the_man_page_is_well_formed(self) -> None:
        for tool in (["mandoc", "-Tlint", "-Wwarning"], ["groff", "-man", "-ww", "-Tutf8"]):
            if shutil.which(tool[0]):
                done = subprocess.run([*tool, CLI / "colock.1"], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_completion_in_bash(self) -> None:
        def complete(*words: str) -> list[str]:
            script = f'. {CLI}/completion/colock.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _colock; printf "%s\\n" "${{COMPREPLY[@]}}"'
            done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True)
            self.assertEqual(done.stderr, "")
            return done.stdout.split()

        self.assertEqual(complete("colock", "w"), ["watch"])
        self.assertEqual(complete("colock", "run", "--kind", "f"), ["fair", "fenced"])
        self.assertEqual(complete("colock", "run", "--on"), ["--on-lost"])
        self.assertIn("true", complete("colock", "run", "k", "--", "tru"))
        self.assertEqual(complete("colock", "unlock", "--y"), ["--yes"])
        self.assertEqual(complete("colock", "bench", ""), WORKLOADS)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_completion_in_zsh(self) -> None:
        done = subprocess.run(["zsh", "-n", CLI / "completion/_colock"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        programs = tempfile.mkdtemp(dir=self.server.folder)
        for name in ("colock", "only-this-one"):
            with open(f"{programs}/{name}", "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(f"{programs}/{name}", 0o755)
        zsh = Terminal(["zsh", "-f", "-i"], self.server.url)
        self.addCleanup(zsh.close)
        zsh.type(f"fpath=({CLI}/completion $fpath); autoload -U compinit; compinit -u -D\n")
        zsh.type(f"path=({programs}); print ready-$((40+2))\n")
        zsh.expect("ready-42")
        for line, more in (
            ("colock wat\t", "ch"),
            ("colock run --wa\t", "--wait  -- how long to wait"),
            ("colock run k -- only-th\t", "is-one"),
            ("colock elect --lease 2s k -- only-th\t", "is-one"),
        ):
            zsh.type(line)
            zsh.expect("(?s)" + re.escape(line.rstrip("\t")) + ".*" + more)
            zsh.type("\x15")  # takes the line away


class Info(Case):
    def info(self, key: str = "k") -> dict[str, object]:
        result = self.colock("info", "--json", key)
        self.check(result, 0)
        return json.loads(result.out)

    def test_free(self) -> None:
        self.assertEqual(self.info()["locked"], False)
        self.assertTrue(self.colock("info", "k").out.startswith("k: free\n"))

    def test_held(self) -> None:
        self.hold("k", "--lease", "20s")
        found = self.info()
        self.assertEqual((found["key"], found["kind"], found["locked"]), ("k", "lock", True))
        self.assertTrue(10_000 < found["lease_ms"] <= 20_000)  # type: ignore[operator]
        [holder] = found["holders"]  # type: ignore[misc]
        self.assertRegex(holder["owner"], UUID.pattern + r":\d+$")
        self.assertEqual(holder["depth"], 1)
        waits = self.start("run", "k", "--", "true")
        wait_for(lambda: self.info()["waiting_clients"] == 1, "the waiter")
        self.assertRegex(self.colock("info", "k").out,
                         r"^k: lock\n  held by   \S+(, \S+, for [^\n]+)?\n  lease     1?\d\S* s left\n  waiting   1 client\n$")
        waits.kill()

    def test_fair_and_its_queue(self) -> None:
        self.hold("k", "--kind", "fair")
        waits = self.start("run", "--kind", "fair", "k", "--", "true")
        wait_for(lambda: len(self.info().get("queue", [])) == 1, "the queue")  # type: ignore
        self.assertEqual(self.info()["kind"], "fair")
        waits.kill()

    def test_readers(self) -> None:
        self.hold("k", "--kind", "read")
        self.start("run", "--kind", "read", "k", "--", "sleep", "60")
        wait_for(lambda: len(self.info()["holders"]) == 2, "two readers")  # type: ignore[arg-type]
        found = self.info()
        self.assertEqual(found["kind"], "read-write")
        self.assertEqual({h["side"] for h in found["holders"]}, {"read"})  # type: ignore

    def test_redissons_and_without_a_lease(self) -> None:
        self.server.ask("HSET", "k", OTHER, "3")
        self.assertEqual(self.info()["lease_ms"], None)
        out = self.colock("info", "k").out
        self.assertIn(f"held by   {OTHER}, 3 times", out)
        self.assertIn("none: it stays", out)

    def test_what_is_no_lock(self) -> None:
        self.server.ask("SET", "s", "five")
        self.server.ask("HSET", "h", "name", "value")
        self.check(self.colock("info", "s"), 65, "s: read", "string", "semaphore")
        self.check(self.colock("info", "h"), 65, "hash")

    def test_a_semaphore_and_permits(self) -> None:
        self.server.ask("SET", "n", "5")
        self.assertIn("n: semaphore or latch\n  value     5", self.colock("info", "n").out)
        self.server.ask("SET", "p", "2")
        self.server.ask("ZADD", "{p}:timeout", "922337203685477", "0123456789abcdef")
        self.server.ask("ZADD", "{p}:timeout", "1", "ended00000000000")
        found = json.loads(self.colock("info", "--json", "p").out)
        self.assertEqual((found["kind"], found["value"]), ("permits", 3))
        self.assertEqual([h["owner"] for h in found["holders"]], [b"0123456789abcdef".hex()])

    def test_what_does_not_exist(self) -> None:
        self.assertIn("\n  key       does not exist: no lock that is held, no semaphore and no latch\n",
                      self.colock("info", "k").out)
        self.assertEqual(self.info()["exists"], False)
        with socket.socket(socket.AF_UNIX) as waits:
            waits.connect(self.server.path)
            waits.sendall(b"SUBSCRIBE redisson_sc:{s}\r\n")
            waits.recv(1)
            self.server.ask("ZADD", "colock_wait:{s}:turns", "1", "one:1", "2", "two:1:3")
            self.assertEqual(self.colock("info", "s").out,
                             "s: does not exist\n  waiting   2 clients for permits, until somebody sets them\n")
            self.assertEqual(self.info("s")["waiting_for_permits"], 2)

    def test_says_who_holds_it_and_since_when(self) -> None:
        self.hold()
        label = f"{socket.gethostname()}:"

        def holder() -> dict[str, object]:
            return self.info()["holders"][0]  # type: ignore

        wait_for(lambda: "held_ms" in holder(), "since when it is held")
        self.assertTrue(str(holder()["label"]).startswith(label))
        self.assertGreaterEqual(int(str(holder()["held_ms"])), 1000)
        for words in (("info", "k"), ("ls",)):
            self.assertRegex(self.colock(*words).out, re.escape(label) + r"\d+, for \d")

    def test_a_label_cannot_steer_a_terminal(self) -> None:
        self.server.ask("HSET", "k", OTHER, "1")
        client, label = OTHER[:36], "\x1b[31mevil\n"
        parts = ["1", client, label, "1", "holds", "lock", "k", OTHER, "1", "5000"]
        text = "".join(f"{len(p)}:{p}" for p in parts)
        self.server.ask("SET", "colock_client:" + client.replace("-", "")[:16], text, "PX", "15000")
        out = self.colock("info", "k").out
        self.assertIn(r"\x1b[31mevil\x0a", out)
        self.assertNotIn("\x1b", out)

    def test_of_a_large_hash_the_beginning(self) -> None:
        fields = [w for n in range(1000) for w in (f"{OTHER}{n}", "1")]
        self.server.ask("HSET", "readers", "mode", "read", *fields)
        self.server.ask("HSET", "h", *[w for n in range(1000) for w in (f"field-{n}", "1")])
        self.assertEqual(len(self.info("readers")["holders"]), 1000)  # type: ignore[arg-type]
        self.server.ask("CONFIG", "RESETSTAT")
        self.check(self.colock("info", "h"), 65, "hash")
        self.assertNotIn("cmdstat_hgetall", str(self.server.ask("INFO", "commandstats")))

    def test_bytes_that_a_terminal_should_not_see(self) -> None:
        out = self.colock("info", "a\x1b[31mb").out
        self.assertIn('"a\\x1b[31mb": free', out)


class LongList(Case):
    """More than a pipe takes."""

    locks = 3_000

    def setUp(self) -> None:
        words = "for i = 1, %d do redis.call('hset', 'lock:' .. i, '%s', 1) end" % (self.locks, OTHER)
        self.server.ask("EVAL", words, "0")

    def test_all_of_it_comes_through_a_pipe_that_does_not_block(self) -> None:
        ours, theirs = os.pipe()
        os.set_blocking(theirs, False)  # as another program may have left it
        listing = self.start("ls", "--json", stdout=theirs)
        os.close(theirs)
        text = b""
        while part := os.read(ours, 4096):
            text += part
        os.close(ours)
        self.check(listing.end(), 0)
        keys = [json.loads(line)["key"] for line in text.splitlines()]
        self.assertEqual(len(set(keys)), self.locks)

    def test_ends_when_its_reader_has_gone(self) -> None:
        for is_ignored in (False, True):
            with self.subTest(is_ignored):
                ignore = (lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)) if is_ignored else None
                listing = self.start("ls", "--json", restore_signals=not is_ignored, preexec_fn=ignore)
                self.assertIn("lock:", listing.stdout.readline())  # type: ignore[union-attr]
                listing.stdout.close()  # type: ignore[union-attr]
                self.assertEqual(listing.wait(support.LIMIT), -signal.SIGPIPE)

    def test_says_when_it_can_t_write(self) -> None:
        with open("/dev/full", "wb") as full:
            self.check(self.start("ls", stdout=full).end(), 1, "No space left on device")


class List(Case):
    def test_locks_and_nothing_else(self) -> None:
        self.hold("order:1")
        self.server.ask("HSET", "order:2", OTHER, "1")
        self.server.ask("HSET", "rw", "mode", "read", OTHER, "2")
        self.server.ask("HSET", "foreign", "field", "1")
        self.server.ask("HSET", "mode-only", "mode", "read")
        self.server.ask("SET", "string", "1")
        for i in range(3):
            self.server.ask("HSET", "large", *[w for n in range(400) for w in (f"f{i}-{n}", "1")])
        result = self.colock("ls", "--json")
        self.check(result, 0)
        found = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual([f["key"] for f in found], ["order:1", "order:2", "rw"])
        self.assertEqual(found[1]["lease_ms"], None)
        self.assertEqual(found[1]["holders"], [{"owner": OTHER, "depth": 1}])
        self.assertEqual(found[2]["kind"], "read-write")
        some = self.colock("ls", "--json", "order:*").out
        self.assertEqual(len(some.splitlines()), 2)
        table = self.colock("ls").out.splitlines()
        self.assertEqual(table[0].split()[:3], ["KEY", "KIND", "LEASE"])
        self.assertEqual(len(table), 4)
        self.assertEqual(self.colock("ls", "nothing*").out, "")

    def sent_by(self, server: Redis) -> int:
        found = re.search(r"total_net_output_bytes:(\d+)", str(server.ask("INFO", "stats")))
        return int(found.group(1))  # type: ignore[union-attr]

    def test_reads_no_values(self) -> None:
        script = """for i = 1, 16 do redis.call('hset', 'large', 'f' .. i, string.rep('x', 1000000)) end
                    redis.call('hset', 'owned', ARGV[1], string.rep('1', 16000000))
                    for i = 1, 100000 do redis.call('hset', 'many', 'field' .. i, 1) end
                    redis.call('hset', 'lock', ARGV[1], 3)"""
        self.server.ask("EVAL", script, "0", OTHER)
        before = self.sent_by(self.server)
        result = self.colock("ls", "--json")
        sent = self.sent_by(self.server) - before
        self.check(result, 0)
        [found] = map(json.loads, result.out.splitlines())
        self.assertEqual((found["key"], found["holders"]), ("lock", [{"owner": OTHER, "depth": 3}]))
        self.assertLess(sent, 100_000)

    def test_of_many_readers_some(self) -> None:
        self.server.ask("HSET", "rw", "mode", "read", *[w for n in range(1000) for w in (f"{OTHER}{n}", "1")])
        found = json.loads(self.colock("ls", "--json").out)
        self.assertEqual(found["kind"], "read-write")
        self.assertEqual(len(found["holders"]) + found["more_holders"], 1000)
        self.assertLessEqual(len(found["holders"]), 16)
        self.assertIn(" (reads) and 999 others\n", self.colock("ls").out)

    def fill(self, others: int, locks: int) -> None:
        script = """for i = 1, ARGV[2] do redis.call('hset', 'n' .. i, 'f', 1) end
                    for i = 1, ARGV[3] do redis.call('hset', 'l' .. i, ARGV[1], 1) end"""
        self.server.ask("EVAL", script, "0", OTHER, str(others), str(locks))

    def test_has_few_requests_under_way(self) -> None:
        self.fill(3000, 1200)
        gate = Gate(self.server.path)
        self.addCleanup(gate.close)
        together = []
        gate.before = lambda data, pid: together.append(len(re.findall(rb"\r\n(?:H|PTTL)", data)))
        self.assertEqual(len(self.colock("ls", "--json", url=gate.url).out.splitlines()), 1200)
        self.assertGreater(max(together), 16)
        self.assertLess(max(together), 129)

    def test_many_locks_take_little_memory(self) -> None:
        self.fill(10_000, 60_000)
        little, few = self.memory_and_lines("l11*")
        much, many = self.memory_and_lines("*")
        self.assertEqual(len(few), 1111)
        self.assertEqual(len({json.loads(line)["key"] for line in many}), 60_000)
        self.assertLess(much - little, 10_000)

    def memory_and_lines(self, pattern: str) -> tuple[int, list[bytes]]:
        """The most that it had in KiB, while it waited for us to read its last lines; and these."""
        listing = self.start("ls", "--json", pattern)
        stdout = listing.stdout.fileno()  # type: ignore[union-attr]
        most, text = 0, b""
        while part := os.read(stdout, 65536):
            text += part
            with open(f"/proc/{listing.pid}/status") as file:
                found = re.search(r"VmHWM:\s+(\d+)", file.read())
            most = max(most, int(found.group(1)) if found else 0)
        self.assertEqual(listing.wait(support.LIMIT), 0)
        return most, text.splitlines()


class Doctor(Case):
    def findings(self, url: str, status: int) -> dict[str, dict[str, str]]:
        result = self.colock("doctor", "--json", url=url)
        self.check(result, status)
        lines = [json.loads(line) for line in result.out.splitlines()]
        return {line["check"]: line for line in lines}

    def test_a_sound_server(self) -> None:
        found = self.findings(self.server.url, 0)
        for check in ("version", "eviction", "memory", "replicas", "permissions", "delays", "clock rate"):
            self.assertEqual(found[check]["level"], "ok", found)
        self.assertEqual(found["persistence"]["level"], "note")
        self.assertEqual(self.server.ask("DBSIZE"), 0)

    def test_a_bad_one(self) -> None:
        server = Redis("--maxmemory 100mb", "--maxmemory-policy allkeys-lru", "--appendonly yes")
        self.addCleanup(server.close)
        found = self.findings(server.url, 1)
        self.assertEqual(found["eviction"]["level"], "bad")
        self.assertIn("allkeys-lru", found["eviction"]["found"])
        self.assertIn("noeviction", found["eviction"]["meaning"])
        self.assertEqual(found["persistence"]["level"], "ok")
        result = self.colock("doctor", url=server.url)
        self.assertRegex(result.out, r"(?m)^bad   eviction +allkeys-lru$")

    def test_a_replica(self) -> None:
        with support.free_port() as port:
            primary = Redis(port=port)
        self.addCleanup(primary.close)
        replica = Redis(f"--replicaof 127.0.0.1 {port}")
        self.addCleanup(replica.close)
        wait_for(lambda: "state=online" in str(primary.ask("INFO", "replication")), "replication")
        self.assertEqual(self.findings(replica.url, 1)["replicas"]["level"], "bad")
        self.assertIn("1 replica", self.findings(primary.url, 0)["replicas"]["found"])

    def test_a_cut_connection_is_no_matter_of_permissions(self) -> None:
        gate = Gate(self.server.path)
        self.addCleanup(gate.close)
        cuts = []

        def cut(data: bytes, pid: int) -> None:
            if len(cuts) < 2:
                cuts.append(pid)
                raise ConnectionResetError

        gate.before = cut
        self.assertIn("no connection to", self.colock("run", "-v", "k", "--", "true", url=gate.url).err)
        cuts.clear()
        found = self.findings(gate.url, 0)
        self.assertEqual(len(cuts), 2)
        self.assertEqual((found["permissions"]["level"], found["permissions"]["found"]), ("ok", "all that locks need"))

    def test_a_user_with_few_rights(self) -> None:
        rules = ["~*", "&nothing", "+@all", "-@dangerous", "-zadd", "-publish"]
        self.server.ask("ACL", "SETUSER", "few", "on", ">word", *rules)
        self.addCleanup(self.server.ask, "ACL", "DELUSER", "few")
        url = "unix://few:word@" + self.server.path
        result = self.colock("doctor", "--json", url=url)
        self.check(result, 1)
        lines = [json.loads(line) for line in result.out.splitlines()]
        said = " ".join(line["found"] for line in lines if line["check"] == "permissions")
        self.assertIn("+zadd", said)
        self.assertIn("may not subscribe", said)
        self.assertTrue(any(line["check"] == "INFO" for line in lines))
        self.assertNotIn("word", result.out + result.err)
        self.server.ask("ACL", "SETUSER", "few", "-eval")
        self.check(self.colock("doctor", url=url), 77, "EVAL", "Remedy: ACL SETUSER few")


class Bench(Case):
    def test_help_and_completions_name_the_same_workloads(self) -> None:
        whole = self.colock("bench", "--help").out
        listed = whole.split("\nWorkloads:\n")[1].split("\n\n")[0]
        self.assertEqual([line.split()[0] for line in listed.splitlines()], sorted(WORKLOADS))
        self.assertIn("W1..W12|W1d|keys\n", whole)
        zsh = (CLI / "completion/_colock").read_text()
        self.assertIn("1:workload:(" + " ".join(WORKLOADS) + ")", zsh)
        self.assertIn("\\fIW1\\fR..\\fIW12\\fR|\\fIW1d\\fR|\\fIkeys\\fR\n", (CLI / "colock.1").read_text())

    def test_its_keys_tell_whose_they_are(self) -> None:
        self.start("bench", "W6", "--locks", "10", "--seconds", "5")
        wait_for(lambda: self.server.keys() != [], "the keys")
        self.assertEqual([k for k in self.server.keys() if not k.startswith("colock-bench")], [])

    def test_one_workload(self) -> None:
        words = ("bench", "W1", "--seconds", "0.3", "--warmup", "0.1")
        result = self.colock(*words, "--json")
        self.check(result, 0, "W1: one worker")
        found = json.loads(result.out)
        self.assertEqual(found["w"], "W1")
        self.assertIn("workers", self.colock(*words).out)
        self.check(self.colock("bench", "W1", "--url", "unix:///nowhere", "--connect-timeout", "0.2"), 69)

    def test_wrong_usage(self) -> None:
        for words in (("--links", "0"), ("--lease", "50"), ("--warmup", "-1"), ("--workers", "-1")):
            with self.subTest(words):
                self.check(self.colock("bench", "W1", *words), 64)
        self.check(self.colock("bench", "W4", "--xfile", "/nowhere/x"), 64, "/nowhere/x")
        with tempfile.NamedTemporaryFile() as precious:
            self.check(self.colock("bench", "W4", "--xfile", precious.name), 64, "File exists")
            self.assertTrue(os.path.exists(precious.name))

    def test_what_an_interrupted_one_has_left(self) -> None:
        self.server.ask("HSET", "colock-bench", "6c1e0c0a-0000-8000-a000-000000000000:1", "1")
        self.server.ask("PEXPIRE", "colock-bench", "60000")
        result = self.colock("bench", "W4", "--seconds", "0.3", "--warmup", "0", "--processes", "1",
                             "--workers", "1")
        self.check(result, 1, "colock-bench", "interrupted")


def options_part(text: str) -> str:
    """Without the examples."""
    return text.split("\nExamples:")[0].split("Exit status:")[0]


class Deadlocks(Case):
    TAKER = os.environ.get("COLOCK_TAKER", "")

    def take(self, *words: str) -> None:
        taker = subprocess.Popen([self.TAKER, self.server.url, *words], stdout=subprocess.PIPE)
        self.addCleanup(taker.wait)
        self.addCleanup(taker.kill)

    def find(self, *words: str) -> support.Result:
        return self.colock("doctor", "--deadlocks", *words)

    def test_there_is_none(self) -> None:
        result = self.find()
        self.check(result, 0)
        self.assertIn("ok    no deadlock among the 0 clients", result.out)
        self.assertIn("note  no client tells", result.out)

    @unittest.skipUnless(TAKER, "needs the worker")
    def test_two_processes_wait_for_each_other(self) -> None:
        self.take("one", "a", "b")
        self.take("two", "b", "a")
        wait_for(lambda: self.waiting() == 2, "both tell that they wait", 20)
        result = self.find()
        self.check(result, 1)
        self.assertIn("bad   deadlock: each of these waits for the next one", result.out)
        self.assertRegex(result.out, r"one has a \(for .*\) and waits for b")
        self.assertRegex(result.out, r"two has b \(for .*\) and waits for a")
        self.assertIn("colock unlock", result.out)
        lines = [json.loads(line) for line in self.find("--json").out.splitlines()]
        self.assertTrue(lines[0]["certain"])
        self.assertEqual({link["has"] for link in lines[0]["cycle"]}, {"a", "b"})

    @unittest.skipUnless(TAKER, "needs the worker")
    def test_who_waits_for_a_holder_that_tells_nothing(self) -> None:
        self.server.ask("HSET", "b", OTHER, "1")
        self.take("one", "a", "b")
        wait_for(lambda: self.waiting() == 1, "it tells that it waits", 20)
        result = self.find()
        self.check(result, 0)
        self.assertIn("1 holder of awaited locks can't be followed", result.out)

    def waiting(self) -> int:
        keys = [key for key in self.server.keys() if key.startswith("colock_client:")]
        return sum("5:waits" in str(self.server.ask("GET", key)) for key in keys)


if __name__ == "__main__":
    support.main()
