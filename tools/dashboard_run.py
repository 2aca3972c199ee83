"""A run of the flash sale with Prometheus beside it, for `tools/pictures dashboard PROGRAM`.

Two servers of examples/seckill sell to users who send each order three times. Three things happen:
a rush of users, a Redis that stands still (SIGSTOP), and a CLIENT KILL of all connections. Then
Prometheus answers each query of the dashboard for the time of the run. It takes three minutes.
"""

import asyncio
import contextlib
import itertools
import json
import math
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "examples/seckill")]
from servers import Server, servers, until  # noqa: E402
from with_redis import die_with_parent, start_server, stop  # noqa: E402

WARM_UP, LENGTH, STEP = 10, 180, 1  # seconds; Prometheus asks for the numbers every STEP
RUSH, STANDSTILL, CUT = (30, 55), (80, 92), 140  # seconds of the run
USERS, USERS_IN_RUSH = 15, 45  # new ones a second
LEASE, PAYING = 1_500, 900  # milliseconds: a holder that pays renews once
SALE = ["--stock", "1000000", "--lease", str(LEASE), "--paying", str(PAYING)]


# ---- Prometheus --------------------------------------------------------------------------------


class Prometheus:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/api/v1"

    def get(self, path: str, **parameters: object) -> dict:
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"{self.url}/{path}?{query}", timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as e:
            if e.code == 503:  # it begins
                raise
            sys.exit(f"Prometheus refuses {parameters}: {e.read().decode()}")

    def version(self) -> str:
        return self.get("status/buildinfo")["version"].split("+")[0]

    def is_ready(self) -> bool:
        with contextlib.suppress(urllib.error.URLError):
            return bool(self.get("query", query="1"))
        return False

    def lines_of(self, target: dict, begin: float) -> list[dict]:
        """A target of a panel: the name of each line, and its value at each step, or None."""
        # As Grafana fills them in: all clients, and four scrapes are the shortest time for a rate.
        query = target["expr"].replace("$client", ".*").replace("$__rate_interval", f"{4 * STEP}s")
        found = self.get("query_range", query=query, start=begin, end=begin + LENGTH, step=STEP)
        return [
            {"name": name_of(target["legendFormat"], each["metric"]), "values": values_of(each, begin)}
            for each in found["result"]
        ]


def name_of(legend: str, labels: dict[str, str]) -> str:
    for label, value in labels.items():
        legend = legend.replace("{{" + label + "}}", value)
    return legend


def values_of(series: dict, begin: float) -> list[float | None]:
    values: list[float | None] = [None] * (LENGTH // STEP + 1)
    for at, text in series["values"]:
        value = float(text)
        if math.isfinite(value):
            values[round((at - begin) / STEP)] = float(f"{value:.4g}")
    return values


@contextlib.asynccontextmanager
async def prometheus(folder: str, sites: list[Server]) -> AsyncIterator[Prometheus]:
    """One that scrapes these, until the end of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    targets = [f"127.0.0.1:{site.port}" for site in sites]
    config = pathlib.Path(folder, "prometheus.yml")
    config.write_text(json.dumps({  # which is YAML, too
        "global": {"scrape_interval": f"{STEP}s", "scrape_timeout": f"{STEP}s"},
        "scrape_configs": [{"job_name": "seckill", "static_configs": [{"targets": targets}]}],
    }))
    process = await asyncio.create_subprocess_exec(
        "prometheus",
        *(f"--config.file={config}", f"--storage.tsdb.path={folder}/data"),
        *(f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"),
        preexec_fn=die_with_parent,
    )
    try:
        asked = Prometheus(port)

        async def is_ready() -> bool:
            return asked.is_ready()

        await until("Prometheus answers", is_ready)
        yield asked
    finally:
        process.kill()
        await process.wait()


# ---- The sale ----------------------------------------------------------------------------------


async def order(at: list[Server], user: str) -> None:
    await asyncio.sleep(random.uniform(0, 0.3))
    with contextlib.suppress(OSError):
        await random.choice(at).ask("POST", f"/orders/{user}")


async def come(at: list[Server], begin: float) -> None:
    """New users without end, each with three requests at about the same time."""
    under_way: set[asyncio.Task[None]] = set()
    for number in itertools.count():
        in_rush = RUSH[0] <= time.time() - begin < RUSH[1]
        await asyncio.sleep(random.expovariate(USERS_IN_RUSH if in_rush else USERS))
        under_way = {task for task in under_way if not task.done()}
        under_way |= {asyncio.create_task(order(at, f"user{number}")) for _ in range(3)}


async def disturb(redis: subprocess.Popen[bytes], path: str, begin: float) -> None:
    """What happens to Redis, at its time; returns at the end of the run."""
    async def at(second: float) -> None:
        await asyncio.sleep(begin + second - time.time())

    await at(STANDSTILL[0])
    redis.send_signal(signal.SIGSTOP)
    await at(STANDSTILL[1])
    redis.send_signal(signal.SIGCONT)
    await at(CUT)
    for kind in ("normal", "pubsub"):
        cut = ["redis-cli", "-s", path, "client", "kill", "type", kind]
        subprocess.run(cut, check=True, stdout=subprocess.DEVNULL)
    await at(LENGTH + 1)


async def watched(program: str, folder: str, dashboard: dict) -> dict:
    path = f"{folder}/redis.sock"
    redis = start_server("redis-server", folder, path)
    try:
        async with (
            servers(program, 2, "--redis", f"unix://{path}", *SALE) as sites,
            prometheus(folder, sites) as asked,
        ):
            begin = int(time.time()) + WARM_UP
            users = asyncio.create_task(come(sites, begin))
            await disturb(redis, path, begin)
            users.cancel()
            return {
                "prometheus": asked.version(),
                "step": STEP,
                "events": [["rush", *RUSH], ["Redis stands still", *STANDSTILL], ["connections cut", CUT, CUT]],
                "lines": {
                    target["expr"]: asked.lines_of(target, begin)
                    for panel in dashboard["panels"] for target in panel["targets"]
                },
            }
    finally:
        stop(redis)


def record(program: str, dashboard: dict) -> dict:
    """The answers to the dashboard's queries in a run of this program, which is examples/seckill."""
    for needed in ("redis-server", "redis-cli", "prometheus"):
        if not shutil.which(needed):
            sys.exit(f"no {needed} in PATH: it is in Debian's package of that name, or redis-tools")
    with tempfile.TemporaryDirectory(prefix="colock-") as folder:
        return asyncio.run(watched(program, folder, dashboard))
