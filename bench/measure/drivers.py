"""The programs that run a workload: colock's own and those of the peers."""

import dataclasses
import os
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLOCK = ROOT / "build/release/bench/colock-bench"
PEERS = pathlib.Path(os.environ.get("PEERS_BUILD") or ROOT / "build/peers")

LOOPS = ("W1", "W2", "W3", "W4", "W5")
MIX = ("W11",)


@dataclasses.dataclass(frozen=True)
class Driver:
    name: str
    command: tuple[str, ...]
    needs: pathlib.Path  # what is there when it is built
    sends: frozenset[str]  # the commands that go over the wire; others come from scripts
    workloads: tuple[str, ...] = LOOPS
    builder: str = "bench/peers/build.sh"
    start_seconds: float = 3  # from its start to its first acquire, at most
    variants: tuple[tuple[str, str], ...] = ()  # of a workload; where not the default
    own_processes: bool = False  # W4's are started by the driver itself
    over: str = "tcp"  # or "unix", "tls"
    takes_url: bool = False  # else HOST:PORT
    wire_extra: float = 0  # commands by acquisition that `sends` can't tell from those of scripts

    def why_not(self) -> str:
        """Empty if it can run."""
        if not self.needs.exists():
            return f"not built ({self.builder})"
        if not shutil.which(self.command[0]):
            return f"{self.command[0]} is not there"
        return ""

    def variant(self, workload: str) -> str:
        return dict(self.variants).get(workload, "default")

    def wire(self, calls: dict[str, int], acquired: int) -> float | None:
        if not acquired:
            return None
        return sum(n for c, n in calls.items() if c in self.sends) / acquired + self.wire_extra


def _driver(name: str, path: str, sends: str, *before: str, **more) -> Driver:
    program = PEERS / path
    return Driver(name, (*before, str(program)), program, frozenset(sends.split()), **more)


def _ours(name: str, *options: str, **more) -> Driver:
    return Driver(
        name,
        (str(COLOCK), *options),
        COLOCK,
        frozenset("eval evalsha subscribe unsubscribe ping".split()),
        builder="cmake --preset release && cmake --build --preset release",
        own_processes=True,
        takes_url=True,
        **more,
    )


def _over_tls(plain: Driver) -> Driver:
    """The same library over TLS."""
    of_pairs = tuple(each for each in plain.variants if each[0] in ("W1", "W2"))
    return dataclasses.replace(
        plain, name=f"{plain.name}-tls", over="tls", workloads=("W1", "W2"), variants=of_pairs
    )


def _all() -> list[Driver]:
    classes = PEERS / "redisson/classes"
    scripts = "eval evalsha"
    python = str(PEERS / "redispy/venv/bin/python")
    return [
        _ours("raw", "--raw", workloads=("PING", "W1", "W2")),
        _ours("colock", workloads=("PING", *LOOPS, "W6", "W7", "W8", "W9", "W10", "W11", "W12", "W1d", "connections", "many")),
        _ours("colock-unix", workloads=("PING", "W1", "W2"), over="unix"),
        _ours("colock-tls", workloads=("PING", "W1", "W2", "connections"), over="tls"),
        # Each unlock deletes a latch key; MONITOR shows it outside of scripts.
        Driver(
            "redisson",
            ("java", "-cp", f"{PEERS}/redisson/lib/*:{classes}", "Driver"),
            classes / "Driver.class",
            frozenset("eval evalsha ping subscribe unsubscribe script|load".split()),
            workloads=(*LOOPS, "W6", "many"),
            start_seconds=6,
            wire_extra=1,
        ),
        _driver("rslock", "rslock/target/release/driver", f"set {scripts}"),
        # Its tracking without NOLOOP is the library's own default and the quicker one; for many
        # keys at once its tries need more than 20 ms.
        _driver(
            "rueidislock",
            "gopeers/bin/rueidislock",
            scripts,
            workloads=(*LOOPS, *MIX, "W6"),
            variants=(*((loop, "loop") for loop in (*LOOPS, *MIX)), ("W6", "noloop5s")),
        ),
        _driver("redsync", "gopeers/bin/redsync", f"set {scripts}", workloads=(*LOOPS, *MIX)),
        _driver("bsmredislock", "gopeers/bin/bsmredislock", scripts, workloads=(*LOOPS, *MIX)),
        _driver(
            "redis-semaphore",
            "nodepeers/driver.js",
            f"set {scripts}",
            "node",
            workloads=(*LOOPS, "W6"),
        ),
        _driver("redispp", "redispp/driver", "set eval", workloads=(*LOOPS, *MIX, "W6")),
        _driver("redispy_async", "redispy/driver_async.py", f"set {scripts}", python),
        _driver("redispy_sync", "redispy/driver_sync.py", f"set {scripts}", python),
    ]


SPEAK_TLS = ("redisson", "rueidislock", "redsync", "redis-semaphore", "redispy_async", "redispy_sync")


def _by_name() -> dict[str, Driver]:
    plain = {driver.name: driver for driver in _all()}
    return plain | {tls.name: tls for name in SPEAK_TLS for tls in [_over_tls(plain[name])]}


DRIVERS = _by_name()
