# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""colock watch --web, as other programs than browsers see it."""

import contextlib
import json
import os
import signal
import socket
import time

import support
from support import Case, Command, wait_for

OTHER = "11111111-2222-3333-4444-555555555555:7"


class Stream:
    """The events, as they come."""

    def __init__(self, port: int) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port), support.LIMIT)
        self.connection.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        self.lines = self.connection.makefile("rb")
        head = iter(self.lines.readline, b"\r\n")
        self.head = b"".join(head).decode()

    def next(self, wanted: str) -> dict:  # type: ignore[type-arg]
        """The next one of this name."""
        name = ""
        for line in self.lines:
            if line.startswith(b"event: "):
                name = line[7:].strip().decode()
            if line.startswith(b"data: ") and name == wanted:
                return json.loads(line[6:])
        raise AssertionError("the stream has ended")

    def state(self, is_so: object) -> dict:  # type: ignore[type-arg]
        until = time.monotonic() + support.LIMIT
        while not is_so(state := self.next("locks")):  # type: ignore[operator]
            assert time.monotonic() < until, state
        return state

    def close(self) -> None:
        self.lines.close()
        self.connection.close()


class Web(Case):
    def serve(self, *more: str) -> Command:
        web = self.start("watch", "--web", "0", *more)
        url = web.stdout.readline().strip()  # type: ignore[union-attr]
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/$", web.stderr if not url else None)
        self.port = int(url.rsplit(":", 1)[1].rstrip("/"))
        return web

    def stream(self) -> Stream:
        made = Stream(self.port)
        self.addCleanup(made.close)
        return made

    def ask(self, text: bytes) -> bytes:
        """All that comes back until the other side hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), support.LIMIT) as connection:
            connection.sendall(text)
            got = b""
            try:
                while new := connection.recv(65536):
                    got += new
            except ConnectionResetError:
                pass
            return got

    def test_what_it_tells(self) -> None:
        self.serve()
        stream = self.stream()
        self.assertIn("text/event-stream", stream.head)
        self.assertNotIn("Access-Control", stream.head)
        stream.state(lambda s: s["is_whole"] and not s["locks"])
        holder = self.hold("order:1")
        came = stream.next("change")
        self.assertEqual((came["event"], came["key"]), ("acquired", "order:1"))
        lock = stream.state(lambda s: s["locks"])["locks"][0]
        self.assertEqual(lock["holders"][0]["owner"], came["owner"])
        self.assertTrue(lock["holders"][0]["seen_to_come"])
        self.start("run", "order:1", "--", "sleep", "60")
        stream.state(lambda s: s["locks"] and s["locks"][0]["waiting"] == 1)
        holder.stdin.close()  # type: ignore[union-attr]
        self.assertEqual(stream.next("change")["event"], "released")
        self.assertEqual(stream.next("change")["event"], "acquired")

    def test_a_pattern(self) -> None:
        for key in ("order:1", "user:1"):
            self.server.ask("HSET", key, OTHER, "1")
        self.serve("order:*")
        state = self.stream().state(lambda s: s["locks"])
        self.assertEqual([each["key"] for each in state["locks"]], ["order:1"])

    def test_shows_some_of_many(self) -> None:
        for i in range(310):
            self.server.ask("HSET", f"k{i}", OTHER, "1")
        self.serve()
        state = self.stream().state(lambda s: s["left_out"])
        self.assertEqual((len(state["locks"]) <= 300, state["left_out"]), (True, 10))

    def test_changes_nothing(self) -> None:
        self.server.ask("HSET", "k", OTHER, "1", OTHER + "1", "1")
        self.server.ask("HSET", "application", "name", "x")
        before = sorted(self.server.ask("KEYS", "*"))  # type: ignore[type-var]
        self.server.ask("CONFIG", "RESETSTAT")
        self.serve()
        self.stream().state(lambda s: s["locks"])
        info = str(self.server.ask("INFO", "commandstats"))
        asked = {line.split(":")[0][8:] for line in info.split() if line.startswith("cmdstat_")}
        self.assertFalse(asked & {"subscribe", "ssubscribe", "psubscribe", "publish", "del", "hset", "set"}, asked)
        self.assertEqual(sorted(self.server.ask("KEYS", "*")), before)  # type: ignore[type-var]

    def test_reads_only_while_somebody_looks(self) -> None:
        self.serve()
        stream = self.stream()
        stream.state(lambda s: s["is_whole"])
        stream.close()
        # Its own signs of life aside, nothing is asked any more.
        wait_for(self.is_quiet, "quiet")

    def is_quiet(self) -> bool:
        """Whether nothing is scanned for longer than between two scans."""
        before = self.scans()
        time.sleep(1.2)
        return self.scans() == before

    def scans(self) -> list[str]:
        stats = str(self.server.ask("INFO", "commandstats")).split()
        return [line for line in stats if line.startswith("cmdstat_scan:")]

    def test_refuses(self) -> None:
        self.serve()
        own = b"Host: 127.0.0.1\r\nConnection: close\r\n\r\n"
        self.assertIn(b" 200 OK", self.ask(b"GET / HTTP/1.1\r\n" + own))
        foreign = self.ask(b"GET /events HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        self.assertTrue(foreign.startswith(b"HTTP/1.1 421 "), foreign)
        self.assertIn(b" 405 ", self.ask(b"DELETE / HTTP/1.1\r\n" + own))
        self.assertIn(b" 404 ", self.ask(b"GET /../../etc/passwd HTTP/1.1\r\n" + own))
        # What is no small request gets no answer at all.
        self.assertEqual(self.ask(b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000), b"")
        self.assertEqual(self.ask(b"GET / HTTP/1.1\r\nContent-Length: 5\r\n" + own + b"12345"), b"")
        self.assertEqual(self.ask(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), b"")
        self.assertIn(b" 200 OK", self.ask(b"GET / HTTP/1.1\r\n" + own))

    def test_bounds_the_connections(self) -> None:
        self.serve()
        many = []
        for _ in range(64):
            many.append(socket.create_connection(("127.0.0.1", self.port), support.LIMIT))
            self.addCleanup(many[-1].close)
        with socket.create_connection(("127.0.0.1", self.port), support.LIMIT) as one_more:
            self.assertTrue(one_more.recv(100).startswith(b"HTTP/1.1 503 "))
        many[0].close()
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        wait_for(lambda: b" 200 OK" in self.ask(request), "room")

    def test_drops_a_slow_reader(self) -> None:
        for i in range(300):
            self.server.ask("HSET", f"{i}" + "k" * 4_000, OTHER, "1")
        web = self.serve()
        descriptors = f"/proc/{web.pid}/fd"

        def sockets() -> int:
            found = 0
            for each in os.listdir(descriptors):
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                    found += "socket:" in os.readlink(f"{descriptors}/{each}")
            return found

        before = sockets()
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", self.port))
            slow.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_for(lambda: sockets() > before, "the connection")
            wait_for(lambda: sockets() == before, "the end of it", 60)

    def test_ends_by_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            web = self.serve()
            stream = self.stream()
            stream.next("locks")
            web.send_signal(number)
            result = web.end()
            self.assertEqual((result.status, result.err), (0, ""))
            self.assertTrue(stream.lines.read().endswith(b"\n"))  # which has an end

    def test_wrong_usage(self) -> None:
        self.serve()
        for words, status, *said in (
            (("--web", str(self.port)), 1, "in use", "another port", f"http://127.0.0.1:{self.port}/"),
            (("--web", "0", "--web-address", "192.0.2.1"), 1, "an address of this machine"),
            (("--web", "0", "--web-address", "example.com"), 64, "no IP address"),
            (("--web", "70000"), 64, "65535"),
            (("--web", "0", "--json"), 64, "--json", "--web"),
            (("--web-address", "127.0.0.1", "k"), 64, "--web"),
            ((), 64, "KEY is required", "Usage: colock watch"),
        ):
            with self.subTest(words):
                self.check(self.colock("watch", *words), status, *said)

    def test_says_who_else_can_look(self) -> None:
        web = self.start("watch", "--web", "0", "--web-address", "0.0.0.0")
        web.stdout.readline()  # type: ignore[union-attr]
        web.terminate()
        self.check(web.end(), 0, "whoever reaches the page")

    def test_without_a_server(self) -> None:
        self.check(self.colock("watch", "--web", "0", "--connect-timeout", "200ms", url="redis://127.0.0.1:1"), 69,
                   "no connection")

    def test_without_permission(self) -> None:
        self.server.ask("ACL", "SETUSER", "poor", "on", ">p", "~*", "&*", "+@all", "-scan")
        self.addCleanup(self.server.ask, "ACL", "DELUSER", "poor")
        url = self.server.url.replace("unix://", "unix://poor:p@")
        self.check(self.colock("watch", "--web", "0", url=url), 77, "the user needs SCAN")


if __name__ == "__main__":
    support.main()
