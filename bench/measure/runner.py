"""One run of one driver, with what it cost on both sides."""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable

from measure.drivers import PEERS, Driver
from measure.server import Server

EXCLUSIVE_FILE = pathlib.Path("/dev/shm/peerlock.x")
PROCESSES = {"W4": 4, "W11": 16}  # of a driver that knows of one
# Each driver's names have this in them; counters beside the locks don't.
COUNT_LOCKS = "return #redis.call('keys', '*peerlock:*')"


@dataclasses.dataclass
class Run:
    """What is asked for; times in seconds."""

    driver: Driver
    workload: str
    variant: str = "default"
    seconds: float = 5
    options: tuple[str, ...] = ()
    workers: int = 0  # the workload's own number unless set
    patience: float = 30  # beyond the measured time, before it counts as hung


def cpu_of(pid: int) -> float:
    """Of all its threads. Linux makes the number of a process's clock of the process's."""
    return time.clock_gettime((~pid << 3) | 2)


def resident_mb(pid: int) -> float:
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / (1 << 20)


class Processes:
    """A driver's processes: all ended at the end of the block, whatever happens in it."""

    def __init__(
        self,
        command: list[str],
        count: int,
        log: pathlib.Path,
        watch_errors: bool,
        prepare: Callable[[], None],
    ):
        self._log = log.open("a")
        self.killed = False
        errors = subprocess.PIPE if watch_errors else self._log
        self.all: list[subprocess.Popen] = []
        self.usage: list = []
        for _ in range(count):
            self.all.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    preexec_fn=prepare,
                )
            )

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for process in self.all[len(self.usage) :]:
            with contextlib.suppress(ChildProcessError):
                os.wait4(process.pid, 0)
        for process in self.all:
            # It has been waited for, behind the back of Popen.
            process.returncode = 0
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()
        self._log.close()

    def kill(self) -> None:
        for process in self.all[len(self.usage) :]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    def hung(self) -> None:
        self.killed = True
        self.kill()

    def note(self, line: str) -> None:
        self._log.write(line)

    def results(self) -> list[dict]:
        texts = [process.stdout.read() for process in self.all]
        for process in self.all:
            self.usage.append(os.wait4(process.pid, 0))
        if self.killed:
            raise ValueError("did not end in time")
        found = []
        for text, (_, status, _) in zip(texts, self.usage, strict=True):
            lines = text.strip().splitlines()
            if status or not lines:
                code = os.waitstatus_to_exitcode(status)
                log = pathlib.Path(self._log.name)
                raise ValueError(f"ended with status {code}, see {log.parent.name}/{log.name}")
            found.append(json.loads(lines[-1]))
        return found


def merge(each: list[dict]) -> dict:
    """What processes that know nothing of each other have measured, as one."""
    one = dict(each[0])
    for name in ("workers", "acq", "acq_all", "errors", "rate", "overlaps"):
        one[name] = sum(result[name] for result in each)
    one["mutex_ok"] = all(result.get("mutex_ok") for result in each)
    held = sum(result.get("hold_us", 0) * result["acq_all"] for result in each)
    one["hold_us"] = held / max(1, one["acq_all"])
    one["min_w"] = min(result["min_w"] for result in each)
    one["max_w"] = max(result["max_w"] for result in each)
    one["min_p"] = min(result["acq"] for result in each)
    one["max_p"] = max(result["acq"] for result in each)
    for name in ("p50_us", "p99_us", "max_us"):
        one[name] = max(result.get(name, 0) for result in each)
    one["handoff_us"] = 1e6 / one["rate"] - one["hold_us"] if one["rate"] else None
    return one


def watch_idle(processes: Processes, server: Server) -> dict:
    """W6: both sides between HELD and END."""
    process, idle = processes.all[0], {}
    for line in process.stderr:
        if line.startswith("HELD"):
            before, cpu, begun = server.usage(), cpu_of(process.pid), time.monotonic()
            idle["rss_held_mb"] = round(resident_mb(process.pid), 1)
        elif line.startswith("END"):
            idle["idle_s"] = round(time.monotonic() - begun, 2)
            idle["idle_cpu_s"] = round(cpu_of(process.pid) - cpu, 6)
            idle["rss_end_mb"] = round(resident_mb(process.pid), 1)
            idle["idle"] = server.usage().since(before)
            idle["keys_left"] = int(server.command("EVAL", COUNT_LOCKS, "0"))
        else:
            processes.note(line)
    return idle


def run(what: Run, server: Server) -> dict:
    """The driver's own JSON and the server's side; with "fail" if there is none. Flushes."""
    server.command("FLUSHALL")
    for left in EXCLUSIVE_FILE.parent.glob(EXCLUSIVE_FILE.name + "*"):
        left.unlink(missing_ok=True)
    driver, workload = what.driver, what.workload
    command = [*driver.command, workload, *server.address_options(driver.over, driver.takes_url)]
    command += ["--variant", what.variant]
    if what.workers:
        command += ["--workers", str(what.workers)]
    command += ["--seconds", f"{what.seconds:g}", *what.options]
    count = 1 if driver.own_processes else PROCESSES.get(workload, 1)
    if count > 1:
        command += ["--start-at", str(int((time.time() + driver.start_seconds) * 1000))]
    logs = PEERS / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    found = {"peer": driver.name, "variant": what.variant, "w": workload}
    if what.workers:
        found["asked_workers"] = what.workers
    if server.wire:
        found["wire"] = server.wire.name
    before, begun, idle = server.usage(), time.monotonic(), {}
    idles = workload == "W6"
    log = logs / f"{driver.name}.{workload}.err"
    with Processes(command, count, log, idles, server.client_side()) as processes:
        limit = what.seconds + driver.start_seconds + what.patience
        killer = threading.Timer(limit, processes.hung)
        killer.start()
        try:
            if idles:
                idle = watch_idle(processes, server)
            each = processes.results()
        except ValueError as failure:
            return found | {"fail": str(failure)}
        finally:
            killer.cancel()
    found = (merge(each) if count > 1 else each[0]) | found
    found |= {"options": list(what.options), "seconds": what.seconds}
    found |= server.usage().since(before) | idle
    acquired = found.get("acq_all", 0)
    if acquired:
        found["cmds_per_acq"] = round(found["cmds"] / acquired, 3)
        # colock's own count leaves out the pings that it is compared with.
        wire = found.get("wire_per_acq") or driver.wire(found["cmdstat"], acquired)
        found["wire_cmds_per_acq"] = round(wire, 3)
    used = [usage for _, _, usage in processes.usage]
    found["client_cpu_s"] = round(sum(u.ru_utime + u.ru_stime for u in used), 3)
    found["maxrss_mb"] = round(sum(u.ru_maxrss for u in used) / 1024, 1)
    found["wall_s"] = round(time.monotonic() - begun, 2)
    server.command("FLUSHALL")
    return found
