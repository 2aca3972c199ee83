"""What was measured with what."""

import datetime
import os
import pathlib
import platform
import re
import shutil
import subprocess

from measure.drivers import COLOCK, ROOT

SOURCES = ROOT / "bench/peers"


def first_line(*command: str) -> str:
    """What a program says first; empty if there is none. Some say it on standard error."""
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else ""


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory_gb() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30))


def describe() -> dict:
    os_release = pathlib.Path("/etc/os-release")
    system = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', os_release.read_text(), re.MULTILINE))
    return {
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gb": memory_gb(),
        "system": system.get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
    }


def in_words(described: dict, load_before: float) -> str:
    return (
        f"{described['processors']} processors ({described['processor']}), {described['memory_gb']} GB,"
        f" {described['system']}, kernel {described['kernel']}; load before: {load_before:g}"
    )


def _match(pattern: str, file: str) -> str:
    found = re.search(pattern, (SOURCES / file).read_text())
    return found[1] if found else "?"


def peer_versions() -> dict[str, str]:
    """As the drivers' own files pin them; redis-plus-plus is what is installed."""
    go = r"{} v(\S+)"
    node = r'"{}": "([^"]+)"'
    installed = first_line("pkg-config", "--modversion", "redis++")
    return {
        **({"redis-plus-plus": installed} if installed[:1].isdigit() else {}),
        "redisson": _match(
            r"<artifactId>redisson</artifactId><version>([^<]+)", "redisson/pom.xml"
        ),
        "rslock": _match(r'rslock = .*version = "=([^"]+)"', "rslock/Cargo.toml"),
        "rueidislock": _match(go.format("redis/rueidis"), "gopeers/go.mod"),
        "redsync": _match(go.format("redsync/v4"), "gopeers/go.mod"),
        "bsmredislock": _match(go.format("bsm/redislock"), "gopeers/go.mod"),
        "go-redis": _match(go.format("redis/go-redis/v9"), "gopeers/go.mod"),
        "redis-semaphore": _match(node.format("redis-semaphore"), "nodepeers/package.json"),
        "ioredis": _match(node.format("ioredis"), "nodepeers/package.json"),
        "redis-py": _match(r"redis\[hiredis\]==([\w.]+)", "build.sh"),
    }


def colock_version() -> str:
    git = ["git", "-C", str(ROOT)]
    commit = first_line(*git, "rev-parse", "--short", "HEAD")
    changed = first_line(*git, "status", "--porcelain", "--untracked-files=no")
    return (commit or "?") + (" and changes" if changed else "")


def versions() -> dict[str, str]:
    built = datetime.datetime.fromtimestamp(COLOCK.stat().st_mtime) if COLOCK.exists() else None
    tools = {
        "redis-server": first_line("redis-server", "--version"),
        "g++": first_line("g++", "--version"),
        "java": first_line("java", "-version"),
        "go": first_line("go", "version"),
        "node": first_line("node", "--version"),
        "rustc": first_line("rustc", "--version"),
        "python": platform.python_version(),
    }
    return {
        "colock": colock_version() + (f", built {built:%Y-%m-%d %H:%M}" if built else ""),
        **peer_versions(),
        **{name: text for name, text in tools.items() if text},
    }
