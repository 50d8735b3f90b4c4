"""What was to be reached, and what was."""

from dataclasses import dataclass
from typing import Any

from bench.engine.measuring.names import BEST, DEFAULT, DEFAULT_AT_ONCE, ENGINE, JOINED, SERVER
from bench.engine.rounds.measure import Quartiles, Results, ratio, times_as_fast


@dataclass(frozen=True)
class Bar:
    """At least `wanted` times as fast as `baseline`, in cases whose name begins so."""

    case: str
    baseline: str
    wanted: float
    wanted_hybrid: float | None = None
    subject: str = ENGINE


BARS = (
    Bar("W1", "the limit", 0.90),
    Bar("W2 50 ", "the limit", 0.90),
    Bar("W2 300 ", "the limit", 0.90),
    Bar("W2 1800 ", "the limit", 0.85),
    Bar("W2", "the limit", 0.95, subject=JOINED),
    Bar("W1", "full prompt", 3.0),
    Bar("W2 50 tokens x 8", "full prompt", 1.7),
    Bar("W2 300 tokens x 8", "full prompt", 3.0),
    Bar("W2 1800 tokens x 8", "full prompt", 5.5),
    Bar("W2 1800 tokens x 21", "full prompt", 10.0),
    Bar("W1", "state restore", 3.0),
    Bar("W2", "state restore", 1.0, wanted_hybrid=0.97),
    Bar("W1", BEST, 2.0, subject=SERVER),
    Bar("W2", BEST, 1.05, subject=SERVER),
    Bar("W3", BEST, 1.05, subject=SERVER),
    Bar("W2 50 tokens x 8", DEFAULT, 1.4, subject=SERVER),
    Bar("W2 50 tokens x 8", DEFAULT_AT_ONCE, 1.4, subject=SERVER),
    Bar("W2 300 tokens x 8", DEFAULT, 2.0, subject=SERVER),
    Bar("W2 300 tokens x 8", DEFAULT_AT_ONCE, 2.0, subject=SERVER),
)


def check(results: Results, *, hybrid: bool) -> list[dict[str, Any]]:
    """A row for each bar and case: what was wanted, the median of the rounds' ratios and its quartiles."""
    rows = []
    for bar in BARS:
        wanted = bar.wanted_hybrid if hybrid and bar.wanted_hybrid is not None else bar.wanted
        for case, samples in results.items():
            if not case.startswith(bar.case):
                continue
            speedup = times_as_fast(samples, bar.subject, bar.baseline)
            if speedup is not None:
                cpu = ratio(samples[bar.baseline].cpu, samples[bar.subject].cpu)
                rows.append(row(case, f"{bar.subject} / {bar.baseline}", wanted, speedup, cpu))
    return rows


def row(case: str, what: str, wanted: float, speedup: Quartiles, cpu: Quartiles) -> dict[str, Any]:
    """One line of the table; `cpu` is the same ratio of CPU seconds, which a busy machine moves less."""
    return {
        "case": case,
        "ratio": what,
        "wanted": wanted,
        "median": speedup.median,
        "low": speedup.low,
        "high": speedup.high,
        "rounds": speedup.rounds,
        "cpu_median": cpu.median,
        "met": speedup.median >= wanted,
    }
