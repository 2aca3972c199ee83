"""Runs to Markdown tables: median (least to greatest) of the repeats."""

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Sequence

import result_files
from measure.ratios import with_ratios


def number(value: float) -> str:
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 or value == 0 else f"{value:.3g}"


def spread(values: Sequence[float | None]) -> str:
    """`median (least to greatest)`."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    middle, low, high = number(statistics.median(known)), number(min(known)), number(max(known))
    return middle if low == high else f"{middle} ({low} to {high})"


Getter = Callable[[dict], float | None]


def field(name: str, scale: float = 1) -> Getter:
    def get(run: dict) -> float | None:
        value = run.get(name)
        return None if value is None else value * scale

    return get


def by_acquisition(name: str) -> Getter:
    def get(run: dict) -> float | None:
        return run[name] * 1e6 / run["acq_all"] if run.get("acq_all") else None

    return get


@dataclasses.dataclass(frozen=True)
class Column:
    title: str
    get: Getter
    middle: bool = False  # the median alone

    def cell(self, runs: Sequence[dict]) -> str:
        values = [self.get(run) for run in runs]
        if self.middle and (known := [value for value in values if value is not None]):
            return number(statistics.median(known))
        return spread(values)


@dataclasses.dataclass(frozen=True)
class Table:
    workload: str
    title: str
    columns: tuple[Column, ...]
    best: str = "rate"  # rows are in this order
    least_first: bool = False
    workers: int = 0  # the workload's own, where the number can be chosen; each has a table


WIRE = Column("commands sent by acquisition", field("wire_cmds_per_acq"), middle=True)
CLIENT_CPU = Column("client CPU µs", by_acquisition("client_cpu_s"), middle=True)
SERVER_CPU = Column("server CPU µs", by_acquisition("redis_cpu"), middle=True)
COSTS = (WIRE, CLIENT_CPU, SERVER_CPU)
SHARES = (
    Column("least of a worker", field("min_w"), middle=True),
    Column("most", field("max_w"), middle=True),
)
LATENCIES = (
    Column("p50 µs", field("p50_us")),
    Column("p99 µs", field("p99_us")),
    Column("max µs", field("max_us")),
)
BY_RAW = Column("× raw", field("by_raw"))
BY_TWO_PINGS = Column("× two raw PINGs", field("by_two_pings"))
WAITS = (
    Column("wait p50 ms", field("p50_us", 1e-3)),
    Column("wait p99 ms", field("p99_us", 1e-3)),
    Column("wait max ms", field("max_us", 1e-3)),
)

TABLES = (
    Table(
        "PING",
        "one PING after the other",
        (Column("PINGs/s", field("rate")), *LATENCIES, BY_RAW, *COSTS[1:]),
    ),
    Table(
        "W1",
        "one worker, a key of its own",
        (Column("pairs/s", field("rate")), *LATENCIES, BY_RAW, BY_TWO_PINGS, *COSTS),
    ),
    Table(
        "W2",
        "{} workers, each a key of its own",
        (
            Column("pairs/s", field("rate")),
            Column("pairs/s, of raw's", field("rate_by_raw")),
            *LATENCIES,
            BY_RAW,
            *COSTS,
        ),
        workers=64,
    ),
    Table(
        "W3",
        "100 workers of one process on one key, nothing held",
        (Column("acquisitions/s", field("rate")), *WAITS, *SHARES, *COSTS),
    ),
    Table(
        "W4",
        "4 processes of 8 workers on one key, held for 1 ms",
        (
            Column("hand-off µs", field("handoff_us")),
            Column("acquisitions/s", field("rate")),
            *WAITS[1:],
            *SHARES,
            Column("least of a process", field("min_p"), middle=True),
            Column("most", field("max_p"), middle=True),
            *COSTS,
        ),
        best="handoff_us",
        least_first=True,
    ),
    Table(
        "W5",
        "1000 waiters of one process, each gets the key once",
        (
            Column("seconds for all", field("total_s")),
            *COSTS,
            Column("peak memory MB", field("maxrss_mb"), middle=True),
            Column("connections", field("conns"), middle=True),
        ),
        best="total_s",
        least_first=True,
    ),
    Table(
        "W6",
        "keys held and renewed for 35 s, lease 30 s",
        (
            Column("keys", field("locks"), middle=True),
            Column("taken in s", field("acquire_s")),
            Column("client CPU s", field("idle_cpu_s")),
            Column("memory MB", field("rss_end_mb")),
            Column("server CPU s", lambda run: run["idle"]["redis_cpu"]),
            Column("keys left", field("keys_left"), middle=True),
        ),
        best="idle_cpu_s",
        least_first=True,
    ),
    Table(
        "W7",
        "8 processes of 1 worker on one key, nothing held",
        (
            Column("acquisitions/s", field("rate")),
            Column("hand-over p50 µs", field("handover_p50_us")),
            Column("in PINGs of that time", field("handover_p50_rtt")),
            Column("in PINGs of a quiet server", field("handover_p50_burst_rtt")),
            Column("longest wait ms", field("max_us", 1e-3)),
            Column("turns of a process, least", field("min_turns"), middle=True),
            Column("most", field("max_turns"), middle=True),
            WIRE,
        ),
    ),
    Table(
        "W8",
        "10,000 waiters, half of them cancelled",
        (
            Column("seconds for the rest", field("total_s")),
            Column("served", field("acq_all"), middle=True),
            Column("cancelled", field("cancelled"), middle=True),
            Column("missed", field("missed"), middle=True),
            Column(
                "keys, waiters, subscriptions left",
                lambda run: run["keys_left"] + run["waiters_left"] + run["subscriptions_left"],
                middle=True,
            ),
            WIRE,
        ),
    ),
    Table(
        "W9",
        "W1 while 100,000 holds are renewed",
        (
            Column("p50 µs without", field("base_p50_us")),
            Column("with", field("p50_us")),
            Column("p99 µs without", field("base_p99_us")),
            Column("with", field("p99_us")),
            Column("max µs without", field("base_max_us")),
            Column("with", field("max_us")),
            Column("renewals", field("renewals"), middle=True),
        ),
    ),
    Table(
        "W10",
        "{} clients with one waiter each, each gets it once",
        (
            Column("seconds for all", field("total_s")),
            Column("bytes sent and received", field("wire_bytes_per_acq"), middle=True),
            *COSTS,
        ),
        best="total_s",
        least_first=True,
        workers=1000,
    ),
    Table(
        "W11",
        "16 processes of 32 workers on 1000 keys, few of them hot, held for 1 ms",
        (Column("acquisitions/s", field("rate")), *WAITS, *COSTS),
    ),
    Table(
        "W12",
        "a waiter on each of 100,000 keys that another process holds",
        (
            Column("client's share of a processor", field("cpu_share")),
            Column("server's", field("server_cpu_share")),
            Column("bytes a waiter", field("bytes_per_waiter")),
        ),
        best="server_cpu_share",
        least_first=True,
    ),
    Table(
        "W1d",
        "as W1, but each hold is dropped",
        (Column("pairs/s", field("rate")), *LATENCIES, *COSTS),
    ),
    Table(
        "connections",
        "idle connections of one process",
        (
            Column("connections", field("connections"), middle=True),
            Column("KiB each", field("bytes_per_connection", 1 / 1024)),
        ),
        best="bytes_per_connection",
        least_first=True,
    ),
    Table(
        "many",
        "10,000 free names, taken and released",
        (
            Column("ms to take all", field("acquire_s", 1e3)),
            Column("to release them", field("release_s", 1e3)),
        ),
        best="acquire_s",
        least_first=True,
    ),
)


def is_ours(peer: str) -> bool:
    return peer.split("-")[0] == "colock"


def label(run: dict) -> str:
    name = run["peer"] if run["variant"] == "default" else f"{run['peer']} [{run['variant']}]"
    # The time is the same for all, and stands elsewhere.
    words = iter(run.get("options", ()))
    return " ".join([name, *(f"{option} {value}" for option, value in zip(words, words))])


def in_groups(runs: Sequence[dict], workload: str) -> dict[str, list[dict]]:
    groups: dict[str, list[dict]] = {}
    for run in runs:
        if run["w"] == workload:
            groups.setdefault(label(run), []).append(run)
    return groups


def median_of(runs: Sequence[dict], get: Getter) -> float | None:
    known = [v for run in runs if "fail" not in run and (v := get(run)) is not None]
    return statistics.median(known) if known else None


def faults(runs: Sequence[dict]) -> str:
    """What makes the figures worth less."""
    said = []
    if overlaps := sum(run.get("overlaps", 0) for run in runs):
        said.append(f"{overlaps} overlaps")
    elif not all(run.get("mutex_ok", True) for run in runs):
        said.append("not exclusive")
    if errors := sum(run.get("errors", 0) for run in runs):
        said.append(f"{errors} errors")
    return ", ".join(said)


def table(kind: Table, runs: Sequence[dict]) -> list[list[str]]:
    groups = in_groups(runs, kind.workload)

    def place(item: tuple[str, list[dict]]) -> tuple[bool, float]:
        middle = median_of(item[1], field(kind.best))
        if middle is None:
            return True, 0
        return False, middle if kind.least_first else -middle

    rows = [["", *(column.title for column in kind.columns), ""]]
    rows.append(["---", *("---:" for _ in kind.columns), "---"])
    for name, group in sorted(groups.items(), key=place):
        good = [run for run in group if "fail" not in run]
        notes = [faults(good)] if good else []
        if failed := len(group) - len(good):
            why = next(run["fail"] for run in group if "fail" in run).split(",")[0]
            notes.append(f"{failed} of {len(group)} runs: {why}")
        shown = f"**{name}**" if is_ours(group[0]["peer"]) else name
        cells = [column.cell(good) if good else "" for column in kind.columns]
        rows.append([shown, *cells, "; ".join(note for note in notes if note)])
    if not any(row[-1] for row in rows[2:]):
        rows = [row[:-1] for row in rows]
    return rows


def sections(runs: Sequence[dict]) -> Iterator[tuple[str, str, Table, list[dict]]]:
    """A name, a title, the kind and the runs of each table: one for each wire, and number of workers."""
    for wire in dict.fromkeys(run.get("wire", "") for run in runs):
        for kind in TABLES:
            of_kind = [r for r in runs if r["w"] == kind.workload and r.get("wire", "") == wire]
            for workers in sorted({r.get("asked_workers", kind.workers) for r in of_kind}):
                name = kind.workload if workers == kind.workers else f"{kind.workload}_{workers}"
                title = f"{kind.workload}: {kind.title.format(f'{workers:,}')}"
                if wire:
                    name += "_" + result_files.slug(wire.rpartition(", ")[2])
                    title += f"; {wire}"
                shown = [r for r in of_kind if r.get("asked_workers", kind.workers) == workers]
                yield name, title, kind, shown


def tables(runs: Sequence[dict]) -> dict[str, tuple[str, list[list[str]]]]:
    """By name: the title and the rows of each table."""
    return {
        name: (title, table(kind, shown))
        for name, title, kind, shown in sections(with_ratios(runs))
    }
