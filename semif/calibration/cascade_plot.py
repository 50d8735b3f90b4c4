"""What a cascade is right on and how long it takes, against how much it escalates, as a picture in a file."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from semif.calibration.cascade import Cascade, CascadePoint
from semif.calibration.grouped_mean import Mean
from semif.calibration.plot import check_format, save
from semif.evaluation.figures.measures import Share
from semif.evaluation.report.pages.svg import FIRST, INK, SECOND, STYLE, WIDTH_INCHES

_HEIGHT_INCHES = 6.0


def write_cascade_plot(cascade: Cascade, found: CascadePoint, path: Path) -> None:
    """Accuracy above, seconds below, with their 95 % intervals, the large model alone and the point `found`.

    Without times accuracy alone.

    Raises SemifError for another ending than `plot.FORMATS`, OSError where it cannot be written.
    """
    check_format(path)
    with mpl.rc_context(STYLE | {"svg.hashsalt": "cascade"}):
        figure = Figure((WIDTH_INCHES, _HEIGHT_INCHES), layout="constrained", facecolor="white")
        seconds = [point.seconds for point in cascade.points if point.seconds is not None]
        if cascade.large_seconds is None:
            above = below = figure.subplots()
        else:
            above, below = figure.subplots(2, sharex=True)
        _curve(above, cascade.points, [point.right for point in cascade.points], cascade.large_right, found)
        above.set(ylabel="share right")
        above.legend()
        if cascade.large_seconds is not None:
            _curve(below, cascade.points, seconds, cascade.large_seconds, found)
            below.set(ylim=(0, None), ylabel="seconds of a decision")
        below.set(xlim=(0, 1), xlabel="share escalated")
        save(figure, path)


def _curve(
    axes: Axes,
    points: Sequence[CascadePoint],
    values: Sequence[Share | Mean],
    large: Share | Mean,
    found: CascadePoint,
) -> None:
    shares = [point.escalated.value for point in points]
    axes.fill_between(
        shares, [one.low for one in values], [one.high for one in values], color=FIRST, alpha=0.2, linewidth=0
    )
    axes.plot(shares, [one.value for one in values], color=FIRST, marker="o", markersize=3, label="cascade")
    axes.axhline(large.value, color=INK, linestyle="--", linewidth=1, label="the larger model alone")
    place = points.index(found)
    axes.plot(
        shares[place], values[place].value, color=SECOND, marker="o", markersize=8, linestyle="",
        label=f"escalated below {found.threshold:g}",
    )  # fmt: skip
    axes.grid()
