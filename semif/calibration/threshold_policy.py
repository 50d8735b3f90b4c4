"""A policy from a threshold."""

from pathlib import Path

from pydantic import ValidationError

from semif.calibration.find_threshold import ThresholdSearch
from semif.calibration.judged_answers import JudgedAnswers
from semif.errors import ProblemsError, SemifError, problems_of
from semif.policy import MadeFor, Policy, write_policy


def write_threshold_policy(search: ThresholdSearch, path: Path) -> bool:
    """Write a policy that accepts each option from the threshold on.

    Returns whether it says what it was made for: runs of other servers, or of earlier versions, do not.
    Raises SemifError where the answers were chosen from different sets of options, or answer several
    questions, for which no one policy holds, where a policy cannot hold them, and where the file is there
    already or cannot be written.
    """
    check_new(path)
    options = sole_options(search.judged)
    made_for = made_for_of(search.judged)
    coverage, precision = search.point.coverage, search.point.precision
    right = f", {precision.part} of these right" if precision else ""
    try:
        policy = Policy(
            name=path.name.split(".")[0],
            description=f"Threshold for {search.goal} {search.value:g}: "
            f"{coverage.part} of {coverage.whole} answers accepted{right}.",
            thresholds=dict.fromkeys(options, search.point.threshold),
            made_for=made_for,
        )
    except ValidationError as error:  # an option called person, say
        raise ProblemsError(path, problems_of(error)) from None
    write_policy(policy, path)
    return made_for is not None


def check_new(path: Path) -> None:
    """Raise SemifError where a file is there, which may hold what somebody wrote by hand."""
    if path.exists():
        raise SemifError(f"{path} is there already, and may hold rules; give another -o")


def sole_options(judged: JudgedAnswers) -> list[str]:
    """The options of all the answers, sorted. Raises SemifError where they have several sets of them."""
    if len(judged.option_sets) != 1:
        raise SemifError(
            f"the tasks have {len(judged.option_sets)} different sets of options, a policy knows one; take "
            f"one with --family ({', '.join(judged.families) or 'the tasks name no family'})"
        )
    [options] = judged.option_sets
    return sorted(options)


def made_for_of(judged: JudgedAnswers) -> MadeFor | None:
    """What the answers were; None where one does not tell. Raises SemifError for several questions."""
    wordings = [wording for wording in judged.wordings if wording is not None]
    answerers = [answerer for answerer in judged.answerers if answerer is not None]
    if len(wordings) > 1:
        raise SemifError(
            f"the tasks ask {len(wordings)} questions (another text, or other descriptions of the options), "
            "a policy is made for one; take one with --family "
            f"({', '.join(judged.families) or 'the tasks name no family'})"
        )
    if None in judged.wordings or None in judged.answerers:
        return None
    return MadeFor(
        question_sha256=wordings[0].question_sha256,
        options_sha256=wordings[0].options_sha256,
        answerers=tuple(sorted(answerers, key=lambda answerer: answerer.model_dump_json())),
    )
