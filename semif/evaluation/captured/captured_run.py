"""Captured tasks that were labelled, as a run: the answers that callers got, judged without asking again."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue, ValidationError

from semif.errors import SemifError
from semif.evaluation.asking.forms import RequestForm, no_answer
from semif.evaluation.asking.forms.decision import DecisionForm
from semif.evaluation.asking.forms.system_one import SystemOneForm
from semif.evaluation.runs.new_run import new_header
from semif.evaluation.runs.run_file import Asking, Pins, Record, TargetName
from semif.evaluation.runs.run_writer import open_run
from semif.evaluation.runs.task_record import record_of
from semif.evaluation.tasks.labelled_tasks import LabelledTask, TaskSet
from semif.evaluation.tasks.lines_error import LinesError
from semif.evaluation.tasks.option_orders import OrderedTask
from semif_adapter.contract.wire import WireModel


class CapturedAnswer(WireModel):
    """What `semif evaluate captured` writes beside a task."""

    time: datetime
    reply: dict[str, JsonValue] | None
    """The reply to this question alone, as its form has it; None where it was not captured or is not ours."""


def write_captured_run(tasks: TaskSet, output: Path) -> None:
    """Write the answers of `tasks` as the run file `output`; goes on where one of the same tasks is there.

    The time of an answer is the container's own: nobody measured the caller's. Raises LinesError for
    tasks that were not captured, SemifError where several models answered, and as `open_run` does.
    """
    answers = _answers(tasks)
    target = TargetName(kind="endpoint", name="captured: callers asked, and not this run")
    header = new_header((tasks,), target, _pins(tasks, answers), Asking())
    with open_run(output, header) as run:
        there = {record.task for record in run.earlier}
        for record in _records(tasks, answers):
            if record.task not in there:
                run.append(record)


def _answers(tasks: TaskSet) -> dict[str, CapturedAnswer]:
    """By task. Raises LinesError."""
    answers: dict[str, CapturedAnswer] = {}
    problems: list[tuple[int, str]] = []
    for number, task in enumerate(tasks.tasks, 1):
        try:
            answers[task.id] = CapturedAnswer.model_validate_json(json.dumps(task.captured))
        except ValidationError:
            problems.append((number, "no `captured` as `semif evaluate captured` writes it"))
    if problems:
        raise LinesError(tasks.path, problems, ("ask them by `semif evaluate run`",), each="task")
    return answers


def _form(task: LabelledTask) -> RequestForm:
    return DecisionForm() if task.published is None else SystemOneForm()


def _pins(tasks: TaskSet, answers: dict[str, CapturedAnswer]) -> Pins:
    """Of the model that answered. Raises SemifError where there are several: a run is of one."""
    told = [
        _form(task).pins(json.dumps(answers[task.id].reply).encode())
        for task in tasks.tasks
        if answers[task.id].reply is not None
    ]
    names, files = {pins.model_name for pins in told}, {pins.model.sha256 for pins in told if pins.model}
    if len(names) > 1 or len(files) > 1:
        raise SemifError(
            f"{tasks.path} holds answers of {max(len(names), len(files))} models, a run is of one; keep the "
            "lines of one, or ask all tasks again with `semif evaluate run`"
        )
    # System One's replies tell less than those of decisions, which so come first.
    return next((pins for pins in told if pins.model is not None), told[0] if told else Pins())


def _records(tasks: TaskSet, answers: dict[str, CapturedAnswer]) -> Iterator[Record]:
    for task in tasks.tasks:
        answer = answers[task.id]
        ordered = OrderedTask(task, 0, task.options)
        content = (
            no_answer("the reply was not captured")
            if answer.reply is None
            else _form(task).read(ordered, json.dumps(answer.reply).encode())
        )
        yield record_of(
            ordered,
            content,
            asked=answer.time,
            client_seconds=content.server_seconds or 0.0,
            raw=answer.reply,
        )
