#!/usr/bin/python3
"""Checks tools/sizing: its figures at sizes that were measured, and its formulas."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True


def load_tool():
    loader = importlib.machinery.SourceFileLoader("sizing", str(ROOT / "tools/sizing"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("sizing", loader))
    sys.modules["sizing"] = module  # where dataclasses look for it
    loader.exec_module(module)
    return module


sizing = load_tool()
import result_files  # noqa: E402: the tool knows where it is

Load = sizing.Load

GROWTH = {
    "workers": [
        ["workers", "pairs/s", "p50 µs", "client CPU µs a pair", "server CPU µs a pair"],
        ["---:"] * 5,
        ["1", "1,000", "180", "100", "80"],
        ["16", "100,000", "218", "10", "8"],
    ],
    "waiters": [
        ["waiters", "client CPU µs/s each", "server CPU µs/s each", "bytes each"],
        ["---:"] * 4,
        ["10", "18.1", "8.75", ""],
        ["1,000", "0.2", "0.02", "600"],
    ],
    "keys": [
        ["keys", "client CPU µs/s each", "server CPU µs/s each", "commands/s", "bytes each"],
        ["---:"] * 5,
        ["1,000", "0.5", "1", "9.5", "2,500"],
    ],
    "holds": [
        ["holds", "client CPU µs/s each", "server CPU µs/s each", "renewals", "bytes each"],
        ["---:"] * 5,
        ["1,000", "0.4", "0.5", "1,000", "1,000"],
        ["100,000", "0.2", "0.3", "120,973", "800"],
    ],
}
FILES = {
    "growth": {"tables": GROWTH},
    "compare": {"values": {"server_scripts_a_second": 100_000}},
    "server-memory": {
        "values": {"hold_bytes": 100, "channel_bytes": 200, "counter_bytes": 10, "connection_bytes": 38_000}
    },
    "server-lists": {"values": {"list_bytes": 212, "entry_bytes": 142}},
}


def read(changes=None):
    with tempfile.TemporaryDirectory() as folder:
        for name, data in {**FILES, **(changes or {})}.items():
            result_files.save(name, data, pathlib.Path(folder))
        return sizing.read(result_files.Files(pathlib.Path(folder)))


class Reading(unittest.TestCase):
    def test_files(self):
        got = read()
        self.assertEqual(got.pair_server, [(1000, 80), (100_000, 8)])
        self.assertEqual(got.waiter_bytes, [(1000, 600)])
        self.assertEqual(got.script, 10)
        self.assertEqual(got.server_bytes["mailbox"], 200)

    def test_what_is_missing_is_named(self):
        without = {name: rows for name, rows in GROWTH.items() if name != "holds"}
        other = GROWTH | {"keys": [["keys", "size"], ["---:"] * 2, ["1", "2"]]}
        for wrong, name in (
            ({"growth": {"tables": without}}, "no table 'holds'"),
            ({"growth": {"tables": other}}, "'keys' has no numbers"),
            ({"compare": {"values": {"server_ping_us": 1}}}, "server_scripts"),
        ):
            with self.assertRaisesRegex(sizing.Problem, name):
                read(wrong)

    def test_those_of_the_project(self):
        got = sizing.read(result_files.Files())
        for name, value in vars(got).items():
            self.assertTrue(value, name)


class Interpolation(unittest.TestCase):
    points = [(1000, 80), (100_000, 8)]

    def test_at_what_was_measured(self):
        self.assertEqual(sizing.each_at(self.points, 1000), 80)
        self.assertEqual(sizing.each_at(self.points, 100_000), 8)

    def test_between(self):
        self.assertAlmostEqual(sizing.each_at(self.points, 10_000), (80 * 8) ** 0.5)

    def test_outside(self):
        self.assertEqual(sizing.each_at(self.points, 1), 80)
        self.assertEqual(sizing.each_at(self.points, 1e9), 8)
        self.assertEqual(sizing.each_at([(1000, 600)], 5), 600)

    def test_of_nothing(self):
        self.assertEqual(sizing.all_of(self.points, 0), 0)


class Costs(unittest.TestCase):
    measured = read()

    def client(self, **load):
        return sizing.client_cost(Load(**load), self.measured)

    def server(self, **load):
        return sizing.server_cost(Load(**load), self.measured)

    def test_one_client_costs_what_was_measured(self):
        self.assertAlmostEqual(self.server(rate=100_000).share, 0.8)
        self.assertAlmostEqual(self.client(rate=100_000).share, 1.0)
        self.assertAlmostEqual(self.server(holds=100_000).share, 0.03)
        self.assertAlmostEqual(self.client(holds=100_000).memory, 80e6)
        self.assertAlmostEqual(self.client(waiters=1000).share, 0.0005)

    def test_many_clients_share_no_call(self):
        self.assertAlmostEqual(self.server(rate=100_000, clients=1000).share, 100_000 * 20e-6)
        self.assertAlmostEqual(self.server(rate=1000, clients=1000).share, 1000 * 80e-6)

    def test_each_client_has_its_part(self):
        self.assertAlmostEqual(self.client(rate=2000, clients=2).share, 0.1)
        self.assertEqual(self.client(rate=2000, clients=2).pair_commands, 2000)

    def test_a_third_of_the_lease_costs_three_times_as_much(self):
        long, short = (self.server(holds=100_000, lease=lease).share for lease in (30, 10))
        self.assertAlmostEqual(short, 3 * long)

    def test_connections(self):
        for load, of_client, of_server in (
            ({}, (1, 4), (1, 4)),
            ({"clients": 10, "waiters": 5}, (2, 5), (20, 50)),
            ({"primaries": 3, "clients": 10, "waiters": 5}, (7, 10), (20, 30)),
        ):
            client, server = self.client(**load), self.server(**load)
            self.assertEqual((client.connections_at_rest, client.connections_at_most), of_client)
            self.assertEqual((server.connections_at_rest, server.connections_at_most), of_server)

    def test_names_that_are_waited_for(self):
        self.assertEqual(Load(waiters=100).names_waited_for, 100)
        self.assertEqual(Load(waiters=100, locks=3).names_waited_for, 3)
        self.assertEqual(Load(waiters=100, locks=3, clients=20).names_waited_for, 60)

    def test_a_cluster_shares_the_load_among_its_primaries(self):
        one, three = self.server(rate=3000), self.server(rate=3000, primaries=3)
        self.assertAlmostEqual(three.pair_commands, one.pair_commands / 3)
        self.assertAlmostEqual(self.server(holds=3000, primaries=3).memory - 38_000,
                               1000 * (100 + 10))

    def test_notes(self):
        for load, words in (
            ({"rate": 10}, []),
            ({"rate": 90_000}, ["busy"]),
            ({"rate": 200_000}, ["highest"]),
            ({"clients": 4000}, ["maxclients"]),
            ({"holds": 1, "lease": 0.5}, ["short"]),
        ):
            said = list(sizing.notes(Load(**load), self.server(**load), self.measured))
            self.assertEqual(len(said), len(words), said)
            for word, line in zip(words, said, strict=True):
                self.assertIn(word, line)


class Joining(unittest.TestCase):
    def test_calls(self):
        self.assertAlmostEqual(sizing.joined(10, 0), 10)
        self.assertAlmostEqual(sizing.joined(1000, 0.064), 1000 / 65)
        self.assertAlmostEqual(sizing.joined(1e6, 0.064), 1e6 / 128)

    def test_short_leases_are_joined_less(self):
        self.assertAlmostEqual(sizing.window(30), (29.698 - 1 - 9.5) / 64)
        self.assertEqual(sizing.window(60), 0.512)
        self.assertAlmostEqual(sizing.window(1), (0.888 - 0.95 / 3) / 64)

    def test_the_numbers_are_those_of_the_source(self):
        def found(file: str, pattern: str) -> float:
            return float(re.search(pattern, (ROOT / file).read_text())[1].replace("'", ""))

        watchdog, poller = "src/holds/ownership_watchdog.cpp", "src/locks/poller.cpp"
        window = r"_window\{(\d+)\}"
        call = found("src/redis/transport.hpp", r"largest_call = (\d+)")
        self.assertEqual(call, sizing.LARGEST_CALL)
        self.assertEqual(found(watchdog, window) / 1000, sizing.RENEWAL_WINDOW)
        self.assertEqual(found(poller, window) / 1000, sizing.POLL_WINDOW)
        slots = found("src/decide/names.hpp", r"slot_count = ([\d']+)")
        self.assertEqual(slots, sizing.MOST_COUNTERS)


class Words(unittest.TestCase):
    def test_what_is_refused(self):
        for words in ("--rate -1", "--clients 0", "--links 65", "--lease 0.01", "--holds x"):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()):
                with self.assertRaises(SystemExit):
                    sizing.arguments(words.split())

    def test_what_is_read(self):
        load = sizing.arguments("--clients 2 --poll-cap 0.5".split())
        self.assertEqual(load, Load(clients=2, poll_cap=0.5))


if __name__ == "__main__":
    unittest.main()
