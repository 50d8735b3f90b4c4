"""Two pictures of a run, as PNG."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from bench.engine.measuring.names import ENGINE, LIMIT, SERVER
from bench.engine.rounds.measure import Clock, Quartiles, Results, times_as_fast

DOTS_PER_INCH = 110


def draw_times(results: Results, decisions: dict[str, int], clock: Clock, path: Path) -> None:
    """Milliseconds a decision of everybody, a panel for each case, quartiles as error bars."""
    columns = 3
    rows = -(-max(1, len(results)) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(14, 2.6 * rows), squeeze=False, layout="constrained")
    for axis in axes.flat[len(results) :]:
        axis.set_visible(False)
    for axis, (case, samples) in zip(axes.flat, results.items(), strict=False):
        names = list(samples)[::-1]
        spreads = [
            Quartiles.of([value * 1000 / decisions[case] for value in samples[name].of(clock)])
            for name in names
        ]
        axis.barh(
            names,
            [spread.median for spread in spreads],
            xerr=[
                [spread.median - spread.low for spread in spreads],
                [spread.high - spread.median for spread in spreads],
            ],
            color=["#c44e52" if name in (ENGINE, SERVER) else "#8c9bb0" for name in names],
        )
        axis.set_title(case, fontsize=10)
        axis.tick_params(labelsize=8)
        axis.set_xlabel(f"ms a decision ({clock})", fontsize=8)
    figure.savefig(path, dpi=DOTS_PER_INCH)
    plt.close(figure)


def draw_ratios(results: Results, bars: list[dict[str, Any]], clock: Clock, path: Path) -> None:
    """The engine's share of the limit in each case, and every bar's ratio divided by the bar."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(14, max(4.0, 0.3 * len(bars))), layout="constrained", width_ratios=(1, 1.4)
    )
    shares = {
        case: share
        for case, samples in results.items()
        if (share := times_as_fast(samples, ENGINE, LIMIT, clock)) is not None
    }
    left.barh(list(shares)[::-1], [share.median for share in shares.values()][::-1], color="#c44e52")
    left.axvline(1.0, color="black", linewidth=1)
    left.set_title("the engine's share of the limit")
    left.tick_params(labelsize=8)
    names = [f"{row['case']}: {row['ratio'].split(' / ')[1]} (bar {row['wanted']:g})" for row in bars]
    right.barh(
        names[::-1],
        [row["median"] / row["wanted"] for row in bars][::-1],
        color=["#55a868" if row["met"] else "#c44e52" for row in bars][::-1],
    )
    right.axvline(1.0, color="black", linewidth=1)
    right.set_title("measured ratio / bar")
    right.tick_params(labelsize=7)
    figure.savefig(path, dpi=DOTS_PER_INCH)
    plt.close(figure)
