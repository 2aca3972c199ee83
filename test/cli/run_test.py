# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""colock run: the command's status, its surroundings, signals, the loss, the end of a wait."""

import os
import signal
import socket
import subprocess
import tempfile
import time

import support
from support import UUID, Case, Command, Redis, state_of, wait_for


class Status(Case):
    def test_that_of_the_command(self) -> None:
        for number in (0, 1, 7, 64, 69, 70, 75, 255):
            self.check(self.colock("run", "k", "--", "sh", "-c", f"exit {number}"), number)
        self.check_nothing_is_left()

    def test_128_and_the_signal(self) -> None:
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV):
            self.check(self.colock("run", "k", "--", "sh", "-c", f"kill -{number} $$"), 128 + number)
        self.check_nothing_is_left()

    def test_what_cannot_be_run(self) -> None:
        missing = self.colock("run", "k", "--", "no-such-program", "x")
        self.check(missing, 127, "k: run no-such-program: No such file or directory")
        self.check(self.colock("run", "k", "--", "/etc/passwd"), 126, "Permission denied")
        self.check_nothing_is_left()
        # Nothing was run, so nobody else has to stay out.
        self.check(self.colock("run", "--at-least", "1m", "k", "--", "no-such-program"), 127)
        self.check_nothing_is_left()

    def test_somebody_else_has_it(self) -> None:
        self.hold()
        begun = time.monotonic()
        self.check(self.colock("run", "--wait", "0", "k", "--", "true"), 75, "k: somebody else")
        self.check(self.colock("run", "--wait", "300ms", "k", "--", "true"), 75, "after 300 ms")
        self.assertGreater(time.monotonic() - begun, 0.3)
        refused = self.colock(
            "run", "--wait", "0", "--conflict-exit-code", "3", "-q", "k", "--", "true"
        )
        self.check(refused, 3)
        self.assertEqual(refused.err, "")

    def test_at_least_so_long(self) -> None:
        words = ("run", "--wait", "0", "--at-least", "2s", "k", "--", "echo", "ran")
        self.assertEqual(self.colock(*words).out, "ran\n")
        self.check(self.colock(*words), 75, "k: done in this period, or under way")
        self.check_keys_soon_gone()
        self.assertEqual(self.colock(*words).out, "ran\n")

    def check_keys_soon_gone(self) -> None:
        wait_for(lambda: not self.server.keys(), "the end of the lock")

    def test_no_connection(self) -> None:
        nowhere = "unix:///nowhere/redis.sock"
        result = self.colock(
            "run", "--url", nowhere, "--connect-timeout", "300ms", "k", "--", "true"
        )
        self.check(result, 69, "k: ", "/nowhere/redis.sock", "No such file", "check --url")
        result = self.colock("run", "--url", nowhere, "--wait", "0.2", "k", "--", "true")
        self.check(result, 69, "within 200 ms")
        result = self.colock(
            "run", "--url", nowhere, "--wait", "0", "--connect-timeout", "300ms", "k", "--", "true"
        )
        self.check(result, 69)

    def test_an_empty_url_is_none(self) -> None:
        self.check(self.colock("run", "--url", "", "k", "--", "true"), 64, "--url", "empty")
        self.check(self.colock("run", "--tls-ca", "", "k", "--", "true"), 64, "--tls-ca", "empty")
        nothing = self.colock("run", "k", "--", "true", url="", env={"COLOCK_URL": ""})
        self.check(nothing, 64, "$COLOCK_URL is empty")

    def test_the_key_is_no_lock(self) -> None:
        self.server.ask("SET", "k", "text")
        self.check(self.colock("run", "k", "--", "true"), 65, "k: acquire", "no lock")
        self.server.ask("HSET", "h", "a", "b")  # looks held to every lock
        for options in (("--wait", "0"), (), ("-q",)):
            with self.subTest(options):
                self.check(self.colock("run", *options, "h", "--", "true"), 65, "h: acquire", "no lock")
        self.check(self.colock("elect", "h", "--", "true"), 65, "h: acquire", "no lock")
        self.check(self.colock("run", "--kind", "read", "--at-least", "1s", "r", "--", "true"), 64,
                   "--at-least", "Usage")

    def test_each_kind(self) -> None:
        for kind in ("lock", "fair", "read", "write", "spin", "fenced"):
            with self.subTest(kind):
                script = 'echo "$COLOCK_KEY $COLOCK_TOKEN $COLOCK_OWNER"'
                result = self.colock("run", "--kind", kind, "a b", "--", "sh", "-c", script)
                self.check(result, 0)
                self.assertEqual(result.err, "")
                key, token, owner = result.out.rsplit(None, 2)
                self.assertEqual(key, "a b")
                self.assertRegex(owner, UUID.pattern + r":\d+")
                if kind == "read":
                    self.assertEqual(token, "0")
                else:
                    self.assertGreater(int(token), 0)
                left = [k for k in self.server.keys() if "lock_token" not in k]
                self.assertEqual(left, [])

    def test_readers_share(self) -> None:
        self.hold("k", "--kind", "read")
        self.check(self.colock("run", "--kind", "read", "--wait", "0", "k", "--", "true"), 0)
        self.check(self.colock("run", "--kind", "write", "--wait", "0", "k", "--", "true"), 75)


class Refused(Case):
    lines = ("--requirepass secret",)

    def tearDown(self) -> None:
        pass

    def test_77_and_no_password(self) -> None:
        for url in ("unix://:wrongword@" + self.server.path, "unix://" + self.server.path):
            result = self.colock("run", "k", "--", "true", url=url)
            self.check(result, 77, "refuses us")
            self.assertNotIn("wrongword", result.err)
        result = self.colock("run", "k", "--", "true", url="redis://u:wrongword@host:99999/")
        self.check(result, 64, "$COLOCK_URL", "port")
        self.assertNotIn("wrongword", result.err)
        result = self.colock("run", "--utl", "redis://u:wrongword@host/", "k", "--", "true")
        self.check(result, 64)
        self.assertNotIn("wrongword", result.err)

    def test_a_password_is_blanked_out_of_the_words(self) -> None:
        url = "unix://:secret@" + self.server.path
        held = self.start("run", "--url", url, "k", "--", "cat", stdin=subprocess.PIPE)

        def words() -> bytes:
            with open(f"/proc/{held.pid}/cmdline", "rb") as file:
                return file.read()

        wait_for(lambda: b"***" in words(), "blanks")
        self.assertNotIn(b"secret", words())
        held.stdin.close()  # type: ignore[union-attr]
        held.stdin = None
        self.check(held.end(), 0)


class Surroundings(Case):
    def test_only_the_descriptors_that_were_open(self) -> None:
        inherited = os.open("/dev/null", os.O_RDONLY)
        self.addCleanup(os.close, inherited)
        script = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])"
        plain = subprocess.run(
            ["python3", "-c", script], pass_fds=[inherited], capture_output=True, text=True
        )
        under = self.colock("run", "k", "--", "python3", "-c", script, pass_fds=[inherited])
        self.assertEqual(under.out, plain.stdout)

    def test_signal_mask_and_ignored_signals(self) -> None:
        script = (
            "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status",
            "trap '' HUP; exec \"$@\"",
        )
        plain = subprocess.run(["sh", "-c", script[0]], capture_output=True, text=True)
        under = self.colock("run", "k", "--", "sh", "-c", script[0])
        self.assertEqual(under.out, plain.stdout)
        # As nohup does it.
        held = subprocess.Popen(
            ["sh", "-c", script[1], "sh", support.COLOCK, "run", "k", "--", "sleep", "60"],
            env={**os.environ, "COLOCK_URL": self.server.url},
        )
        wait_for(lambda: self.server.keys() == ["k"], "the lock")
        held.send_signal(signal.SIGHUP)
        held.send_signal(signal.SIGTERM)
        self.assertEqual(held.wait(10), 128 + signal.SIGTERM)

    def test_standard_input_is_the_commands(self) -> None:
        held = self.start("run", "k", "--", "cat", stdin=subprocess.PIPE)
        out, _ = held.communicate("all of it\n", timeout=10)
        self.assertEqual(out, "all of it\n")

    def test_keys_of_all_kinds(self) -> None:
        for key in ("a{b}c", "ä ö", "x" * 10_000, "*", "-"):
            result = self.colock("run", key, "--", "sh", "-c", 'printf %s "$COLOCK_KEY"')
            self.assertEqual((result.status, result.out), (0, key))
        result = self.colock("run", "--", "-v", "--", "sh", "-c", 'printf %s "$COLOCK_KEY"')
        self.assertEqual((result.status, result.out), (0, "-v"))

    def test_progress_after_two_seconds(self) -> None:
        self.hold()
        result = self.colock("run", "--wait", "2.5", "k", "--", "true")
        self.check(result, 75, "k: waiting for the lock")
        result = self.colock("run", "-q", "--wait", "2.2", "k", "--", "true")
        self.assertEqual(result.err, "")


class Elect(Case):
    def test_gives_the_status_and_resigns(self) -> None:
        self.check(self.colock("elect", "k", "--", "sh", "-c", "exit 7"), 7)
        self.assertEqual(self.server.ask("EXISTS", "k"), 0)

    def test_says_who_leads(self) -> None:
        told = 'echo "$COLOCK_TOKEN"'
        result = self.colock("elect", "--say", "here:80", "k", "--", "sh", "-c", told)
        self.assertEqual(self.server.ask("HGET", "colock_leader:{k}", "words"), "here:80")
        token = self.server.ask("HGET", "colock_leader:{k}", "token")
        self.assertEqual(result.out, f"{token}\n")

    def test_runs_it_again_after_a_loss(self) -> None:
        script = "echo begun; exec sleep 60"
        command = self.start("elect", "--lease", "300ms", "-q", "k", "--", "sh", "-c", script)
        for _ in range(2):
            self.assertEqual(command.stdout.readline(), "begun\n")
            self.server.ask("DEL", "k")
        self.assertEqual(command.stdout.readline(), "begun\n")
        command.send_signal(signal.SIGTERM)
        self.assertEqual(command.end().status, 128 + signal.SIGTERM)

    def test_a_signal_that_is_for_the_command_does_not_end_it(self) -> None:
        script = "trap 'echo read again' HUP QUIT; echo begun; while :; do sleep 0.02; done"
        for number in (signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number.name):
                command = self.start("elect", "--lease", "300ms", "-q", "k", "--", "sh", "-c", script)
                self.assertEqual(command.stdout.readline(), "begun\n")
                command.send_signal(number)
                self.assertEqual(command.stdout.readline(), "read again\n")
                self.server.ask("DEL", "k")
                self.assertEqual(command.stdout.readline(), "begun\n")
                command.send_signal(signal.SIGTERM)
                self.assertEqual(command.end().status, 128 + signal.SIGTERM)

    def test_a_signal_after_the_loss_ends_it(self) -> None:
        # The second signal, which is passed on, is for the command alone.
        told = 'trap "" TERM; echo told; read line; exit 0'
        script = f"trap '{told}' TERM; echo begun; while :; do sleep 0.02; done"
        command = self.start("elect", "--lease", "300ms", "-q", "k", "--", "sh", "-c", script,
                             stdin=subprocess.PIPE)
        self.assertEqual(command.stdout.readline(), "begun\n")  # type: ignore[union-attr]
        self.server.ask("DEL", "k")
        self.assertEqual(command.stdout.readline(), "told\n")  # type: ignore[union-attr]
        command.send_signal(signal.SIGTERM)
        result = command.end()
        self.assertEqual((result.status, result.out), (70, ""))


class Signals(Case):
    def test_passed_on(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT,
                       signal.SIGUSR1, signal.SIGUSR2):
            with self.subTest(number.name):
                script = f"trap 'echo got {number}; exit 9' {number}; echo ready; while :; do sleep 0.02; done"
                held = self.start("run", "k", "--", "sh", "-c", script)
                self.assertEqual(held.stdout.readline(), "ready\n")  # type: ignore[union-attr]
                held.send_signal(number)
                result = held.end()
                self.assertEqual((result.status, result.out), (9, f"got {number}\n"))
        self.check_nothing_is_left()

    def test_to_the_whole_group(self) -> None:
        script = "sleep 60 & echo $!; wait"
        held = self.start("run", "k", "--", "sh", "-c", script)
        grandchild = int(held.stdout.readline())  # type: ignore[union-attr]
        held.terminate()
        self.assertEqual(held.end().status, 128 + signal.SIGTERM)
        wait_for(lambda: not is_alive(grandchild), "the end of the grandchild")

    def test_after_the_end_it_changes_nothing(self) -> None:
        for turn in range(40):
            job = self.start("run", "k", "--", "sh", "-c", "echo x; exit 9")
            job.stdout.readline()  # type: ignore[union-attr]
            time.sleep(turn / 8000)
            job.send_signal(signal.SIGTERM)
            # 143: it was passed on to the command, which had not ended.
            self.assertIn(job.wait(10), (9, 143))
        self.check_nothing_is_left()

    def test_while_waiting(self) -> None:
        for kind in ("lock", "fair", "read"):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
                with self.subTest(f"{kind} {number.name}"):
                    holder = self.hold("k", "--kind", "write" if kind == "read" else kind)
                    before = self.server.keys()
                    waits = self.start("run", "--kind", kind, "k", "--", "true")
                    wait_for(lambda: waiters(self.server) > 0, "the waiter")
                    begun = time.monotonic()
                    waits.send_signal(number)
                    self.assertEqual(waits.end().status, 128 + number)
                    self.assertLess(time.monotonic() - begun, 1.0)
                    self.assertEqual(self.server.keys(), before)
                    wait_for(lambda: waiters(self.server) == 0, "no subscription")
                    holder.stdin.close()  # type: ignore[union-attr]
                    holder.wait(10)
                    self.check_nothing_is_left()

    def test_while_connecting(self) -> None:
        # A server that accepts and says nothing.
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
            waits = self.start("run", "--connect-timeout", "1m", "k", "--", "true", url=url)
            silent.settimeout(10)
            connection, _ = silent.accept()
            begun = time.monotonic()
            waits.send_signal(signal.SIGINT)
            self.assertEqual(waits.end().status, 128 + signal.SIGINT)
            self.assertLess(time.monotonic() - begun, 1.0)
            connection.close()

    def test_killed_outright(self) -> None:
        held = self.start("run", "--lease", "1s", "k", "--", "sh", "-c", "echo $$; exec sleep 60")
        program = int(held.stdout.readline())  # type: ignore[union-attr]
        held.kill()
        begun = time.monotonic()
        self.check(self.colock("run", "k", "--", "true"), 0)
        self.assertLess(time.monotonic() - begun, 1.5)
        self.assertFalse(is_alive(program), "the command has been ended with colock")


class Loss(Case):
    def begin(self, script: str, *options: str) -> Command:
        held = self.start("run", "--lease", "600ms", *options, "k", "--", "sh", "-c", script)
        self.assertEqual(held.stdout.readline(), "ready\n")  # type: ignore[union-attr]
        return held

    def test_unlocked_from_outside(self) -> None:
        held = self.begin("trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.02; done")
        self.assertEqual(self.colock("unlock", "--yes", "k").status, 0)
        result = held.end()
        self.assertEqual(result.out, "told\n")
        self.check(result, 70, "k: the lock is lost", "SIGTERM, and SIGKILL in 5 s")

    def test_killed_after_the_grace(self) -> None:
        held = self.begin(
            "trap '' TERM; echo ready; while :; do sleep 0.02; done", "--grace", "300ms"
        )
        self.server.ask("DEL", "k")
        begun = time.monotonic()
        self.check(held.end(), 70)
        self.assertGreater(time.monotonic() - begun, 0.3)
        self.assertLess(time.monotonic() - begun, 2)

    def test_its_children_too(self) -> None:
        held = self.start(
            "run", "--lease", "600ms", "--grace", "300ms", "k", "--",
            "sh", "-c", "(trap '' TERM; while :; do sleep 0.02; done) & echo $!; wait"
        )
        grandchild = int(held.stdout.readline())  # type: ignore[union-attr]
        self.server.ask("DEL", "k")
        self.assertEqual(held.wait(10), 70)
        wait_for(lambda: not is_alive(grandchild), "the end of the grandchild")

    def test_the_command_of_an_inner_colock_too(self) -> None:
        held = self.start(
            "run", "--lease", "600ms", "--grace", "300ms", "k", "--", support.COLOCK, "run", "inner",
            "--", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.02; done"
        )
        program = int(held.stdout.readline())  # type: ignore[union-attr]
        self.server.ask("DEL", "k")
        self.assertEqual(held.wait(10), 70)
        wait_for(lambda: not is_alive(program), "the end of the command")

    def test_kill_at_once(self) -> None:
        held = self.begin(
            "trap '' TERM; echo ready; while :; do sleep 0.02; done", "--on-lost", "kill"
        )
        self.server.ask("DEL", "k")
        self.check(held.end(), 70, "gets SIGKILL")

    def test_ignore(self) -> None:
        held = self.begin("echo ready; read line; exit 4", "--on-lost", "ignore")
        self.server.ask("DEL", "k")
        self.check(held.end(), 4)  # standard input is empty, so it may be over before the notice
        slow = self.start(
            "run", "--lease", "600ms", "--on-lost", "ignore", "k", "--",
            "sh", "-c", "echo ready; cat; exit 4", stdin=subprocess.PIPE
        )
        self.assertEqual(slow.stdout.readline(), "ready\n")  # type: ignore[union-attr]
        self.server.ask("DEL", "k")
        line = slow.stderr.readline()  # type: ignore[union-attr]
        self.assertIn("runs on without it", line)
        slow.stdin.close()  # type: ignore[union-attr]
        self.assertEqual(slow.wait(10), 4)

    def test_the_server_dies(self) -> None:
        server = Redis()
        self.addCleanup(server.close)
        with tempfile.TemporaryDirectory() as folder:
            script = f"trap 'date +%s.%N > {folder}/told; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
            held = self.start(
                "run", "--lease", "2s", "k", "--", "sh", "-c", script, url=server.url
            )
            self.assertEqual(held.stdout.readline(), "ready\n")  # type: ignore[union-attr]
            left = server.ask("PTTL", "k")
            at = time.time()
            server.kill()
            self.check(held.end(), 70, "k: the lock is lost")
            with open(folder + "/told") as file:
                told = float(file.read())
            # The lease would have run out then at the earliest, whatever the server did.
            self.assertLess(told, at + int(left) / 1000)  # type: ignore[call-overload]

    def test_gone_at_the_release(self) -> None:
        held = self.hold("k", "--lease", "1m")
        self.server.ask("DEL", "k")
        held.stdin.close()  # type: ignore[union-attr]
        held.stdin = None
        self.check(held.end(), 0, "k: release: the lock was no longer ours")


def is_alive(pid: int) -> bool:
    return state_of(pid) not in ("", "Z")


def waiters(server: Redis) -> int:
    channels = server.ask("PUBSUB", "CHANNELS", "*")
    assert isinstance(channels, list)
    return len(channels)


if __name__ == "__main__":
    support.main()
