#!/usr/bin/python3
"""Runs one driver on a Redis server of its own and prints a JSON line for each run.

run.py PEER[:VARIANT] W1,W2,... [--seconds S] [--reps N] [driver's options]
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from measure.drivers import DRIVERS  # noqa: E402
from measure.lifetime import end_in_order  # noqa: E402
from measure.runner import Run, run  # noqa: E402
from measure.server import Failure, Server  # noqa: E402


def main() -> None:
    end_in_order()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("peer", help=", ".join(DRIVERS))
    parser.add_argument("workloads")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--reps", type=int, default=1)
    chosen, options = parser.parse_known_args()
    name, _, variant = chosen.peer.partition(":")
    if name not in DRIVERS:
        parser.error(f"known peers: {', '.join(DRIVERS)}")
    driver = DRIVERS[name]
    if why := driver.why_not():
        raise Failure(f"{name}: {why}")
    with Server(tls=driver.over == "tls") as server:
        for workload in chosen.workloads.split(","):
            seconds = chosen.seconds or (35 if workload == "W6" else 5)
            what = Run(
                driver,
                workload,
                variant or driver.variant(workload),
                seconds,
                tuple(options),
                patience=120,
            )
            for _ in range(chosen.reps):
                print(json.dumps(run(what, server)), flush=True)


try:
    main()
except Failure as failure:
    sys.exit(f"run.py: {failure}")
except KeyboardInterrupt:
    sys.exit(130)
