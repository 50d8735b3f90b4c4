"""`python -m bench.accuracy`: how many labelled tasks a model gets right, by readout, layout, rotation.

Every task is asked through the System One mapping, one at a time, in process: with letters once for each
rotation of its options; with the text readout, which lists no options, in the order received and one other.
`order_debiasing` averages the rotations, so its figures follow from the same prompts (a test holds that these
are the adapter's own). Prints a table in Markdown and writes it, with every answer as JSON, to
`.semif/bench/quality/`. Nothing is asserted, whatever is right.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np
from rich.progress import Progress

from bench.engine.measuring.workloads import ROUTING
from bench.engine.run import find_gguf
from semif.errors import SemifError
from semif.evaluation.runs.labelled_tasks import read_tasks
from semif.project.root import project_root
from semif.serve.local_adapter import library_folder
from semif_adapter.contract.errors import EngineError, StartupError
from semif_adapter.contract.question import Question
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import MAX_ROTATED_OPTIONS, Layout, Readout, Result
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.systemone.parse import parse_system_one
from semif_adapter.forms.systemone.questions import to_questions
from semif_adapter.forms.systemone.types import SystemOneInvocation

CONTEXT_TOKENS = 4096
READOUTS: tuple[Readout, ...] = get_args(Readout)
LAYOUTS: tuple[Layout, ...] = get_args(Layout)


@dataclass(frozen=True)
class LabelledQuestion:
    """A labelled question; `file` is the name of the file that holds it."""

    file: str
    question: Question
    expected: str


@dataclass(frozen=True)
class TurnAnswer:
    """What a task got in one order of its options: that which begins with option `turn`."""

    task: int
    turn: int
    choice: str | None
    """The most probable option; None where the answer was not a valid one."""
    logits: tuple[float, ...]
    """In the order received."""
    tokens: int
    computed: int


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


def questions_of(path: Path) -> list[LabelledQuestion]:
    """A file's tasks as the adapter asks them in System One's form. Raises SemifError."""
    tasks = []
    for task in read_tasks(path):
        body = {"state": task.state, "questions": {"q": task.system_one()}}
        (question,) = to_questions(parse_system_one(body, SystemOneInvocation, max_questions=1))
        tasks.append(LabelledQuestion(path.stem, question, task.expected))
    return tasks


def plan(tasks: Sequence[LabelledQuestion], readout: Readout, layout: Layout) -> list[tuple[int, int]]:
    """Pairs of a task and the option that its list begins with; those that share a prefix stand together."""
    pairs = []
    for index, task in enumerate(tasks):
        count = len(task.question.options)
        orders = count if readout == "letters" and count <= MAX_ROTATED_OPTIONS else 2
        pairs += [(index, turn) for turn in range(orders)]
    if layout == "state-first":
        return pairs

    def schema(pair: tuple[int, int]) -> str:
        index, turn = pair
        question = tasks[index].question
        return repr((question.text, question.options, turn))

    return sorted(pairs, key=schema)


def ask(
    engine: Engine, tasks: Sequence[LabelledQuestion], index: int, turn: int, layout: Layout
) -> TurnAnswer:
    """The answer to a task with its options turned."""
    question = tasks[index].question
    options = question.options[turn:] + question.options[:turn]
    try:
        [result], _ = engine.score([replace(question, options=options)], layout)
    except EngineError:
        return TurnAnswer(index, turn, None, (), 0, 0)
    choice = result.option_ids[int(np.argmax(result.probabilities))] if is_valid(result, question) else None
    return TurnAnswer(
        index,
        turn,
        choice,
        tuple(np.roll(result.option_logits, turn).tolist()),
        result.input_tokens,
        result.input_tokens - result.cached_tokens,
    )


def is_valid(result: Result, question: Question) -> bool:
    """Whether there is a probability for each option, and they add up to 1."""
    return len(result.probabilities) == len(question.options) and math.isclose(
        sum(result.probabilities), 1, abs_tol=1e-6
    )


def rows(
    tasks: Sequence[LabelledQuestion], answers: Sequence[TurnAnswer], readout: Readout, layout: Layout
) -> Iterator[Row]:
    """The lines of one readout and layout: each file's tasks as received and, for letters, rotated."""
    for file in dict.fromkeys(task.file for task in tasks):
        by_task: dict[int, list[TurnAnswer]] = {}
        for answer in sorted(answers, key=lambda answer: answer.turn):
            if tasks[answer.task].file == file:
                by_task.setdefault(answer.task, []).append(answer)
        received = [found[0] for found in by_task.values()]
        flipped = sum(len({answer.choice for answer in found}) > 1 for found in by_task.values())
        yield _row(tasks, received, readout, layout, flipped)
        whole = all(len(found) == len(tasks[index].question.options) for index, found in by_task.items())
        if readout == "letters" and whole:
            yield _row(tasks, [averaged(tasks, found) for found in by_task.values()], readout, layout, None)


def averaged(tasks: Sequence[LabelledQuestion], orders: Sequence[TurnAnswer]) -> TurnAnswer:
    """The answer over all `orders` of one task, as `order_debiasing` gives it."""
    first = orders[0]
    options = tasks[first.task].question.options
    logits, choice = np.zeros(0), None
    if all(answer.choice is not None for answer in orders):
        logits = np.mean([answer.logits for answer in orders], axis=0)
        choice = options[int(np.argmax(logits))].id
    return TurnAnswer(
        first.task,
        0,
        choice,
        tuple(logits.tolist()),
        sum(answer.tokens for answer in orders),
        sum(answer.computed for answer in orders),
    )


def _row(
    tasks: Sequence[LabelledQuestion],
    answers: Sequence[TurnAnswer],
    readout: Readout,
    layout: Layout,
    flipped: int | None,
) -> Row:
    count = len(answers)
    return Row(
        tasks=tasks[answers[0].task].file,
        count=count,
        readout=readout,
        layout=layout,
        rotated=flipped is None,
        right=sum(answer.choice == tasks[answer.task].expected for answer in answers),
        valid=sum(answer.choice is not None for answer in answers),
        tokens=sum(answer.tokens for answer in answers) / count,
        computed=sum(answer.computed for answer in answers) / count,
        flipped=flipped,
    )


def table(tasks: Sequence[LabelledQuestion], lines: Sequence[Row]) -> str:
    """The rows in Markdown, with what guessing would get for each file."""
    text = ["| tasks | readout | layout | rotated | right | valid | prompt tokens | other orders change |"]
    text.append("|---|---|---|---|---:|---:|---:|---:|")
    for row in sorted(lines, key=lambda row: row.tasks):
        flipped = "averaged away" if row.flipped is None else f"{row.flipped}"
        text.append(
            f"| {row.tasks} ({row.count}) | {row.readout} | {row.layout} | {'yes' if row.rotated else 'no'} "
            f"| {row.right} | {row.valid} | {row.tokens:.0f} | {flipped} |"
        )
    for file in dict.fromkeys(task.file for task in tasks):
        chance = sum(1 / len(task.question.options) for task in tasks if task.file == file)
        text.append(f"\nGuessing gets {chance:.0f} of {file} right.")
    return "\n".join(text)


def measure(arguments: argparse.Namespace) -> str:
    """Ask everything, write the answers; the table. Raises SemifError, StartupError, OSError."""
    tasks = [task for path in arguments.tasks for task in questions_of(path)]
    gguf, library_dir = find_gguf(arguments.model), library_folder()
    lines: list[Row] = []
    kept = []
    with Progress(transient=True) as progress:
        for readout in arguments.readout:
            settings = Settings.model_validate(
                {
                    "gguf": gguf,
                    "library_dir": library_dir,
                    "readout": readout,
                    "context_tokens": CONTEXT_TOKENS,
                }
            )
            with closing(Engine.load(settings)) as engine:
                for layout in arguments.layout:
                    pairs = plan(tasks, readout, layout)
                    asked = progress.track(pairs, description=f"{readout}, {layout}")
                    answers = [ask(engine, tasks, index, turn, layout) for index, turn in asked]
                    lines += rows(tasks, answers, readout, layout)
                    kept.append({"readout": readout, "layout": layout, "answers": list(map(asdict, answers))})
    text = table(tasks, lines)
    arguments.output.mkdir(parents=True, exist_ok=True)
    name = Path(arguments.model).stem
    report = {"model": name, "rows": list(map(asdict, lines)), "runs": kept}
    (arguments.output / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    (arguments.output / f"{name}.md").write_text(text + "\n")
    return text


def main() -> int:
    """Parse, ask, report."""
    parser = argparse.ArgumentParser(prog="bench.accuracy", description=__doc__)
    parser.add_argument(
        "--model", default="embedded", help="a preset, a GGUF's path, or a name of bench.models.random_models"
    )
    parser.add_argument(
        "--tasks",
        type=Path,
        nargs="+",
        default=[ROUTING],
        help="files of labelled tasks, as JSON Lines; each gets lines of its own in the table",
    )
    parser.add_argument("--readout", nargs="+", choices=READOUTS, default=READOUTS)
    parser.add_argument("--layout", nargs="+", choices=LAYOUTS, default=LAYOUTS)
    parser.add_argument(
        "--output",
        type=Path,
        default=project_root() / ".semif" / "bench" / "quality",
        help="folder to write to",
    )
    try:
        print(measure(parser.parse_args()))
    except (SemifError, StartupError, OSError) as error:
        print(f"bench.accuracy: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
