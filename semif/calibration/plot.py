"""The reliability of the probabilities before and after, as a picture in a file."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from semif.calibration.fit import PromptFit
from semif.errors import SemifError
from semif.evaluation.report.pages.pictures import draw_reliability
from semif.evaluation.report.pages.svg import STYLE, WIDTH_INCHES

FORMATS = (".png", ".svg")
_HEIGHT_INCHES = 4.6
"""Of a prompt's diagram."""


def write_reliability_plot(fits: Sequence[PromptFit], path: Path) -> None:
    """A diagram a prompt: how often the choice was right, against how probable it was said to be.

    Raises SemifError for another ending than FORMATS, OSError where it cannot be written.
    """
    check_format(path)
    with mpl.rc_context(STYLE | {"svg.hashsalt": "reliability"}):
        figure = Figure((WIDTH_INCHES, _HEIGHT_INCHES * len(fits)), layout="constrained", facecolor="white")
        parts = figure.subfigures(len(fits), 1, squeeze=False)
        for part, fit in zip(parts[:, 0], fits, strict=True):
            part.suptitle(_title(fit), fontsize=10)
            temperature = f"temperature {fit.calibration.temperature:g}"
            draw_reliability(part, {"as the model says": fit.before, temperature: fit.after})
        save(figure, path)


def check_format(path: Path) -> None:
    """Raises SemifError for another ending than FORMATS."""
    if path.suffix not in FORMATS:
        raise SemifError(f"{path} must end in {' or '.join(FORMATS)}")


def save(figure: Figure, path: Path) -> None:
    """The same bytes for the same picture: neither a day nor a version in it."""
    figure.savefig(path, dpi=110, metadata={"Date" if path.suffix == ".svg" else "Software": None})


def _title(fit: PromptFit) -> str:
    calibration = fit.calibration
    before, after = calibration.before, calibration.after
    return (
        f"{calibration.prompt_version}, {calibration.tasks} tasks, out of fold\n"
        f"ECE {before.ece:.3f} → {after.ece:.3f}, Brier {before.brier:.3f} → {after.brier:.3f}, "
        f"log loss {before.log_loss:.3f} → {after.log_loss:.3f}"
    )
