"""How far runs compare, in words: by which test, and what keeps them from being compared as they stand."""

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from semif.evaluation.figures.shared_tasks import SharedTasks
from semif.evaluation.report.tables.run_facts import how_asked, is_asked, variants_note
from semif.evaluation.runs.run_file import EvaluationRun

CHANCE = 0.05
"""A p value below this is called more than chance."""
LETTERS = ascii_uppercase
"""What runs are called, in the order given."""


def tasks(count: int) -> str:
    """1 task, 2 tasks."""
    return f"{count:,} task{'' if count == 1 else 's'}"


def test_name(groups: int | None) -> str:
    """By which test accuracies differ, or do not."""
    return "McNemar's exact test" if groups is None else f"exact test over {groups:,} groups"


def caveats(runs: Sequence[EvaluationRun], shared: SharedTasks) -> tuple[str, ...]:
    """What keeps the runs from being compared as they stand."""
    return tuple(_caveats(runs, shared))


def _caveats(runs: Sequence[EvaluationRun], shared: SharedTasks) -> Iterator[str]:
    if variants := variants_note(runs[0].header):
        yield variants
    if len({frozenset(file.sha256 for file in run.header.tasks) for run in runs}) > 1:
        yield "The runs are of different files of tasks: a task of the same id may have another text."
    for letter, missing in zip(LETTERS, shared.left_out, strict=False):
        if missing:
            whose = f"that only {letter} asked" if len(runs) == 2 else f"of {letter} that not all asked"
            yield f"Left out: {tasks(missing)} {whose}."
    if shared.unlike:
        yield f"Left out: {tasks(shared.unlike)} with other options, or another expected one."
    if len({how_asked(run.header.asking) for run in runs if is_asked(run.header)}) > 1:
        yield "The runs were asked differently: their latencies do not compare."
