"""A comparison of two runs as a page."""

from collections.abc import Iterator

from semif.evaluation.figures.compare import Comparison
from semif.evaluation.figures.shared_tasks import SharedTasks
from semif.evaluation.figures.summary import is_replied
from semif.evaluation.report.pages.page import Tile, page
from semif.evaluation.report.pages.pictures import (
    accuracy_picture,
    latency_picture,
    reliability_picture,
    tokens_picture,
)
from semif.evaluation.report.pages.svg import Picture
from semif.evaluation.report.tables.cells import ForeignText, duration, interval, percent
from semif.evaluation.report.tables.comparability import caveats, test_name
from semif.evaluation.report.tables.compare_tables import comparison_tables, ratio, verdict
from semif.evaluation.report.tables.run_facts import is_asked
from semif.evaluation.runs.run_file import EvaluationRun


def comparison_page(
    first: EvaluationRun, second: EvaluationRun, shared: SharedTasks, comparison: Comparison
) -> str:
    """The page; see `page`."""
    *tables, differences = comparison_tables(first, second, comparison)
    timed = is_asked(first.header) and is_asked(second.header)
    return page(
        title=f"{ForeignText(first.path.stem)} against {ForeignText(second.path.stem)}",
        lead=verdict(comparison),
        warnings=caveats((first, second), shared),
        tiles=tuple(_tiles(comparison, timed=timed)),
        pictures=tuple(_pictures((first.path.stem, second.path.stem), shared, comparison, timed=timed)),
        tables=tables,
        lists=(differences,) if comparison.differences else (),
        command="semif evaluate compare",
    )


def _tiles(comparison: Comparison, *, timed: bool) -> Iterator[Tile]:
    one, other = comparison.first, comparison.second
    yield Tile("right, A", percent(one.right.value), interval(one.right))
    yield Tile("right, B", percent(other.right.value), interval(other.right))
    differ = f"{len(comparison.differences):,} choices differ"
    yield Tile(test_name(comparison.groups), f"p = {comparison.p_value:.3g}", differ)
    if timed and one.client_seconds is not None and other.client_seconds is not None:
        for title, here, there in (
            ("p50", one.client_seconds.p50, other.client_seconds.p50),
            ("p95", one.client_seconds.p95, other.client_seconds.p95),
        ):
            yield Tile(f"{title}, B / A", ratio(here, there), f"{duration(here)} → {duration(there)}")


def _pictures(
    stems: tuple[str, str], shared: SharedTasks, comparison: Comparison, *, timed: bool
) -> Iterator[Picture]:
    titles = (f"A {stems[0]}", f"B {stems[1]}")
    yield accuracy_picture(
        dict(zip(titles, (comparison.first.families, comparison.second.families), strict=True))
    )
    one, other = comparison.first.calibration, comparison.second.calibration
    if one is not None and other is not None:
        yield reliability_picture(dict(zip(titles, (one.bins, other.bins), strict=True)))
    if not timed:
        return
    replied = [list(filter(is_replied, records)) for records in shared.records]
    if all(replied):
        times = ([record.client_seconds for record in records] for records in replied)
        yield latency_picture(dict(zip(titles, times, strict=True)))
    points = [
        [
            (record.input_tokens, record.client_seconds)
            for record in records
            if record.input_tokens is not None
        ]
        for records in replied
    ]
    if all(points):
        yield tokens_picture(dict(zip(titles, points, strict=True)))
