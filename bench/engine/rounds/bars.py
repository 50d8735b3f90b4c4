"""What was to be reached, and what was."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from bench.engine.measuring.names import (
    BEST,
    DEFAULT,
    DEFAULT_AT_ONCE,
    ENGINE,
    FULL,
    JOINED,
    LIMIT,
    RESTORE,
    SERVER,
)
from bench.engine.rounds.measure import Clock, Quartiles, Results, times_as_fast


@dataclass(frozen=True)
class Bar:
    """At least `wanted` times as fast as `baseline`, in cases whose names fit `case`."""

    case: str
    baseline: str
    wanted: float
    hybrid: float | None = None
    """Wanted of hybrid models, where that differs."""
    one_decode: float | None = None
    """Wanted where a request's questions share their passes, in any mode but the invariant one."""
    subject: str = ENGINE


SEVERAL = "W2 * x [28]*"
LONG_QUESTIONS = "W2 1800 * long questions*"
"""Of 35 to 63 tokens, whose passes a tile is made of; about a state that is new, and that is known."""

BARS = (
    Bar("W[12] *", LIMIT, 0.90),
    Bar(SEVERAL, LIMIT, 0.90, hybrid=0.90, one_decode=0.95),
    Bar(SEVERAL, LIMIT, 0.95, subject=JOINED),
    Bar("W1 *", FULL, 3.0),
    Bar("W2 50 tokens x 8", FULL, 1.7),
    Bar("W2 300 tokens x 8", FULL, 3.0),
    Bar("W2 1800 tokens x 8", FULL, 5.5),
    Bar("W1 *", RESTORE, 3.0),
    Bar("W2 *", RESTORE, 1.05, hybrid=0.97),
    Bar(LONG_QUESTIONS, RESTORE, 1.3, hybrid=0.97),
    Bar("W[23] *", BEST, 1.0, subject=SERVER),
    Bar("W1 *", BEST, 1.1, hybrid=2.0, subject=SERVER),
    Bar(SEVERAL, BEST, 1.0, hybrid=2.0, subject=SERVER),
    Bar(LONG_QUESTIONS, BEST, 1.3, hybrid=2.0, subject=SERVER),
    Bar("W2 50 tokens x 8", DEFAULT, 1.0, hybrid=2.0, subject=SERVER),
    Bar("W2 300 tokens x 8", DEFAULT, 1.0, hybrid=2.0, subject=SERVER),
    Bar("W2 50 tokens x 8", DEFAULT_AT_ONCE, 1.4, subject=SERVER),
    Bar("W2 300 tokens x 8", DEFAULT_AT_ONCE, 2.0, subject=SERVER),
)
"""Of two for the same baseline the later one counts. A hybrid model's memory cannot be cut, so that
llama-server computes a short prompt whole: twice as fast is wanted wherever prompts share something."""


def check(
    results: Results, *, hybrid: bool, mode: str, clock: Clock, padded: dict[str, int]
) -> list[dict[str, Any]]:
    """A row for each bar and case: what was wanted, and the quartiles of the rounds' ratios.

    `padded` says for how many of a case's decisions the adapter pads the last pass.
    """
    fitting = {
        (bar.subject, bar.baseline, case): bar
        for bar in BARS
        for case in results
        if fnmatchcase(case, bar.case)
    }
    rows = []
    for (subject, baseline, case), bar in fitting.items():
        speedup = times_as_fast(results[case], subject, baseline, clock)
        other = times_as_fast(results[case], subject, baseline, "wall" if clock == "cpu" else "cpu")
        if speedup is None or other is None:
            continue
        wanted = _wanted(bar, hybrid=hybrid, mode=mode)
        is_explained = mode == "invariant" and (subject, baseline) == (ENGINE, LIMIT) and not padded.get(case)
        remark = "; none of its passes is padded" if is_explained and speedup.median < wanted else ""
        rows.append(row(case, f"{subject} / {baseline}", wanted, speedup, other=other.median, remark=remark))
    return rows


def _wanted(bar: Bar, *, hybrid: bool, mode: str) -> float:
    if hybrid and bar.hybrid is not None:
        return bar.hybrid
    return bar.wanted if mode == "invariant" or bar.one_decode is None else bar.one_decode


def row(
    case: str, what: str, wanted: float, speedup: Quartiles, *, other: float | None, remark: str = ""
) -> dict[str, Any]:
    """One line of the table; `other` is the median by the other clock, where there is one."""
    return {
        "case": case,
        "ratio": what,
        "wanted": wanted,
        "median": speedup.median,
        "low": speedup.low,
        "high": speedup.high,
        "rounds": speedup.rounds,
        "other": other,
        "met": speedup.median >= wanted,
        "remark": remark,
    }
