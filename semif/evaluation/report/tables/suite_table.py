"""Runs of a suite beside what others published of it, where that compares."""

from collections.abc import Iterator, Mapping

from semif.errors import printable
from semif.evaluation.figures.measures import share
from semif.evaluation.figures.summary import Summary
from semif.evaluation.report.tables.cells import (
    NONE,
    ForeignText,
    duration,
    foreign_text,
    interval,
    part_of_whole,
    percent,
)
from semif.evaluation.report.tables.table import ReportTable
from semif.evaluation.runs.run_file import RunHeader
from semif.evaluation.tasks.suite import Suite


def suite_tables(runs: Mapping[str, tuple[RunHeader, Summary]]) -> Iterator[ReportTable]:
    """The table of `runs`, by their titles, if all are of the same suite; none otherwise.

    What was published is of the whole suite, and shown beside runs of the whole suite alone.
    """
    suites = {header.suite for header, _ in runs.values()}
    suite = suites.pop()
    if suite is None or suites:
        return
    rows = [_row(title, header, summary) for title, (header, summary) in runs.items()]
    asked = min(summary.right.whole for _, summary in runs.values())
    if asked == suite.tasks:
        rows += _published(suite)
    yield ReportTable(
        f"Suite {ForeignText(suite.name)}, {asked:,} of {suite.tasks:,} tasks",
        ("", "prompt", "right", "share", "95% interval", "client p50", "client p95"),
        tuple(rows),
        words=2,
        note=printable(suite.caveat) if asked == suite.tasks else _incomplete(suite, runs),
    )


def _row(title: str, header: RunHeader, summary: Summary) -> tuple[str, ...]:
    right, spread = summary.right, summary.client_seconds
    return (
        title,
        foreign_text(header.pins.prompt_version),
        part_of_whole(right),
        percent(right.value),
        interval(right),
        duration(spread.p50) if spread else NONE,
        duration(spread.p95) if spread else NONE,
    )


def _published(suite: Suite) -> Iterator[tuple[str, ...]]:
    for one in suite.published:
        right = share(one.right, suite.tasks)
        yield (
            ForeignText(f"published: {one.by}"),
            ForeignText(one.prompt),
            part_of_whole(right),
            percent(right.value),
            interval(right),
            duration(one.client_p50_seconds),
            duration(one.client_p95_seconds),
        )


def _incomplete(suite: Suite, runs: Mapping[str, tuple[RunHeader, Summary]]) -> str:
    """What of the suite was not asked, as a sentence."""
    given = set.intersection(*({file.sha256 for file in header.tasks} for header, _ in runs.values()))
    missing = [ForeignText(file.name) for file in suite.files if file.sha256 not in given]
    without = f", without {', '.join(missing)}" if missing else ""
    return (
        f"Not the whole suite{without}: what was published of all of it does not compare, and is not shown."
    )
