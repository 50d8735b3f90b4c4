"""Pictures of runs: how long, how often right, how far to be believed.

Every picture takes `series`: a name, which may be foreign text, and what is drawn for it. One run is one
series, a comparison two; two is the most that can be told apart.
"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from semif.evaluation.figures.measures import Bin
from semif.evaluation.figures.summary import Group
from semif.evaluation.report.pages.svg import FIRST, INK, SECOND, Picture, picture
from semif.evaluation.report.tables.cells import ForeignText, duration, interval, percent

SERIES_COLOURS = (FIRST, SECOND)
MAX_GROUPS = 30
"""Most families that are drawn, those with the most tasks; the table has all."""
MAX_POINTS = 1500
"""Most points that are drawn of a series."""
BARS = 30
"""Of the distribution of latency."""
LEAST_SECONDS = 1e-4
"""A shorter reply is drawn as this long: the axis is logarithmic."""
MAX_LABEL = 18
"""Longest family's or run's name beside an axis, in characters."""


def latency_picture(series: Mapping[str, Sequence[float]]) -> Picture:
    """How the replies' seconds are distributed, on a logarithmic axis; dashed at p50, dotted at p95."""
    everything = np.concatenate([np.asarray(values, dtype=float) for values in series.values()])
    least = max(float(everything.min()), LEAST_SECONDS)
    edges = np.geomspace(least * 0.95, max(float(everything.max()), least) * 1.05, BARS + 1)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for (name, values), colour in zip(series.items(), SERIES_COLOURS, strict=False):
            clipped = np.clip(values, edges[0], edges[-1])
            label = f"{_short(name)}: p50 {_percentile(values, 50)}, p95 {_percentile(values, 95)}"
            axes.hist(clipped, edges.tolist(), label=label, color=colour, alpha=0.35)
            axes.hist(clipped, edges.tolist(), histtype="step", color=colour)
            for percentile, style in ((50, "--"), (95, ":")):
                axes.axvline(float(np.percentile(values, percentile)), color=colour, linestyle=style)
        axes.set_xscale("log")
        seconds_axis(axes.xaxis, edges[0], edges[-1])
        axes.set_ylabel("replies")
        axes.grid(axis="y")
        _legend(axes, columns=1)

    figures = "; ".join(
        f"{ForeignText(title)}: p50 {_percentile(values, 50)}, p95 {_percentile(values, 95)}, "
        f"longest {_percentile(values, 100)}, {len(values)} replies"
        for title, values in series.items()
    )
    return picture("Latency", f"Distribution of latency. {figures}.", draw, 3.4)


def reliability_picture(series: Mapping[str, Sequence[Bin]]) -> Picture:
    """See `draw_reliability`."""
    figures = "; ".join(
        f"{ForeignText(title)}: "
        + ", ".join(f"{one.confidence:.2f} → {one.right.value:.2f} ({one.right.whole})" for one in bins)
        for title, bins in series.items()
    )
    alt = f"Reliability diagram, mean confidence → share of right answers (answers). {figures}."
    return picture("Reliability", alt, lambda figure: draw_reliability(figure, series), 3.9)


def draw_reliability(figure: FigureBase, series: Mapping[str, Sequence[Bin]]) -> None:
    """The share of right answers against the confidence, and below how many answers there are."""
    above, below = figure.subplots(2, sharex=True, height_ratios=(4, 1))
    above.plot([0, 1], [0, 1], color=INK, linestyle="--", linewidth=1, label="as confident as right")
    for place, ((name, bins), colour) in enumerate(zip(series.items(), SERIES_COLOURS, strict=False)):
        shares = [one.right for one in bins]
        above.errorbar(
            [one.confidence for one in bins],
            [share.value for share in shares],
            yerr=[
                [share.value - share.low for share in shares],
                [share.high - share.value for share in shares],
            ],
            color=colour,
            marker="o",
            markersize=5,
            linewidth=0.6,
            elinewidth=1,
            capsize=2,
            label=_short(name),
        )
        width = 0.8 * (bins[0].high - bins[0].low) / len(series)
        below.bar(
            [(one.low + one.high) / 2 + (place - (len(series) - 1) / 2) * width for one in bins],
            [share.whole for share in shares],
            width,
            color=colour,
            alpha=0.6,
        )
    above.set(xlim=(0, 1), ylim=(-0.02, 1.02), ylabel="share right")
    above.grid()
    _legend(above)
    below.set(xlabel="confidence: probability of the choice", ylabel="answers")


def accuracy_picture(series: Mapping[str, Sequence[Group]]) -> Picture:
    """Each family's share of right answers with its interval, and a mark for what guessing would get."""
    sizes: dict[str | None, int] = {}
    for groups in series.values():
        for group in groups:
            sizes[group.name] = max(sizes.get(group.name, 0), group.right.whole)
    unnamed = "without a family" if len(sizes) > 1 else "all tasks"
    names = sorted(sizes, key=lambda name: -sizes[name])[:MAX_GROUPS]
    rows = {name: row for row, name in enumerate(reversed([name for name in sizes if name in names]))}

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, ((name, groups), colour) in enumerate(zip(series.items(), SERIES_COLOURS, strict=False)):
            shown = [group for group in groups if group.name in rows]
            heights = [rows[group.name] + 0.15 * (len(series) - 1) * (1 - 2 * place) for group in shown]
            rights = [group.right for group in shown]
            axes.hlines(
                heights, [one.low for one in rights], [one.high for one in rights], color=colour, linewidth=2
            )
            axes.plot([one.value for one in rights], heights, "o", color=colour, label=_short(name))
        guesses = {group.name: group.guessing for groups in series.values() for group in groups}
        axes.plot(
            [guesses[name] for name in rows],
            list(rows.values()),
            "|",
            color=INK,
            markersize=10,
            label="guessing",
        )
        axes.set(xlim=(-0.02, 1.03), ylim=(-0.6, len(rows) - 0.4), xlabel="share right, 95% interval")
        axes.set_yticks(list(rows.values()), [f"{_short(name or unnamed)} ({sizes[name]})" for name in rows])
        axes.grid(axis="x")
        _legend(axes)

    figures = "; ".join(
        f"{ForeignText(title)}: "
        + ", ".join(
            f"{ForeignText(group.name or unnamed)} {percent(group.right.value)} ({interval(group.right)})"
            for group in groups
            if group.name in rows
        )
        for title, groups in series.items()
    )
    return picture(
        "Accuracy by family", f"Share of right answers. {figures}.", draw, max(3.9, 1.3 + 0.34 * len(rows))
    )


def tokens_picture(series: Mapping[str, Sequence[tuple[int, float]]]) -> Picture:
    """Each reply's seconds, on a logarithmic axis, against its prompt tokens. A series of many is thinned."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for (name, points), colour in zip(series.items(), SERIES_COLOURS, strict=False):
            if points:
                drawn = np.maximum(_thinned(points), (0, LEAST_SECONDS))
                axes.plot(*drawn.T, "o", color=colour, markersize=3.5, alpha=0.5, mew=0, label=_short(name))
        axes.set_yscale("log")
        every = [max(time, LEAST_SECONDS) for points in series.values() for _, time in points]
        seconds_axis(axes.yaxis, min(every), max(every))
        axes.set_xlabel("prompt tokens, cached ones included")
        axes.set_xlim(left=0)
        axes.grid()
        _legend(axes)

    extents = "; ".join(
        f"{ForeignText(title)}: {len(points)} replies, {min(points)[0]} to {max(points)[0]} tokens"
        for title, points in series.items()
        if points
    )
    return picture(
        "Latency against prompt tokens", f"Scatter of latency over prompt tokens. {extents}.", draw, 3.2
    )


def _thinned(points: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    step = -(-len(points) // MAX_POINTS)
    return points[::step]


def _legend(axes: Axes, columns: int = 4) -> None:
    """Above the drawing, where it hides nothing."""
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, columnspacing=1.2, handletextpad=0.5
    )


def _percentile(values: Sequence[float], percentile: int) -> str:
    return duration(float(np.percentile(values, percentile)))


def _short(text: str) -> str:
    name = ForeignText(text)
    return name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}…"


def seconds_axis(axis: "mpl.axis.Axis", low: float, high: float) -> None:
    """Ticks at powers of ten, and between them where there are few."""
    decades = np.log10(high / low)
    subs = (1.0,) if decades > 2.5 else (1.0, 3.0) if decades > 1.2 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axis.set_minor_formatter(NullFormatter())


def _tick(value: float) -> str:
    return f"{value:g} s" if value >= 1 else f"{value * 1000:g} ms"
