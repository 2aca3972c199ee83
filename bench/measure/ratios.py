"""How runs compare with those of bare sockets in the same repetition."""

from collections.abc import Sequence


def _place(run: dict, workload: str) -> tuple:
    workers = run.get("asked_workers") if workload == "W2" else None
    return workload, workers, run.get("wire"), run.get("rep")


def _quotient(one: float | None, other: float | None, factor: float = 1) -> float | None:
    return one / (factor * other) if one and other else None


def with_ratios(runs: Sequence[dict]) -> list[dict]:
    """The runs with `by_raw` and `by_two_pings` (medians of the latency) and `rate_by_raw`, where
    there is a raw run to compare with."""
    raw = {_place(run, run["w"]): run for run in runs if run["peer"] == "raw" and "fail" not in run}
    found = []
    for run in runs:
        yardstick = raw.get(_place(run, run["w"]), {})
        ping = raw.get(_place(run, "PING"), {})
        ratios = {
            "by_raw": _quotient(run.get("p50_us"), yardstick.get("p50_us")),
            "rate_by_raw": _quotient(run.get("rate"), yardstick.get("rate")),
            "by_two_pings": _quotient(run.get("p50_us"), ping.get("p50_us"), 2),
        }
        found.append(run | {name: value for name, value in ratios.items() if value})
    return found
