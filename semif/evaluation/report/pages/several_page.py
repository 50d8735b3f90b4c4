"""Several runs as a page."""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure

from semif.evaluation.figures.several import Several
from semif.evaluation.figures.shared_tasks import SharedTasks
from semif.evaluation.figures.summary import Summary
from semif.evaluation.report.pages.page import Tile, page
from semif.evaluation.report.pages.pictures import LEAST_SECONDS, MAX_LABEL, seconds_axis
from semif.evaluation.report.pages.svg import FIRST, INK, SECOND, Picture, picture
from semif.evaluation.report.tables.cells import ForeignText, duration, interval, percent
from semif.evaluation.report.tables.comparability import caveats
from semif.evaluation.report.tables.run_facts import is_asked
from semif.evaluation.report.tables.several_tables import choices_table, run_names, several_tables, verdicts
from semif.evaluation.runs.run_file import EvaluationRun


def several_page(runs: Sequence[EvaluationRun], shared: SharedTasks, several: Several) -> str:
    """The page; see `page`. A run is a row of each picture: colours would not tell so many apart."""
    titles = [name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}…" for name in run_names(runs)]
    choices = choices_table(shared)
    return page(
        title=f"{ForeignText(runs[0].path.stem)} and {len(runs) - 1} other runs",
        lead=" ".join(verdicts(runs, several)),
        warnings=caveats(runs, shared),
        tiles=[
            Tile(f"right, {title}", percent(one.right.value), interval(one.right))
            for title, one in zip(titles, several.summaries, strict=True)
        ],
        pictures=tuple(_pictures(runs, titles, several)),
        tables=several_tables(runs, several),
        lists=(choices,) if choices.rows else (),
        command="semif evaluate compare",
    )


def _pictures(runs: Sequence[EvaluationRun], titles: Sequence[str], several: Several) -> Iterator[Picture]:
    yield _right_picture(dict(zip(titles, several.summaries, strict=True)))
    timed = {
        title: (one.client_seconds.p50, one.client_seconds.p95)
        for title, run, one in zip(titles, runs, several.summaries, strict=True)
        if is_asked(run.header) and one.client_seconds is not None
    }
    if timed:
        yield _seconds_picture(timed)


def _right_picture(summaries: dict[str, Summary]) -> Picture:
    """Each run's share of right answers with its interval; a line where the first one's is."""
    rights = [one.right for one in summaries.values()]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        rows = range(len(rights) - 1, -1, -1)
        colours = [FIRST, *[SECOND] * (len(rights) - 1)]
        axes.axvline(rights[0].value, color=FIRST, linestyle="--", linewidth=1)
        axes.axvline(next(iter(summaries.values())).guessing, color=INK, linestyle=":", linewidth=1)
        axes.hlines(rows, [one.low for one in rights], [one.high for one in rights], colors=colours, lw=2)
        axes.scatter([one.value for one in rights], rows, c=colours, s=36, zorder=3)
        axes.set(xlim=(-0.02, 1.03), ylim=(-0.6, len(rights) - 0.4))
        axes.set_xlabel("share right, 95% interval; dashed: A, dotted: guessing")
        axes.set_yticks(rows, list(summaries))
        axes.grid(axis="x")

    figures = "; ".join(
        f"{title} {percent(one.right.value)} ({interval(one.right)})" for title, one in summaries.items()
    )
    return picture("Right answers", f"Share of right answers. {figures}.", draw, _height(len(rights)))


def _seconds_picture(timed: dict[str, tuple[float, float]]) -> Picture:
    """From each run's median latency to its 95th percentile, on a logarithmic axis."""
    spans = np.maximum(list(timed.values()), LEAST_SECONDS)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        rows = range(len(spans) - 1, -1, -1)
        axes.hlines(rows, spans[:, 0], spans[:, 1], color=FIRST, linewidth=2)
        axes.scatter(spans[:, 0], rows, c=FIRST, s=36, zorder=3, label="p50")
        axes.scatter(spans[:, 1], rows, c=FIRST, s=36, zorder=3, marker="|", label="p95")
        axes.set_xscale("log")
        low, high = float(spans.min()) * 0.8, float(spans.max()) * 1.25
        axes.set(xlim=(low, high), ylim=(-0.6, len(spans) - 0.4))
        seconds_axis(axes.xaxis, low, high)
        axes.set_xlabel("client latency: dot p50, bar p95")
        axes.set_yticks(rows, list(timed))
        axes.grid(axis="x")

    figures = "; ".join(
        f"{title}: p50 {duration(p50)}, p95 {duration(p95)}" for title, (p50, p95) in timed.items()
    )
    return picture("Latency", f"Client latency, p50 to p95. {figures}.", draw, _height(len(spans)))


def _height(rows: int) -> float:
    return 1.3 + 0.34 * rows
