"""The reliability of the probabilities before and after, as a picture."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from semif.calibration.fit import PromptFit
from semif.errors import SemifError
from semif.evaluation.measures import BINS, Bin
from semif_adapter.calibration import Figures

FORMATS = (".png", ".svg")
_BLUE, _GREY, _INK = "#2f6db5", "#b9c2cc", "#2b3138"


def write_reliability_plot(fits: Sequence[PromptFit], path: Path) -> None:
    """Two diagrams a prompt: how often the choice was right, against how probable it was said to be.

    Raises SemifError for another ending than FORMATS, OSError where it cannot be written.
    """
    if path.suffix not in FORMATS:
        raise SemifError(f"{path} must end in {' or '.join(FORMATS)}")
    figure = Figure(figsize=(8, 4.7 * len(fits)), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(fits), 2, sharex=True, sharey=True, squeeze=False)
    for row, fit in zip(axes, fits, strict=True):
        found = fit.calibration
        _diagram(row[0], f"{found.prompt_version}\nas the model says", fit.before, found.before)
        after = f"temperature {found.temperature:g}\nout of fold, {found.tasks} tasks"
        _diagram(row[1], after, fit.after, found.after)
        row[0].set_ylabel("share of right choices")
    for below in axes[-1]:
        below.set_xlabel("probability of the choice; below the bars: tasks")
    figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def _diagram(axes: Axes, title: str, bins: Sequence[Bin], figures: Figures) -> None:
    """Bars of the share of right choices with their intervals; the diagonal is perfect."""
    axes.plot([0, 1], [0, 1], color=_INK, linewidth=1, linestyle=(0, (4, 3)))
    middles = [(one.low + one.high) / 2 for one in bins]
    values = [one.right.value for one in bins]
    axes.bar(middles, values, width=0.94 / BINS, color=_GREY, zorder=1)
    axes.errorbar(
        [one.confidence for one in bins],
        values,
        yerr=[
            [one.right.value - one.right.low for one in bins],
            [one.right.high - one.right.value for one in bins],
        ],
        fmt="o",
        color=_BLUE,
        markersize=5,
        linewidth=1.2,
    )
    for middle, one in zip(middles, bins, strict=True):
        axes.annotate(f"{one.right.whole}", (middle, -0.05), ha="center", fontsize=7.5, color=_INK)
    told = f"ECE {figures.ece:.3f}, Brier {figures.brier:.3f}, log loss {figures.log_loss:.3f}"
    axes.set_title(f"{title}\n{told}", fontsize=10)
    axes.set(xlim=(0, 1), ylim=(-0.07, 1), yticks=[0, 0.2, 0.4, 0.6, 0.8, 1], aspect="equal")
    axes.spines[["top", "right"]].set_visible(False)
