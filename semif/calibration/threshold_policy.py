"""A policy from a threshold."""

from pathlib import Path

from pydantic import ValidationError

from semif.calibration.find_threshold import ThresholdSearch
from semif.errors import ProblemsError, SemifError, problems_of
from semif.policy import Policy, write_policy


def write_threshold_policy(search: ThresholdSearch, path: Path) -> None:
    """Write a policy that accepts each option from the threshold on.

    Raises SemifError where the answers were chosen from different sets of options, for which no one policy
    holds, where a policy cannot hold them, and where the file is there already or cannot be written.
    """
    if path.exists():
        raise SemifError(f"{path} is there already, and may hold rules; give another -o")
    option_sets, families = search.judged.option_sets, search.judged.families
    if len(option_sets) != 1:
        raise SemifError(
            f"the tasks have {len(option_sets)} different sets of options, a policy knows one; take "
            f"one with --family ({', '.join(families) or 'the tasks name no family'})"
        )
    [options] = option_sets
    coverage, precision = search.point.coverage, search.point.precision
    right = f", {precision.part} of these right" if precision else ""
    try:
        policy = Policy(
            name=path.name.split(".")[0],
            description=f"Threshold for {search.goal} {search.value:g}: "
            f"{coverage.part} of {coverage.whole} answers accepted{right}.",
            thresholds=dict.fromkeys(sorted(options), search.point.threshold),
        )
    except ValidationError as error:  # an option called person, say
        raise ProblemsError(path, problems_of(error)) from None
    write_policy(policy, path)
