"""The answers that run files hold, as thresholds need them: how probable the choice, and whether right."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semif.calibration.answers import AS_WRITTEN, adapter_result
from semif.calibration.thresholds import Judged
from semif.errors import SemifError, shown
from semif.evaluation.run_file import Record, Run, read_run
from semif_adapter.calibration import LoadedCalibration
from semif_adapter.readout import softmax


@dataclass(frozen=True)
class JudgedAnswers:
    """Answers to the tasks of run files, and what they were chosen from."""

    answers: tuple[Judged, ...]
    option_sets: frozenset[frozenset[str]]
    families: tuple[str, ...]
    """Of all tasks that were asked, sorted."""
    left_out: int
    """Tasks that got no answer."""


def read_judged(
    paths: Sequence[Path], *, family: str | None, calibration: LoadedCalibration | None
) -> JudgedAnswers:
    """The answers to tasks as written, of `family` alone where it is given.

    Their probabilities are those answered, or with `calibration` what it makes of the logits. Raises
    SemifError where a run tells no probabilities, or the calibration is of another model or prompt.
    """
    runs = [read_run(path) for path in paths]
    asked = [(run, record) for run in runs for record in run.records if record.order == AS_WRITTEN]
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
        left_out=len(asked) - len(answered),
    )


def _judged(run: Run, record: Record, calibration: LoadedCalibration | None) -> Judged:
    probabilities = record.probabilities
    if calibration is not None:
        probabilities = _calibrated(run, record, calibration)
    if probabilities is None:
        raise SemifError(
            f"{run.path} holds answers without probabilities (asked was a target of kind "
            f"{run.header.target.kind}), which have no threshold"
        )
    return Judged(
        probability=max(probabilities),
        right=record.choice == record.expected,
        group=record.group or record.task,
    )


def _calibrated(run: Run, record: Record, calibration: LoadedCalibration) -> tuple[float, ...]:
    result = adapter_result(run, record)
    applied = calibration.applied(result.prompt_version, kind=None)
    if result.model.sha256 != calibration.content.model_sha256 or applied is None:
        raise SemifError(
            f"{run.path} holds answers of the model {result.model.sha256} and the prompt "
            f"{result.prompt_version}, {calibration.name} is not for these; fit it on such a run"
        )
    return tuple(softmax(np.array(result.option_logits), applied.temperature).tolist())
