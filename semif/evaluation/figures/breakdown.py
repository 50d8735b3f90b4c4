"""Where a run is right and where it is not: by slice, and by option.

Counted are the tasks in the order of their options as written, each once.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from semif.evaluation.figures.measures import Share, share_of
from semif.evaluation.figures.summary import MIN_ALIKE, Group, grouped, is_right
from semif.evaluation.runs.run_file import Record


@dataclass(frozen=True)
class Slice:
    """The tasks by the value that one column has for them; a group without a name has an empty cell."""

    name: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class OptionFigures:
    """How often an option was expected and chosen."""

    option: str
    expected: int
    chosen: int
    recall: Share | None
    """Of the tasks that expect it, those that chose it; None where none does."""
    precision: Share | None
    """Of the tasks that chose it, those that expect it; None where none does."""


@dataclass(frozen=True)
class Confusion:
    """The tasks of a family that have the same options."""

    family: str | None
    options: tuple[OptionFigures, ...]
    """In the order of the first task."""
    counts: tuple[tuple[int, ...], ...]
    """A row for each expected option: how often each option was chosen, then how often no valid one was."""


@dataclass(frozen=True)
class Breakdown:
    """What a run's figures are made of."""

    slices: tuple[Slice, ...]
    confusions: tuple[Confusion, ...]
    """Where at least MIN_ALIKE tasks have the same options."""


def break_down(records: Sequence[Record]) -> Breakdown:
    """Of at least one record of order 0."""
    tasks = [record for record in records if record.order == 0]
    alike: dict[tuple[str | None, frozenset[str]], list[Record]] = {}
    for record in tasks:
        alike.setdefault((record.family, frozenset(record.option_ids)), []).append(record)
    return Breakdown(
        slices=tuple(_slices(tasks)),
        confusions=tuple(_confusion(same) for same in alike.values() if len(same) >= MIN_ALIKE),
    )


def _slices(tasks: Sequence[Record]) -> list[Slice]:
    names = dict.fromkeys(name for record in tasks for name in record.slices or {})
    return [Slice(name, grouped(tasks, partial(_value, name))) for name in names]


def _value(name: str, record: Record) -> str | None:
    return (record.slices or {}).get(name)


def _confusion(tasks: Sequence[Record]) -> Confusion:
    names = tasks[0].option_ids
    counted = Counter((record.expected, record.choice) for record in tasks)
    return Confusion(
        family=tasks[0].family,
        options=tuple(_figures(tasks, name) for name in names),
        counts=tuple(tuple(counted[expected, chosen] for chosen in (*names, None)) for expected in names),
    )


def _figures(tasks: Sequence[Record], option: str) -> OptionFigures:
    expected = [record for record in tasks if record.expected == option]
    chosen = [record for record in tasks if record.choice == option]
    return OptionFigures(option, len(expected), len(chosen), _right(expected), _right(chosen))


def _right(records: Sequence[Record]) -> Share | None:
    if not records:
        return None
    return share_of(list(map(is_right, records)), [record.cluster for record in records])
