# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""colock run on a terminal, alone and under a shell with job control; what colock asks there, and
what it prints of keys and passwords."""

import json
import os
import re
import shlex
import signal
import time

import support
from support import Case, Redis, Terminal, free_port, state_of, wait_for

OTHER = "11111111-2222-3333-4444-555555555555:7"
READY = "import os, signal, sys; "


class OnTerminal(Case):
    """Over a unix socket, where colock has one thread."""

    def on_terminal(self, *words: str) -> Terminal:
        terminal = Terminal([support.COLOCK, *words], self.server.url)
        self.addCleanup(terminal.close)
        return terminal

    def shell(self) -> Terminal:
        terminal = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], self.server.url)
        self.addCleanup(terminal.close)
        terminal.type("unset PROMPT_COMMAND; stty -echo; colock() { command %s \"$@\"; }\n"
                      % shlex.quote(support.COLOCK))
        terminal.type("echo shell-$((40+2))\n")
        terminal.expect("shell-42")
        return terminal

    def test_the_command_has_the_terminal_in_a_group_of_its_own(self) -> None:
        script = "echo group $(ps -o pgid= -p $$) of $$; read line; echo got $line"
        terminal = self.on_terminal("run", "k", "--", "sh", "-c", script)
        group, of = re.findall(r"\d+", terminal.expect(r"group +\d+ of \d+"))
        self.assertEqual(group, of)
        self.assertEqual(terminal.foreground(), int(group))
        self.assertNotEqual(os.getpgid(terminal.pid), int(group))
        terminal.type("something\n")
        terminal.expect("got something")
        self.assertEqual(terminal.end(), 0)

    def test_ctrl_c_is_the_commands(self) -> None:
        script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.02; done"
        terminal = self.on_terminal("run", "k", "--", "sh", "-c", script)
        terminal.expect("ready")
        terminal.type("\x03")
        terminal.expect("caught")
        self.assertEqual(terminal.end(), 5)
        self.check_nothing_is_left()

    def test_ctrl_c_while_waiting(self) -> None:
        self.hold()
        terminal = self.on_terminal("run", "k", "--", "true")
        terminal.expect("k: waiting for the lock")
        begun = time.monotonic()
        terminal.type("\x03")
        self.assertEqual(terminal.end(), -signal.SIGINT)  # which a shell reports as 130
        self.assertLess(time.monotonic() - begun, 1.0)
        wait_for(lambda: self.server.ask("PUBSUB", "CHANNELS", "*") == [], "no subscription")

    def test_a_shell_has_its_terminal_back(self) -> None:
        shell = self.shell()
        shell.type("colock run k -- sh -c 'read line; echo got $line; exit 7'; echo status $?\n")
        wait_for(lambda: self.server.keys() == ["k"], "the lock")
        shell.type("abc\n")
        shell.expect("got abc")
        shell.expect("status 7")
        shell.type("colock run k -- no-such-program; echo status $?\n")
        shell.expect("status 127")
        shell.type("echo still-$((1+1))\n")
        shell.expect("still-2")
        self.check_nothing_is_left()

    def test_ctrl_c_ends_a_script_around_it(self) -> None:
        shell = self.shell()
        shell.type("for i in 1 2 3; do colock run k -- sh -c 'echo begin; exec sleep 30'; done; echo s $?\n")
        shell.expect("begin")
        shell.type("\x03")
        shell.type("echo after-$((1+1))\n")
        shell.expect("after-2", 10)
        self.check_nothing_is_left()
        with open(self.server.folder + "/script", "w") as file:
            file.write(f"for i in 1 2 3; do {shlex.quote(support.COLOCK)} run k -- sh -c 'echo begin; exec sleep 30'; done\n")
        shell.type(f"bash {self.server.folder}/script\n")
        shell.expect("begin")
        shell.type("\x03")
        shell.type("echo status $?\n")
        shell.expect("status 130", 10)
        self.assertNotIn("begin", shell.text)

    def test_ctrl_z_and_back(self) -> None:
        shell = self.shell()
        program = (READY + "signal.signal(signal.SIGCONT, lambda *_: print('awake', flush=True));"
                   "print('ready', flush=True); print('got', sys.stdin.readline(), flush=True)")
        shell.type(f"colock run k -- python3 -c {shlex.quote(program)}\n")
        shell.expect("ready")
        shell.type("\x1a")
        shell.expect("Stopped")
        shell.type("echo shell-$((1+1))\n")
        shell.expect("shell-2")
        self.assertEqual(self.server.keys(), ["k"])
        shell.type("fg\n")
        shell.expect("awake")
        shell.type("line\n")
        shell.expect("got line")
        shell.type("echo status $?\n")
        shell.expect("status 0")
        self.check_nothing_is_left()

    def test_stopped_for_longer_than_the_lease(self) -> None:
        shell = self.shell()
        # A shell that is stopped while it forks (vfork) is not stopped but waits.
        program = (READY + "signal.signal(signal.SIGTERM, lambda *_: (print('told'), sys.exit(0)));"
                   "print('ready', flush=True)\nwhile True: signal.pause()")
        shell.type(f"colock run --lease 300ms k -- python3 -c {shlex.quote(program)}\n")
        shell.expect("ready")
        shell.type("\x1a")
        shell.expect("Stopped")
        wait_for(lambda: self.server.keys() == [], "the end of the lease")
        shell.type("fg; echo status $?\n")
        # The command hears of it before we do.
        shell.expect("(?s)(k: the lock is lost.*told)|(told.*k: the lock is lost)")
        shell.expect("status 70")

    def test_in_the_background_then_in_front(self) -> None:
        shell = self.shell()
        shell.type("colock run k -- sh -c 'echo ready; read line; echo got $line' &\n")
        shell.expect("ready")
        # It wants to read, and stops. The shell says so before its next prompt.
        wait_for(lambda: (shell.type("\n"), shell.read(0.05), "Stopped" in shell.text)[-1], "a stop")
        group = shell.foreground()
        shell.type("fg\n")
        wait_for(lambda: shell.foreground() != group, "its turn")
        shell.type("abc\n")
        shell.expect("got abc")
        shell.type("echo shell-$((1+1))\n")
        shell.expect("shell-2")

    def test_a_pipeline_keeps_the_terminal_for_its_others(self) -> None:
        shell = self.shell()
        reads = "import sys; print('pager', open('/dev/tty').readline(), end='', flush=True)"
        shell.type(f"colock run k -- echo out | python3 -c {shlex.quote(reads)}; echo status $?\n")
        wait_for(lambda: self.server.keys() == [], "the release")
        shell.type("key\n")
        shell.expect("pager key")
        shell.expect("status 0")
        # And the command gets it when it asks.
        shell.type("colock run k -- sh -c 'read line </dev/tty; echo got $line' | cat\n")
        wait_for(lambda: self.server.keys() == ["k"], "the lock")
        shell.type("abc\n")
        shell.expect("got abc")

    def test_ctrl_z_in_a_pipeline(self) -> None:
        shell = self.shell()
        shell.type("colock run k -- sh -c 'echo command $$; exec sleep 60' | cat\n")
        program = int(shell.expect(r"command \d+").split()[1])
        shell.type("\x1a")
        shell.expect("Stopped")
        # The shell looks at its own children, of which colock, run by a function, is none.
        wait_for(lambda: state_of(program) == "T", "the stop of the command")
        shell.type("fg\n")
        wait_for(lambda: (shell.read(), state_of(program) != "T")[-1], "that it goes on")
        shell.type("\x03")
        shell.type("echo shell-$((1+1))\n")
        shell.expect("shell-2")
        wait_for(lambda: self.server.keys() == [], "the release")

    def test_ctrl_z_where_no_shell_is(self) -> None:
        terminal = self.on_terminal("run", "k", "--", "sh", "-c", "echo ready; read line; echo got $line")
        terminal.expect("ready")
        terminal.type("\x1a")  # nobody could make it go on
        terminal.expect(r"\^Z")
        terminal.type("abc\n")
        terminal.expect("got abc")
        self.assertEqual(terminal.end(), 0)

    def test_ctrl_z_while_waiting(self) -> None:
        holder = self.hold()
        shell = self.shell()
        shell.type("colock run k -- echo have it; echo status $?\n")
        wait_for(lambda: self.server.ask("PUBSUB", "CHANNELS", "*"), "the waiter")
        shell.type("\x1a")
        shell.expect("Stopped")
        shell.type("fg; echo status $?\n")
        shell.expect("colock")
        holder.stdin.close()  # type: ignore[union-attr]
        shell.expect("have it")
        shell.expect("status 0")

    def test_told_of_the_loss_where_the_background_must_not_write(self) -> None:
        shell = self.shell()
        program = (READY + "signal.signal(signal.SIGTERM, lambda *_: (print('told'), sys.exit(0)));"
                   "print('ready', flush=True)\nwhile True: signal.pause()")
        shell.type("stty tostop\n")
        shell.type(f"colock run --lease 600ms k -- python3 -c {shlex.quote(program)}; echo status $?\n")
        shell.expect("ready")
        self.server.ask("DEL", "k")
        shell.expect("told")
        shell.expect("status 70")

    def test_an_interrupt_from_elsewhere_is_no_ctrl_c(self) -> None:
        with open(self.server.folder + "/script", "w") as file:
            file.write(f"{shlex.quote(support.COLOCK)} run k -- sh -c 'echo command $$; exec sleep 60'\n"
                       "echo status $?\n")
        shell = self.shell()
        shell.type(f"bash {self.server.folder}/script\n")
        program = int(shell.expect(r"command \d+").split()[1])
        shell.type("\x1a")
        shell.expect("Stopped")
        shell.type("bg\n")
        wait_for(lambda: (shell.read(), state_of(program) != "T")[-1], "that it goes on")
        os.kill(program, signal.SIGINT)
        shell.expect("status 130")

    def test_unlock_asks(self) -> None:
        holder = self.hold()
        terminal = self.on_terminal("unlock", "k")
        terminal.expect(r"\[y/N\]")
        terminal.type("n\n")
        terminal.expect("Left as it is")
        self.assertEqual(terminal.end(), 1)
        self.assertEqual(self.server.keys(), ["k"])
        terminal = self.on_terminal("unlock", "k")
        terminal.expect("held by")
        terminal.expect(r"\[y/N\]")
        terminal.type("y\n")
        terminal.expect("Unlocked")
        self.assertEqual(terminal.end(), 0)
        self.check_nothing_is_left()
        holder.kill()

    def test_colours_on_a_terminal_alone(self) -> None:
        terminal = self.on_terminal("watch", "k")
        terminal.expect("\x1b\\[32mfree")
        terminal.type("\x03")
        self.assertEqual(terminal.end(), -signal.SIGINT)
        watching = self.start("watch", "k")
        self.assertRegex(watching.stdout.readline(), r"^[\d:.]+  free\s*$")  # type: ignore


class OverTcp(OnTerminal):
    """Where another thread looks names up."""

    @classmethod
    def setUpClass(cls) -> None:
        with free_port() as port:
            cls.server = Redis(port=port)
            cls.server.url = f"redis://localhost:{port}"


class Keys(Case):
    def listed(self) -> str:
        result = self.colock("ls", "--json")
        self.check(result, 0)
        found = json.loads(result.out)["key"]
        assert isinstance(found, str)
        return found

    def test_in_json_they_are_as_they_are(self) -> None:
        for key in ("it\u2019s \u2013 so\u2026", "a\nb\tc", r"a\x41", '"', "\u202e", "\x1b[31m", "\u20ac\U0001f600"):
            with self.subTest(key):
                self.server.ask("HSET", key, OTHER, "1")
                self.assertEqual(self.listed(), key)
                self.assertEqual(json.loads(self.colock("info", "--json", key).out)["key"], key)
                self.check(self.colock("unlock", "--yes", self.listed()), 0)
                self.assertEqual(self.server.keys(), [])

    def test_in_json_those_that_are_not_utf8_are_escaped(self) -> None:
        for key, shown in ((b"a\xff", r'"a\xff"'), (b"\xe2\x82", r'"\xe2\x82"'), (b"\xc0\x80", r'"\xc0\x80"')):
            self.server.ask("HSET", key, OTHER, "1")
            self.assertEqual(self.listed(), shown)
            self.server.ask("FLUSHALL")

    def test_a_terminal_gets_what_has_a_look(self) -> None:
        key = "it\u2019s\u2014so\u2026"
        self.assertTrue(self.colock("info", key).out.startswith(key + ": free\n"))
        for hidden in ("\u200b", "\u200f", "\u2028", "\u202e", "\u2060", "\u206f", "\u0085"):
            escaped = "".join(f"\\x{byte:02x}" for byte in hidden.encode())
            self.assertTrue(self.colock("info", "k" + hidden).out.startswith(f'"k{escaped}": free'))


class Passwords(Case):
    def test_with_blanks_and_quotes(self) -> None:
        for password in ('p"w', "p'w", "p w", "p\tw", "pw", "p@w"):
            result = self.colock("info", "k", f"redis://user:{password}@host")
            self.check(result, 64, "redis://***@host")
            self.assertNotIn("w@", result.err)

    def test_in_what_doctor_finds(self) -> None:
        server = Redis("--replicaof redis://user:word@nowhere 6379")
        self.addCleanup(server.close)
        for words in (("doctor",), ("doctor", "--json")):
            result = self.colock(*words, url=server.url)
            self.assertIn("redis://***@nowhere", result.out)
            self.assertNotIn("word", result.out)


if __name__ == "__main__":
    support.main()
