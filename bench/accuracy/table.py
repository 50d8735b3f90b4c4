"""The table of right answers: a line for each file, readout, layout, and with or without rotation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.accuracy.asking import LabelledQuestion, TurnAnswer, averaged
from semif_adapter.contract.wire import Layout, Readout


@dataclass(frozen=True)
class Row:
    """A line of the table. Tokens are means over the decisions, in whatever order they were asked."""

    tasks: str
    count: int
    readout: Readout
    layout: Layout
    rotated: bool
    right: int
    valid: int
    tokens: float
    computed: float
    flipped: int | None
    """How many tasks get another choice in one of the other orders; None where all orders are averaged."""


def rows(
    questions: Sequence[LabelledQuestion], answers: Sequence[TurnAnswer], readout: Readout, layout: Layout
) -> Iterator[Row]:
    """The lines of one readout and layout: each file's tasks as received and, for letters, rotated."""
    for file in _files(questions):
        by_task: dict[int, list[TurnAnswer]] = {}
        for answer in sorted(answers, key=lambda answer: answer.turn):
            if questions[answer.task].file == file:
                by_task.setdefault(answer.task, []).append(answer)
        received = [orders[0] for orders in by_task.values()]
        flipped = sum(len({answer.choice for answer in orders}) > 1 for orders in by_task.values())
        yield _row(questions, received, readout, layout, flipped)
        whole = all(
            len(orders) == len(questions[index].question.options) for index, orders in by_task.items()
        )
        if readout == "letters" and whole:
            rotated = [averaged(questions, orders) for orders in by_task.values()]
            yield _row(questions, rotated, readout, layout, None)


def _row(
    questions: Sequence[LabelledQuestion],
    answers: Sequence[TurnAnswer],
    readout: Readout,
    layout: Layout,
    flipped: int | None,
) -> Row:
    count = len(answers)
    return Row(
        tasks=questions[answers[0].task].file,
        count=count,
        readout=readout,
        layout=layout,
        rotated=flipped is None,
        right=sum(answer.choice == questions[answer.task].expected for answer in answers),
        valid=sum(answer.choice is not None for answer in answers),
        tokens=sum(answer.tokens for answer in answers) / count,
        computed=sum(answer.computed for answer in answers) / count,
        flipped=flipped,
    )


def table(questions: Sequence[LabelledQuestion], lines: Sequence[Row]) -> str:
    """The rows in Markdown, with what guessing would get for each file."""
    text = ["| tasks | readout | layout | rotated | right | valid | prompt tokens | other orders change |"]
    text.append("|---|---|---|---|---:|---:|---:|---:|")
    for row in sorted(lines, key=lambda row: row.tasks):
        flipped = "averaged away" if row.flipped is None else f"{row.flipped}"
        text.append(
            f"| {row.tasks} ({row.count}) | {row.readout} | {row.layout} | {'yes' if row.rotated else 'no'} "
            f"| {row.right} | {row.valid} | {row.tokens:.0f} | {flipped} |"
        )
    for file in _files(questions):
        chance = sum(1 / len(labelled.question.options) for labelled in questions if labelled.file == file)
        text.append(f"\nGuessing gets {chance:.0f} of {file} right.")
    return "\n".join(text)


def _files(questions: Sequence[LabelledQuestion]) -> list[str]:
    return list(dict.fromkeys(labelled.file for labelled in questions))
