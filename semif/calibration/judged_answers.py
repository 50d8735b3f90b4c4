"""The answers that run files hold, as thresholds need them: how probable the choice, and whether right."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from semif.calibration.labelled_logits import (
    adapter_result,
    option_logits,
    read_asked,
    task_files,
    told_result,
)
from semif.calibration.thresholds import JudgedAnswer
from semif.client.values.wording import Wording
from semif.errors import SemifError, shown
from semif.evaluation.runs.run_file import EvaluationRun, Record
from semif.policy import Answerer
from semif_adapter.archive.calibration import LoadedCalibration
from semif_adapter.contract.probabilities import softmax


@dataclass(frozen=True)
class JudgedAnswers:
    """Answers to the tasks of run files, and what they were chosen from."""

    answers: tuple[JudgedAnswer, ...]
    option_sets: frozenset[frozenset[str]]
    families: tuple[str, ...]
    """Of all tasks that were asked, sorted."""
    wordings: frozenset[Wording | None]
    """Of the questions answered; None for one whose run does not tell it."""
    answerers: frozenset[Answerer | None]
    """Who answered; None for an answer that tells no model by its hash."""
    left_out: int
    """Tasks that got no answer."""


def read_judged(
    paths: Sequence[Path], *, family: str | None, calibration: LoadedCalibration | None
) -> JudgedAnswers:
    """The answers to tasks as written, of `family` alone where it is given.

    Their probabilities are those answered, or with `calibration` what it makes of the logits. Raises
    SemifError where a run tells no probabilities, a task was answered twice, several models answered, or the
    calibration is of another model or prompt.
    """
    asked = read_asked(paths)
    _check_one_asking(asked)
    if calibration is None:
        _check_one_calibration(asked)
    families = tuple(sorted({record.family for _, record in asked if record.family}))
    if family is not None:
        if family not in families:
            known = ", ".join(families) or "none"
            raise SemifError(f"no task is of the family {shown(family)}, there are {known}")
        asked = [(run, record) for run, record in asked if record.family == family]
    answered = [(run, record) for run, record in asked if record.status == "answered"]
    return JudgedAnswers(
        answers=tuple(_judged(run, record, calibration) for run, record in answered),
        option_sets=frozenset(frozenset(record.option_ids) for _, record in answered),
        families=families,
        wordings=frozenset(_wording(record) for _, record in answered),
        answerers=frozenset(_answerer(record, calibration) for _, record in answered),
        left_out=len(asked) - len(answered),
    )


def _check_one_asking(asked: Sequence[tuple[EvaluationRun, Record]]) -> None:
    """A threshold is one of one model, and a task counts once."""
    models = {_model(run): run.path for run, _ in asked}
    if len(models) > 1:
        raise SemifError(
            f"{' and '.join(map(str, models.values()))} hold answers of different models; a threshold is of "
            "one model"
        )
    seen: dict[tuple[str, str], Path] = {}
    for run, record in asked:
        earlier = seen.setdefault((task_files(run), record.task), run.path)
        if earlier is not run.path:
            raise SemifError(f"{run.path} and {earlier} answer the same tasks; give one")


def _check_one_calibration(asked: Sequence[tuple[EvaluationRun, Record]]) -> None:
    """The same probability means another thing after another temperature."""
    files = {run.header.pins.calibration: run.path for run, _ in asked}
    if len(files) > 1:
        raise SemifError(
            f"{' and '.join(map(str, files.values()))} hold probabilities of different calibrations; give "
            "--calibration, which is applied to all"
        )


def _model(run: EvaluationRun) -> str | None:
    pins = run.header.pins
    return pins.model.sha256 if pins.model else pins.model_name


def _wording(record: Record) -> Wording | None:
    if record.question_sha256 is None or record.options_sha256 is None:
        return None
    return Wording(record.question_sha256, record.options_sha256)


def _answerer(record: Record, calibration: LoadedCalibration | None) -> Answerer | None:
    """Who answered, with the calibration that the thresholds will be applied after."""
    result = told_result(record)
    if result is None:
        return None
    applied = result.calibration.sha256 if result.calibration else None
    return Answerer(
        model_sha256=result.model.sha256,
        calibration_sha256=calibration.sha256 if calibration else applied,
        prompt_version=result.prompt_version,
    )


def _judged(run: EvaluationRun, record: Record, calibration: LoadedCalibration | None) -> JudgedAnswer:
    probabilities = record.probabilities
    if calibration is not None:
        probabilities = _calibrated(run, record, calibration)
    probability = record.confidence if probabilities is None else max(probabilities)
    if probability is None:
        kind = run.header.target.kind
        there = ""
        if kind == "predictions":
            there = "; `semif evaluate import` takes them along by --probabilities or --confidence"
        raise SemifError(
            f"{run.path} holds answers without probabilities (asked was a target of kind {kind}), which "
            f"have no threshold{there}"
        )
    return JudgedAnswer(
        probability=probability,
        right=record.choice == record.expected,
        group=f"{task_files(run)} {record.cluster}",
    )


def _calibrated(run: EvaluationRun, record: Record, calibration: LoadedCalibration) -> tuple[float, ...]:
    result = adapter_result(run, record)
    applied = calibration.applied(result.prompt_version, kind=None)
    if result.model.sha256 != calibration.content.model_sha256 or applied is None:
        raise SemifError(
            f"{run.path} holds answers of the model {result.model.sha256} and the prompt "
            f"{result.prompt_version}, {calibration.name} is not for these; fit it on such a run"
        )
    return tuple(softmax(option_logits(run, record), applied.temperature).tolist())
