"""What the server does at most, measured by its own redis-benchmark: the figures to compare with."""

import csv
import io
import shutil
import subprocess

from measure.server import Server

# As much as an acquire must do.
SCRIPT = (
    "redis.call('hset', KEYS[1], 'f', ARGV[1]); redis.call('pexpire', KEYS[1], ARGV[2]); return nil"
)


def _benchmark(server: Server, *arguments: str) -> dict[str, str] | None:
    command = ["redis-benchmark", "-p", str(server.port), "--csv", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    return rows[0] if rows else None


def measure(server: Server) -> dict[str, float]:
    """Empty without redis-benchmark."""
    if not shutil.which("redis-benchmark"):
        return {}
    ping = _benchmark(server, "-c", "1", "-n", "20000", "-t", "ping_mbulk")
    sha = server.command("SCRIPT", "LOAD", SCRIPT)
    script = _benchmark(
        server, "-c", "50", "-n", "100000", "-r", "10000",
        "evalsha", sha, "1", "k:__rand_int__", "v", "30000",
    )  # fmt: skip
    server.command("FLUSHALL")
    found = {}
    if ping:
        found["ping_p50_us"] = float(ping["p50_latency_ms"]) * 1e3
    if script:
        found["scripts_per_s"] = float(script["rps"])
    return found
