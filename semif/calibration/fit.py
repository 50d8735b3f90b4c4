"""Temperatures fitted on labelled answers, and what they change on answers they were not fitted on."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.model_selection import GroupKFold

from semif.calibration.grouped_mean import Mean, grouped_mean
from semif.calibration.labelled_logits import LabelledLogits
from semif.errors import SemifError
from semif.evaluation.figures.measures import (
    Bin,
    Floats,
    brier_score,
    expected_calibration_error,
    log_loss,
    reliability,
)
from semif_adapter.archive.calibration import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    Figures,
    Fitted,
    PromptCalibration,
)
from semif_adapter.contract.probabilities import softmax
from semif_adapter.contract.wire import QuestionKind

MIN_TASKS = 50
"""Fewest answered tasks to fit one temperature on, for all of a prompt or for one kind."""
FOLDS = 5
_DIGITS = 4
"""Significant digits of a temperature: more would be noise."""

_SPREADS = 10
"""A temperature so many times the logits' spread makes all options alike, within a tenth."""

_NOTHING = (
    "the logits say nothing about which option is right, so that no temperature helps; take another model, "
    "readout or prompt"
)

Answers = Sequence[LabelledLogits]
Probabilities = list[Floats]


@dataclass(frozen=True)
class PromptFit:
    """What goes into the file for one prompt, and what a person wants to see of it."""

    calibration: PromptCalibration
    accuracy: float
    """The same before and after: the temperature changes no choice."""
    gain: Mean
    """How much less the log loss is out of fold, in nats."""
    before: tuple[Bin, ...]
    after: tuple[Bin, ...]
    """Reliability, out of fold."""
    shared_kinds: dict[QuestionKind, str]
    """Kinds that take the prompt's own temperature, and why."""


def fit_prompt(prompt_version: str, answers: Answers) -> PromptFit:
    """The temperatures of one prompt.

    Raises SemifError for fewer than MIN_TASKS answers or FOLDS groups, and where nothing can be fitted.
    """
    try:
        everything = _fit(answers)
    except SemifError as error:
        raise SemifError(f"{prompt_version}: {error}") from None
    kinds: dict[QuestionKind, Fitted] = {}
    shared: dict[QuestionKind, str] = {}
    for kind in sorted({answer.kind for answer in answers if answer.kind}):
        places = [place for place, answer in enumerate(answers) if answer.kind == kind]
        of_kind = [answers[place] for place in places]
        if len(of_kind) == len(answers):
            shared[kind] = "all tasks are of this kind"
            continue
        try:
            own = _fit(of_kind)
        except SemifError as error:
            shared[kind] = str(error)
            continue
        loss = _log_loss(of_kind, [everything.out_of_fold[place] for place in places])
        if own.fitted.after.log_loss < loss:
            kinds[kind] = own.fitted
        else:
            shared[kind] = (
                f"log loss {own.fitted.after.log_loss:.4f} out of fold by a temperature of its own, "
                f"{loss:.4f} by the shared one"
            )
    plain = [softmax(answer.logits) for answer in answers]
    groups = [answer.group for answer in answers]
    return PromptFit(
        calibration=PromptCalibration(
            **everything.fitted.model_dump(), prompt_version=prompt_version, kinds=kinds
        ),
        accuracy=float(np.mean(_right(answers, plain))),
        gain=_gain(answers, plain, everything.out_of_fold),
        before=reliability(_confidence(plain), _right(answers, plain), groups=groups),
        after=reliability(_confidence(everything.out_of_fold), _right(answers, plain), groups=groups),
        shared_kinds=shared,
    )


def need_enough(groups: Sequence[str]) -> None:
    """Raises SemifError for answered tasks of these `groups`, one for each, that are too few to tell."""
    if len(groups) < MIN_TASKS or len(set(groups)) < FOLDS:
        raise SemifError(
            f"{len(groups)} answered tasks in {len(set(groups))} groups are too few, needed are "
            f"{MIN_TASKS} in {FOLDS}"
        )


@dataclass(frozen=True)
class _Fit:
    fitted: Fitted
    out_of_fold: Probabilities


def _fit(answers: Answers) -> _Fit:
    groups = [answer.group for answer in answers]
    need_enough(groups)
    if all(np.ptp(answer.logits) == 0 for answer in answers):
        raise SemifError(_NOTHING)
    if all(answer.logits[answer.expected] == answer.logits.max() for answer in answers):
        raise SemifError(
            "the right option is always ahead, so that no temperature is the best; take harder tasks"
        )
    temperature = fit_temperature(answers)
    if not MIN_TEMPERATURE * 1.01 < temperature < MAX_TEMPERATURE * 0.99:
        raise SemifError(_why_at_bound(answers, temperature))
    out_of_fold: Probabilities = [np.empty(0)] * len(answers)
    for train, test in folds(groups):
        without = fit_temperature([answers[place] for place in train])
        for place in test:
            out_of_fold[place] = softmax(answers[place].logits, without)
    plain = [softmax(answer.logits) for answer in answers]
    fitted = Fitted(
        temperature=temperature,
        tasks=len(answers),
        groups=len(set(groups)),
        before=_figures(answers, plain),
        after=_figures(answers, out_of_fold),
    )
    return _Fit(fitted, out_of_fold)


def _why_at_bound(answers: Answers, temperature: float) -> str:
    """What it says of the logits that the best temperature is one that no file may hold."""
    spread = float(np.median([np.ptp(answer.logits) for answer in answers]))
    of_one = [replace(answer, logits=answer.logits / (spread or 1)) for answer in answers]
    if temperature > 1 and fit_temperature(of_one) >= _SPREADS:
        return _NOTHING
    side, bound = ("above", MAX_TEMPERATURE) if temperature > 1 else ("below", MIN_TEMPERATURE)
    return (
        f"the best temperature is {side} {bound:g}, as far as one may go: the logits of a task differ "
        f"by {spread:.3g} (the median), which is not of a size that language models give; look at the runs"
    )


def fit_temperature(answers: Answers) -> float:
    """The temperature with the least log loss on `answers`, within the bounds that a file may hold.

    The log loss is convex in the inverse of the temperature, so that there is one (C. Guo, G. Pleiss, Y. Sun,
    K. Q. Weinberger, 2017, "On Calibration of Modern Neural Networks", arXiv:1706.04599).
    """
    widest = max(len(answer.logits) for answer in answers)
    logits = np.full((len(answers), widest), -np.inf)
    for row, answer in zip(logits, answers, strict=True):
        row[: len(answer.logits)] = answer.logits - answer.logits.max()
    rows, expected = np.arange(len(answers)), np.array([answer.expected for answer in answers])

    def loss(log_temperature: float) -> float:
        scaled = logits / math.exp(log_temperature)
        return -float(log_softmax(scaled, axis=1)[rows, expected].mean())

    bounds = (math.log(MIN_TEMPERATURE), math.log(MAX_TEMPERATURE))
    minimum = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(f"{math.exp(minimum.x):.{_DIGITS}g}")


def folds(groups: Sequence[str]) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Positions to fit on and to judge on; a group is never on both sides."""
    splitter = GroupKFold(FOLDS, shuffle=True, random_state=0)
    for train, test in splitter.split(groups, groups=groups):
        yield train.tolist(), test.tolist()


def _figures(answers: Answers, probabilities: Probabilities) -> Figures:
    expected = [answer.expected for answer in answers]
    values: dict[str, float] = {
        "ece": expected_calibration_error(_confidence(probabilities), _right(answers, probabilities)),
        "brier": brier_score(probabilities, expected),
        "log_loss": log_loss(probabilities, expected),
    }
    return Figures(**{name: round(value, 6) for name, value in values.items()})


def _gain(answers: Answers, before: Probabilities, after: Probabilities) -> Mean:
    """How much less the log loss is, in nats."""
    gains = [
        _log_loss([answer], [plain]) - _log_loss([answer], [calibrated])
        for answer, plain, calibrated in zip(answers, before, after, strict=True)
    ]
    return grouped_mean(gains, [answer.group for answer in answers])


def _log_loss(answers: Answers, probabilities: Probabilities) -> float:
    return log_loss(probabilities, [answer.expected for answer in answers])


def _confidence(probabilities: Probabilities) -> list[float]:
    return [float(row.max()) for row in probabilities]


def _right(answers: Answers, probabilities: Probabilities) -> list[bool]:
    return [int(row.argmax()) == answer.expected for answer, row in zip(answers, probabilities, strict=True)]
