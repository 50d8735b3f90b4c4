"""A policy from a cascade: the small model is asked first, the large one where that is not sure."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from semif.calibration.cascade import Cascade, CascadePoint, NoCascadeError, advice
from semif.calibration.judged_answers import read_judged
from semif.calibration.threshold_policy import check_new, made_for_of, sole_options
from semif.calibration.thresholds import (
    JudgedAnswer,
    NoThresholdError,
    OperatingPoint,
    for_precision,
    operating_points,
)
from semif.errors import ProblemsError, SemifError, problems_of
from semif.policy import Bar, Fallback, MadeFor, Policy, write_policy


@dataclass(frozen=True)
class PolicyRequest:
    """What shall be written."""

    path: Path
    small: Path
    large: Path
    family: str | None
    endpoint: str
    """What the policy calls the large model's endpoint."""


def accepted_of_large(cascade: Cascade, point: CascadePoint, precision: float) -> OperatingPoint:
    """From where on the large model's answers to what is escalated are surely right in this share.

    Raises NoThresholdError where no threshold gives that, SemifError where it tells no probabilities.
    """
    escalated = [task for task in cascade.tasks if task.is_escalated(point.threshold)]
    answers = [
        JudgedAnswer(task.large_probability, task.large_right, task.group)
        for task in escalated
        if task.large_probability is not None
    ]
    if not answers:
        raise SemifError(
            "the large model tells no probabilities for what is escalated, so none can be asked of it"
        )
    try:
        return for_precision(operating_points(answers), precision)
    except NoThresholdError as error:
        raise NoThresholdError(f"of what is escalated to the large model, {error}", error.best) from None


def write_cascade_policy(
    wanted: PolicyRequest, cascade: Cascade, point: CascadePoint, of_large: OperatingPoint | None
) -> bool:
    """Write a policy that takes the large model's answer in any case, or else from `of_large` on.

    Returns whether it says what it was made for: runs of other servers, or of earlier versions, do not.
    Raises NoCascadeError where one of the models is never asked, SemifError where the tasks have several sets
    of options or questions, the runs asked other words, the large model answers in words alone, and where the
    file is there or cannot be written.
    """
    check_new(wanted.path)
    always = point.escalated.part == point.escalated.whole
    if always or point.escalated.part == cascade.points[0].escalated.part:
        raise NoCascadeError(
            f"no policy is written, the advice is: {advice(cascade, point)}; leave -o out for the curve"
        )
    if all(task.large_probability is None for task in cascade.tasks):
        raise SemifError(
            f"no policy is written, {wanted.large} has no probabilities, by which a policy judges an answer; "
            f"the advice is: {advice(cascade, point)}; leave -o out for the curve"
        )
    small, large = (
        read_judged([path], family=wanted.family, calibration=None) for path in (wanted.small, wanted.large)
    )
    options = sole_options(small)
    made_for, large_made_for = made_for_of(small), made_for_of(large)
    if made_for and large_made_for and _words(made_for) != _words(large_made_for):
        raise SemifError(
            f"{wanted.large} asked in other words than {wanted.small}, a policy is of one question; ask both "
            "the same tasks"
        )
    told = made_for is not None and large_made_for is not None
    try:
        policy = Policy(
            name=wanted.path.name.split(".")[0],
            description=_description(point, of_large),
            thresholds=dict.fromkeys(options, point.threshold),
            fallback=Fallback(endpoints=(wanted.endpoint,)),
            endpoints={
                wanted.endpoint: Bar(
                    thresholds=dict.fromkeys(options, of_large.threshold if of_large else 0.0),
                    answerers=large_made_for.answerers if told and large_made_for else (),
                )
            },
            made_for=made_for if told else None,
        )
    except ValidationError as error:  # an option called person, say
        raise ProblemsError(wanted.path, problems_of(error)) from None
    write_policy(policy, wanted.path)
    return told


def _words(made_for: MadeFor) -> tuple[str, str]:
    return made_for.question_sha256, made_for.options_sha256


def _description(point: CascadePoint, of_large: OperatingPoint | None) -> str:
    said = (
        f"Cascade: {point.escalated.part} of {point.escalated.whole} decisions escalated, {point.right.part} "
        "right where every answer of the large model is taken."
    )
    if of_large is None or of_large.precision is None:
        return said
    accepted = of_large.coverage
    return (
        f"{said} Of the escalated its answer is taken in {accepted.part} of {accepted.whole}, "
        f"{of_large.precision.part} of these right."
    )
