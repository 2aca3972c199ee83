# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""What the command prints of keys and passwords."""

import json

import support
from support import Case, Redis

OTHER = "11111111-2222-3333-4444-555555555555:7"


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
