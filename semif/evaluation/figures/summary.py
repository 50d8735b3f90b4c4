"""A run in numbers.

What the answers are worth counts each task once, in the order of its options as written (order 0). What it
cost to ask counts every request, further orders included.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from semif.evaluation.figures.calibration_figures import CalibrationFigures, calibration_figures
from semif.evaluation.figures.measures import Share, Spread, share_of, spread
from semif.evaluation.runs.run_file import Record

MIN_ALIKE = 10
"""Fewest tasks of which a most frequent option is told."""


@dataclass(frozen=True)
class Group:
    """The tasks of one family or kind; `name` is None for those that name none."""

    name: str | None
    answered: int
    right: Share
    """Of all tasks of the group that were asked: no answer is no right answer."""
    guessing: float
    """Share that choosing evenly among each task's options gets right on average."""


@dataclass(frozen=True)
class OrderSensitivity:
    """What the order of the options does; over the tasks that were answered in at least two orders."""

    changed: Share
    """Tasks whose choice is not the same in all orders."""
    right: tuple[tuple[int, Share], ...]
    """Each order's number, and on how many of these tasks it was right."""


@dataclass(frozen=True)
class TokenMass:
    """Share of the model's whole probability that fell on the answer letters."""

    count: int
    lowest: float
    p5: float
    p50: float


@dataclass(frozen=True)
class Wrong:
    """A task whose answer was not the expected one."""

    task: str
    family: str | None
    expected: str
    choice: str
    probability: float | None


@dataclass(frozen=True)
class FaultCount:
    """A reason for no answer: the code and HTTP status, and how many requests ended with it."""

    code: str
    status: int | None
    count: int


@dataclass(frozen=True)
class Summary:
    """All figures of a run. What no record holds is None; times are seconds."""

    answered: Share
    """Valid answers, of the tasks asked."""
    right: Share
    """Of the tasks asked: no answer is no right answer."""
    right_of_answered: Share | None
    unnamed: Share
    """Of the tasks asked: answered in words that name no option."""
    guessing: float
    most_frequent: float
    """Share that always choosing the most frequent right option gets right; see `_most_frequent`."""
    families: tuple[Group, ...]
    kinds: tuple[Group, ...]
    requests: int
    statuses: dict[str, int]
    refusals: int
    retries: int
    faults: tuple[FaultCount, ...]
    client_seconds: Spread | None
    """Of the requests that were replied to, retries and their pauses included; so are the next two."""
    server_seconds: Spread | None
    queue_seconds: Spread | None
    input_tokens: Spread | None
    input_tokens_total: int
    cached_tokens_total: int | None
    """None where no reply told it."""
    output_tokens: Spread | None
    """Where answers are words."""
    calibration: CalibrationFigures | None
    order_sensitivity: OrderSensitivity | None
    allowed_token_mass: TokenMass | None
    wrong: tuple[Wrong, ...]
    """The most confident first."""


def summarise(records: Sequence[Record]) -> Summary:
    """The figures of at least one record of order 0."""
    tasks = [record for record in records if record.order == 0]
    answered = list(filter(is_answered, tasks))
    replied = [record for record in records if is_replied(record)]
    cached = [record.cached_tokens for record in replied if record.cached_tokens is not None]
    return Summary(
        answered=_share(tasks, is_answered),
        right=_share(tasks, is_right),
        right_of_answered=_share(answered, is_right) if answered else None,
        unnamed=_share(tasks, lambda record: record.status == "unparsable"),
        guessing=_guessing(tasks),
        most_frequent=_most_frequent(tasks),
        families=grouped(tasks, lambda record: record.family),
        kinds=grouped(tasks, lambda record: record.kind),
        requests=len(records),
        statuses=dict(Counter(record.status for record in records)),
        refusals=sum(record.refusals for record in records),
        retries=sum(max(0, record.attempts - 1) for record in records),
        faults=_faults(records),
        client_seconds=_spread(record.client_seconds for record in replied),
        server_seconds=_spread(record.server_seconds for record in replied),
        queue_seconds=_spread(record.queue_seconds for record in replied),
        input_tokens=_spread(record.input_tokens for record in replied),
        input_tokens_total=sum(record.input_tokens or 0 for record in replied),
        cached_tokens_total=sum(cached) if cached else None,
        output_tokens=_spread(record.output_tokens for record in replied),
        calibration=calibration_figures(answered),
        order_sensitivity=_order_sensitivity(records),
        allowed_token_mass=_token_mass(answered),
        wrong=_wrong(answered),
    )


def _share(records: Sequence[Record], hits: Callable[[Record], bool]) -> Share:
    return share_of(list(map(hits, records)), [record.cluster for record in records])


def is_answered(record: Record) -> bool:
    """Whether the answer is one of the options."""
    return record.status == "answered"


def is_right(record: Record) -> bool:
    """Whether the expected option was chosen."""
    return record.choice == record.expected


def is_replied(record: Record) -> bool:
    """Whether a reply came in the end, be it words that name no option."""
    return record.status in {"answered", "unparsable"}


def grouped(tasks: Sequence[Record], name_of: Callable[[Record], str | None]) -> tuple[Group, ...]:
    """The tasks by what `name_of` calls each, in the order in which the names come."""
    members: dict[str | None, list[Record]] = {}
    for record in tasks:
        members.setdefault(name_of(record), []).append(record)
    return tuple(
        Group(
            name=name,
            answered=sum(map(is_answered, group)),
            right=_share(group, is_right),
            guessing=_guessing(group),
        )
        for name, group in members.items()
    )


def _guessing(records: Sequence[Record]) -> float:
    return float(np.mean([1 / len(record.option_ids) for record in records]))


def _most_frequent(records: Sequence[Record]) -> float:
    """What the option that is right most often among the tasks of a family with the same options gets right.

    Fewer than MIN_ALIKE such tasks count as guessed evenly: of a single one any option would be the most
    frequent.
    """
    alike: dict[tuple[str | None, frozenset[str]], list[str]] = {}
    for record in records:
        alike.setdefault((record.family, frozenset(record.option_ids)), []).append(record.expected)
    hits = [
        Counter(expected).most_common(1)[0][1] if len(expected) >= MIN_ALIKE else len(expected) / len(options)
        for (_, options), expected in alike.items()
    ]
    return sum(hits) / len(records)


def _faults(records: Sequence[Record]) -> tuple[FaultCount, ...]:
    counted = Counter((record.error.code, record.error.status) for record in records if record.error)
    return tuple(FaultCount(code, status, count) for (code, status), count in counted.most_common())


def _spread(values: Iterable[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    return spread(known) if known else None


def _order_sensitivity(records: Sequence[Record]) -> OrderSensitivity | None:
    by_task: dict[str, list[Record]] = {}
    for record in records:
        if record.status == "answered":
            by_task.setdefault(record.task, []).append(record)
    asked_again = [group for group in by_task.values() if len(group) > 1]
    if not asked_again:
        return None
    by_order: dict[int, list[Record]] = {}
    for record in (record for group in asked_again for record in group):
        by_order.setdefault(record.order, []).append(record)
    return OrderSensitivity(
        changed=share_of(
            [len({record.choice for record in group}) > 1 for group in asked_again],
            [group[0].cluster for group in asked_again],
        ),
        right=tuple((order, _share(group, is_right)) for order, group in sorted(by_order.items())),
    )


def _token_mass(answered: Sequence[Record]) -> TokenMass | None:
    masses = [record.allowed_token_mass for record in answered if record.allowed_token_mass is not None]
    if not masses:
        return None
    p5, p50 = (float(value) for value in np.percentile(masses, (5, 50)))
    return TokenMass(len(masses), min(masses), p5, p50)


def _wrong(answered: Sequence[Record]) -> tuple[Wrong, ...]:
    wrong_answers = [
        Wrong(record.task, record.family, record.expected, record.choice, record.choice_probability)
        for record in answered
        if record.choice is not None and not is_right(record)
    ]
    return tuple(sorted(wrong_answers, key=lambda wrong: -(wrong.probability or 0)))
