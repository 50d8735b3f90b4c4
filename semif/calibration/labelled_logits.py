"""The answers that run files hold, as calibration needs them: by prompt, with the option logits."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from semif.errors import SemifError
from semif.evaluation.figures.measures import Floats
from semif.evaluation.runs.run_file import EvaluationRun, Record, read_run
from semif_adapter.contract.wire import DecisionResponse, QuestionKind, Readout, Result

AS_WRITTEN = 0
"""The order of the options that counts: a task asked in several orders is still one task."""


@dataclass(frozen=True)
class LabelledLogits:
    """One answered task: what the softmax takes, shape (options,), and the position of the right option."""

    group: str
    """The task's group, or the task alone."""
    kind: QuestionKind | None
    logits: Floats
    expected: int


@dataclass
class LabelledAnswers:
    """All answers of one model and readout, by the version of the prompt that they were asked with."""

    model_sha256: str
    readout: Readout
    data_sha256: tuple[str, ...]
    """Of the files of tasks, sorted."""
    prompts: dict[str, list[LabelledLogits]] = field(default_factory=dict)
    left_out: int = 0
    """Tasks that got no answer."""
    rotated: int = 0
    """Answers of rotated options, which are left out: their logits are means over the orders, and the version
    of their prompt does not tell them from others."""


def read_answers(paths: Sequence[Path]) -> LabelledAnswers:
    """The answers of run files that asked one model with one readout.

    Raises SemifError for a file that is no run or holds no option logits, for another model or readout among
    them, where one task was answered twice with the same prompt, and where all answers are of rotated
    options.
    """
    asked = read_asked(paths)
    answered = [
        (run, record, adapter_result(run, record)) for run, record in asked if record.status == "answered"
    ]
    if not answered:
        raise SemifError(f"no task of {', '.join(map(str, paths))} was answered; look at the run's report")
    straight = [one for one in answered if one[2].timing.rotations == 1]
    if not straight:
        raise SemifError(
            f"all {len(answered)} answers are of rotated options (order_debiasing), and fitted is without "
            "rotation; ask the tasks again with `semif evaluate run`"
        )
    first = straight[0][2]
    labelled = LabelledAnswers(
        model_sha256=first.model.sha256,
        readout=first.readout,
        data_sha256=tuple(sorted({file.sha256 for run, _ in asked for file in run.header.tasks})),
        left_out=len(asked) - len(answered),
        rotated=len(answered) - len(straight),
    )
    seen: dict[tuple[str, ...], Path] = {}
    for run, record, result in straight:
        logits = option_logits(run, record)
        _check_same(run, result, first)
        tasks = task_files(run)
        earlier = seen.setdefault((tasks, record.task, result.prompt_version), run.path)
        if earlier is not run.path:
            raise SemifError(f"{run.path} and {earlier} answer the same tasks with one prompt; give one")
        labelled.prompts.setdefault(result.prompt_version, []).append(
            LabelledLogits(
                group=f"{tasks} {record.cluster}",
                kind=record.kind,
                logits=logits,
                expected=record.option_ids.index(record.expected),
            )
        )
    return labelled


def read_asked(paths: Sequence[Path]) -> list[tuple[EvaluationRun, Record]]:
    """What run files tell of each task as written. Raises SemifError for a file that is no run."""
    runs = [read_run(path) for path in paths]
    return [(run, record) for run in runs for record in run.records if record.order == AS_WRITTEN]


def task_files(run: EvaluationRun) -> str:
    """What tells the tasks of a run from those of another, which may have the same ids."""
    return ",".join(sorted(file.sha256 for file in run.header.tasks))


def adapter_result(run: EvaluationRun, record: Record) -> Result:
    """The adapter's own reply, which tells the model, the prompt and the readout."""
    if (result := told_result(record)) is None:
        raise _without_logits(run)
    return result


def told_result(record: Record) -> Result | None:
    """The adapter's own reply; None where another server, or nobody, answered."""
    try:
        return DecisionResponse.model_validate_json(json.dumps(record.raw)).result
    except ValidationError:
        return None


def option_logits(run: EvaluationRun, record: Record) -> Floats:
    """What the softmax takes, shape (options,), in the order of the record's `option_ids`."""
    if record.option_logits is None:
        raise _without_logits(run)
    return np.array(record.option_logits)


def _without_logits(run: EvaluationRun) -> SemifError:
    return SemifError(
        f"{run.path} holds answers without option logits (asked was a target of kind "
        f"{run.header.target.kind}); run `semif evaluate run` on an adapter or an endpoint"
    )


def _check_same(run: EvaluationRun, result: Result, first: Result) -> None:
    if result.model.sha256 != first.model.sha256:
        raise SemifError(
            f"{run.path} holds answers of the model with SHA-256 {result.model.sha256}, others are of "
            f"{first.model.sha256}; a calibration is of one model"
        )
    if result.readout != first.readout:
        raise SemifError(
            f"{run.path} holds answers by the readout {result.readout}, others are by {first.readout}; a "
            "calibration is of one readout"
        )
