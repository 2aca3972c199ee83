# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""colock run where things go wrong at the worst moment: a stalled link, a stop, a deaf reader."""

import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable, Iterator

import support
from gate import Gate
from support import Case, Command, children_of, finish, state_of, wait_for


class Stalled(Case):
    """Between the grant, after which colock asks with HGETALL, and the start of the command; and at
    the release."""

    def setUp(self) -> None:
        self.gate = Gate(self.server.path)
        self.addCleanup(self.gate.close)
        self.made = self.server.folder + "/made"

    def at_hgetall(self, action: Callable[[int], None]) -> None:
        self.gate.before = lambda data, pid: action(pid) if b"HGETALL" in data else None

    def check_lost_before_the_start(self, lease: str) -> None:
        result = self.colock("run", "--lease", lease, "k", "--", "touch", self.made,
                             url=self.gate.url)
        self.check(result, 70, "k: the lock was lost again before touch could be started")
        self.assertFalse(os.path.exists(self.made))

    def test_the_lease_passes_while_the_link_stalls(self) -> None:
        self.at_hgetall(lambda pid: self.gate.shut())
        self.check_lost_before_the_start("150ms")

    def test_the_lease_passes_while_colock_is_stopped(self) -> None:
        def stand_still(pid: int) -> None:
            os.kill(pid, signal.SIGSTOP)
            wait_for(lambda: self.server.keys() == [], "the end of the lease")
            os.kill(pid, signal.SIGCONT)

        self.at_hgetall(stand_still)
        self.check_lost_before_the_start("300ms")

    def test_a_signal_while_the_link_stalls(self) -> None:
        for options in ((), ("--wait", "0")):
            with self.subTest(options):
                told: list[float] = []

                def interrupt(pid: int) -> None:
                    self.gate.shut()
                    told.append(time.monotonic())
                    os.kill(pid, signal.SIGINT)

                self.at_hgetall(interrupt)
                result = self.colock("run", *options, "k", "--", "touch", self.made,
                                     url=self.gate.url)
                self.check(result, 128 + signal.SIGINT, "the lock is free when its lease ends")
                self.assertLess(time.monotonic() - told[0], 1.5)
                self.assertFalse(os.path.exists(self.made))
                self.gate.open()
                self.server.ask("FLUSHALL")

    def test_a_signal_then_leaves_nothing(self) -> None:
        self.at_hgetall(lambda pid: os.kill(pid, signal.SIGINT))
        for options in ((), ("--at-least", "1m")):
            with self.subTest(options):
                result = self.colock("run", *options, "k", "--", "sleep", "60", url=self.gate.url)
                self.check(result, 128 + signal.SIGINT)
                self.check_nothing_is_left()

    def test_the_server_is_away_when_the_wait_is_over(self) -> None:
        self.hold()
        waiting = self.start("run", "--wait", "1500ms", "k", "--", "true", url=self.gate.url)
        wait_for(lambda: self.server.ask("EXISTS", "colock_wait:{k}:turns") == 1, "the waiter")
        self.gate.close()
        self.check(waiting.end(), 69, "k: wait for the lock for 1.5 s: no connection to ",
                   "try again when the server is back")

    def test_the_server_hangs_when_the_wait_is_over(self) -> None:
        self.hold()
        waiting = self.start("run", "--wait", "1500ms", "--conflict-exit-code", "0", "k", "--",
                             "true", url=self.gate.url)
        wait_for(lambda: self.server.ask("EXISTS", "colock_wait:{k}:turns") == 1, "the waiter")
        self.gate.shut()
        self.check(waiting.end(), 69, "k: wait for the lock for 1.5 s: no connection to ")

    def releasing(self, *options: str) -> Command:
        """One whose command has ended with 3, and whose release doesn't get through."""
        held = self.start("run", *options, "k", "--", "sh", "-c", "echo $$; read line; exit 3",
                          url=self.gate.url, stdin=subprocess.PIPE)
        program = int(line_of(held))
        self.gate.shut()
        held.stdin.close()  # type: ignore[union-attr]
        held.stdin = None
        wait_for(lambda: not state_of(program), "the end of the command")
        self.assertTrue(self.gate.has_waiting.wait(10))
        return held

    def test_a_signal_during_the_release(self) -> None:
        held = self.releasing()
        held.terminate()
        wait_for(lambda: has_taken(held.pid, signal.SIGTERM), "that it has the signal")
        self.gate.open()
        self.check(held.end(), 3)
        self.check_nothing_is_left()

    def test_it_says_when_the_lock_will_be_free(self) -> None:
        for options, time in ((("--lease", "5s"), "5 s"), (("--at-least", "1m"), "60 s")):
            with self.subTest(options):
                held = self.releasing(*options)
                self.check(held.end(), 3, f"the lock is free when its lease ends, in {time} at most")
                self.gate.open()
                self.server.ask("DEL", "k")

    def test_two_signals_during_the_release(self) -> None:
        held = self.releasing()
        begun = time.monotonic()
        held.terminate()
        wait_for(lambda: has_taken(held.pid, signal.SIGTERM), "that it has the signal")
        held.terminate()
        self.check(held.end(), 3)
        self.assertLess(time.monotonic() - begun, 1.5)  # the release may take 2 s


class Starting(Case):
    """A program whose file system doesn't let it begin: an exec waits for whoever has a lease on the
    file, as it waits for a file server that is away."""

    def setUp(self) -> None:
        self.path = tempfile.mkdtemp(dir=self.server.folder) + "/hangs"
        with open(self.path, "w") as file:
            file.write("#!/bin/sh\nexit 3\n")
        os.chmod(self.path, 0o755)
        # Whoever has the lease is told by SIGIO that somebody waits for it.
        before = signal.signal(signal.SIGIO, lambda number, frame: None)
        self.addCleanup(signal.signal, signal.SIGIO, before)
        self.file = os.open(self.path, os.O_RDONLY)
        self.addCleanup(os.close, self.file)
        try:
            fcntl.fcntl(self.file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError:
            self.skipTest("this file system has no leases")

    def let_it_begin(self) -> None:
        fcntl.fcntl(self.file, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    def start_hanging(self, *options: str, **more: object) -> tuple[Command, int]:
        """With the process that is to become the program."""
        path = os.environ["PATH"] + ":" + os.path.dirname(self.path)
        more["env"] = {"PATH": path}
        command = self.start("run", *options, "k", "--", "hangs", **more)
        wait_for(lambda: fcntl.fcntl(self.file, fcntl.F_GETLEASE) != fcntl.F_WRLCK, "the exec")
        return command, children_of(command.pid)[0]

    def test_the_lock_is_renewed(self) -> None:
        held, _ = self.start_hanging("--lease", "300ms")
        [owner, _] = self.server.ask("HGETALL", "k")  # type: ignore[misc]
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            self.assertEqual(self.server.ask("HGETALL", "k"), [owner, "1"])
        self.let_it_begin()
        self.check(held.end(), 3)
        self.check_nothing_is_left()

    def test_a_signal_ends_it(self) -> None:
        held, _ = self.start_hanging()
        held.terminate()
        self.check(held.end(), 128 + signal.SIGTERM)
        self.check_nothing_is_left()

    def test_it_is_not_started_without_the_lock(self) -> None:
        for when_lost in ("term", "kill", "ignore"):
            with self.subTest(when_lost):
                held, _ = self.start_hanging("--lease", "300ms", "--on-lost", when_lost)
                self.server.ask("DEL", "k")
                self.check(held.end(), 70, "hangs is not started any more")
                self.let_it_begin()
                fcntl.fcntl(self.file, fcntl.F_SETLEASE, fcntl.F_WRLCK)


class First(Case):
    """colock as the first process of a container: the kernel leaves it all orphans."""

    def test_orphans_do_not_stay_as_zombies(self) -> None:
        def adopt_orphans() -> None:
            ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER, which holds over an exec

        script = "for i in 1 2 3; do (exec 3<>$0; (read x <&3) & ) ; done; read line; exit 4"
        fifo = self.server.folder + "/orphans"
        os.mkfifo(fifo)
        held = self.start("run", "k", "--", "sh", "-c", script, fifo,
                          preexec_fn=adopt_orphans, stdin=subprocess.PIPE)
        wait_for(lambda: len(children_of(held.pid)) == 4, "the orphans")
        orphans = children_of(held.pid)[1:]
        waits = self.start("run", "k", "--", "true", preexec_fn=adopt_orphans)
        with open(fifo, "w") as ends:
            ends.write("\n" * 3)
            ends.flush()
            wait_for(lambda: not any(map(state_of, orphans)), "the end of the orphans")
        held.stdin.close()  # type: ignore[union-attr]
        held.stdin = None
        self.check(held.end(), 4)
        self.check(waits.end(), 0)

    def test_status_and_signals(self) -> None:
        unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
            self.skipTest("this machine has no namespaces for us")
        script = "(true &); trap 'exit 5' TERM; echo $$ $PPID; while :; do sleep 0.01; done"
        words = [*unshare, "--kill-child", support.COLOCK, "run", "--url", self.server.url, "k", "--"]
        for program, sends, status in ((["sh", "-c", "exit 9"], 0, 9),
                                       (["sh", "-c", script], signal.SIGTERM, 5),
                                       (["sh", "-c", script], signal.SIGINT, 128 + signal.SIGINT)):
            with self.subTest(program=program, sends=sends):
                outside = subprocess.Popen([*words, *program], stdout=subprocess.PIPE, text=True)
                self.addCleanup(finish, outside)
                if sends:
                    self.assertEqual(outside.stdout.readline().split()[1], "1")  # type: ignore[union-attr]
                    os.kill(children_of(outside.pid)[0], sends)
                self.assertEqual(outside.wait(support.LIMIT), status)
                self.check_nothing_is_left()


class Ignored(Case):
    def test_children(self) -> None:
        def ignore() -> None:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

        self.check(self.colock("run", "k", "--", "sh", "-c", "exit 4", preexec_fn=ignore), 4)
        result = self.colock("run", "k", "--", "grep", "SigIgn", "/proc/self/status",
                             preexec_fn=ignore)
        self.assertTrue(int(result.out.split()[1], 16) & 1 << (signal.SIGCHLD - 1), result)

    def test_a_hangup_while_waiting(self) -> None:
        holder = self.hold()
        waits = self.start("run", "k", "--", "echo", "run",
                           preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        wait_for(lambda: self.server.ask("PUBSUB", "CHANNELS", "*"), "the waiter")
        waits.send_signal(signal.SIGHUP)
        holder.stdin.close()  # type: ignore[union-attr]
        result = waits.end()
        self.assertEqual((result.status, result.out), (0, "run\n"), result)


class Stopped(Case):
    def test_from_outside(self) -> None:
        """Nobody would make colock go on with the command, so it doesn't stop."""
        for number in (signal.SIGSTOP, signal.SIGTSTP):
            with self.subTest(number.name):
                held = self.start("run", "--lease", "600ms", "k", "--", "sh", "-c",
                                  "echo $$; exec cat", stdin=subprocess.PIPE, start_new_session=True)
                program = int(line_of(held))
                os.kill(program, number)
                wait_for(lambda: state_of(program) == "T", "the stop")
                self.wait_for_a_renewal()
                self.wait_for_a_renewal()
                os.kill(program, signal.SIGCONT)
                held.stdin.close()  # type: ignore[union-attr]
                held.stdin = None
                self.check(held.end(), 0)
                self.check_nothing_is_left()

    def wait_for_a_renewal(self) -> None:
        seen = [int(self.server.ask("PTTL", "k"))]  # type: ignore[call-overload]

        def rises() -> bool:
            seen.append(int(self.server.ask("PTTL", "k")))  # type: ignore[call-overload]
            return seen[-1] > seen[-2] > 0

        wait_for(rises, "a renewal")


class Deaf(Case):
    """Nobody reads what colock says."""

    def check_the_loss(self, pipe: int) -> None:
        script = ("exec 2>/dev/null; trap 'echo told; exit 0' TERM; echo ready;"
                  "while :; do sleep 0.02; done")
        for options in ((), ("-v",)):
            with self.subTest(options):
                held = self.start("run", *options, "--lease", "600ms", "k", "--", "sh", "-c",
                                  script, stderr=pipe)
                self.assertEqual(line_of(held), "ready\n")
                self.server.ask("DEL", "k")
                self.assertEqual(line_of(held), "told\n")
                self.assertEqual(held.wait(10), 70)

    def test_a_full_pipe(self) -> None:
        with pipe() as (_, end):
            os.set_blocking(end, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(end, bytes(4096))
            os.set_blocking(end, True)
            self.check_the_loss(end)
            self.check_the_end(end)

    def check_the_end(self, pipe: int) -> None:
        for words, status in (
            (("run", "--url", "unix:///nowhere", "--connect-timeout", "100ms", "k", "--", "true"), 69),
            (("run", "--no-such-option"), 64),
        ):
            with self.subTest(words):
                self.assertEqual(self.start(*words, stderr=pipe).wait(10), status)

    def test_a_reader_that_has_gone(self) -> None:
        with pipe() as (reader, end):
            os.close(reader)
            self.check_the_loss(end)
            self.check_the_end(end)


class Refused(Case):
    """The server refuses writes for now."""

    def set_needed_replicas(self, number: str) -> None:
        self.server.ask("CONFIG", "SET", "min-replicas-to-write", number)

    def setUp(self) -> None:
        self.addCleanup(self.set_needed_replicas, "0")

    def test_a_wait_goes_on(self) -> None:
        for words in (("run",), ("run", "--wait", "20s"), ("elect",)):
            with self.subTest(words):
                self.set_needed_replicas("1")
                held = self.start(*words, "k", "--", "true", stderr=subprocess.PIPE)
                assert held.stderr is not None
                self.assertIn("NOREPLICAS", held.stderr.readline())
                self.set_needed_replicas("0")
                self.assertEqual(held.wait(20), 0)

    def test_a_signal_ends_the_wait(self) -> None:
        self.set_needed_replicas("1")
        held = self.start("run", "k", "--", "true", stderr=subprocess.PIPE)
        assert held.stderr is not None
        held.stderr.readline()
        held.send_signal(signal.SIGTERM)
        self.assertEqual(held.wait(10), 128 + signal.SIGTERM)

    def test_without_time_it_ends(self) -> None:
        self.set_needed_replicas("1")
        self.check(self.colock("run", "--wait", "0", "k", "--", "true"), 77, "NOREPLICAS")

    def test_a_short_wait_tries_until_its_end(self) -> None:
        self.set_needed_replicas("1")
        begun = time.monotonic()
        self.check(self.colock("run", "--wait", "700ms", "k", "--", "true"), 77, "NOREPLICAS")
        self.assertGreaterEqual(time.monotonic() - begun, 0.7)

    def test_a_server_that_a_script_keeps_busy(self) -> None:
        self.server.ask("CONFIG", "SET", "lua-time-limit", "20")
        busy = threading.Thread(target=self.server.ask, args=("EVAL", "while true do end", "0"))
        busy.start()
        self.addCleanup(busy.join)
        self.addCleanup(self.server.ask, "SCRIPT", "KILL")
        wait_for(lambda: "BUSY" in str(self.server.ask("PING")), "the script")
        result = self.colock("run", "--connect-timeout", "500ms", "k", "--", "true")
        self.check(result, 69, "the server is not ready to serve: BUSY ")

    def test_a_lock_that_nobody_has_is_not_said_to_be_taken(self) -> None:
        self.server.ask("REPLICAOF", "127.0.0.1", "1")
        self.addCleanup(self.server.ask, "REPLICAOF", "NO", "ONE")
        for wait in ("0", "1500ms"):
            with self.subTest(wait):
                self.check(self.colock("run", "--wait", wait, "k", "--", "true"), 69, "is a replica and refuses writes")


@unittest.skipUnless(os.geteuid() == 0, "needs root, for a command of another user")
class OtherUser(Case):
    """A command that colock can't signal, as sudo is."""

    def setUp(self) -> None:
        os.chmod(self.server.folder, 0o755)
        os.chmod(self.server.path, 0o777)
        self.program = self.server.folder + "/as-root"
        shutil.copy(os.path.realpath(sys.executable), self.program)
        os.chmod(self.program, 0o4755)

    def start_as_nobody(self, *options: str) -> Command:
        script = "import posix, time; posix.setuid(0); print('ready', flush=True); time.sleep(2)"
        held = self.start("run", *options, "k", "--", self.program, "-c", script,
                          user=65534, group=65534)
        self.assertEqual(line_of(held), "ready\n")
        return held

    def test_it_says_that_the_command_runs_on(self) -> None:
        held = self.start_as_nobody("--lease", "300ms")
        self.server.ask("DEL", "k")
        result = held.end()
        self.check(result, 70, "can't be ended: Operation not permitted; it runs on without it")
        self.assertNotIn("gets SIGTERM", result.err)

    def test_it_says_that_a_signal_was_not_passed_on(self) -> None:
        held = self.start_as_nobody()
        held.terminate()
        self.check(held.end(), 0, "did not get signal 15: Operation not permitted")
        self.check_nothing_is_left()


class Environment(Case):
    def test_its_own_values_instead_of_others(self) -> None:
        result = self.colock("run", "k", "--", "env",
                             env={"COLOCK_KEY": "other", "COLOCK_TOKEN": "0", "OF_OURS": "x=y"})
        found = result.out.splitlines()
        for name, value in (("COLOCK_KEY", "k"), ("OF_OURS", "x=y")):
            self.assertEqual([f for f in found if f.startswith(name + "=")], [f"{name}={value}"])
        tokens = [f for f in found if f.startswith("COLOCK_TOKEN=")]
        self.assertEqual(len(tokens), 1)
        self.assertNotEqual(tokens, ["COLOCK_TOKEN=0"])


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            with contextlib.suppress(OSError):
                os.close(end)


def line_of(held: Command) -> str:
    ready, _, _ = select.select([held.stdout], [], [], support.LIMIT)
    if not ready:
        raise AssertionError("the command says nothing")
    return held.stdout.readline()  # type: ignore[union-attr]


def has_taken(pid: int, number: int) -> bool:
    """Whether the signal doesn't wait for the process any more."""
    with open(f"/proc/{pid}/status") as file:
        waiting = [line.split()[1] for line in file if line.startswith("ShdPnd")]
    return not waiting or not int(waiting[0], 16) & 1 << (number - 1)


if __name__ == "__main__":
    support.main()
