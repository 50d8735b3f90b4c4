"""`semif calibrate thresholds`: from which probability on an answer is acted on."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semif.cli.calibrate.options import report_left_out, run_files, tell_made_for_nothing
from semif.cli.options import NumberRange
from semif.cli.output import json_option, print_json
from semif.evaluation.extra import need_evaluate_extra

if TYPE_CHECKING:
    from semif.calibration.find_threshold import Goal, ThresholdSearch
    from semif.calibration.thresholds import OperatingPoint
    from semif.evaluation.figures.measures import Share

LADDER = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Thresholds that the table shows beside the one that was found."""


@click.command()
@run_files
@click.option(
    "--precision",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    help="Accept as much as can be with at least this share of the accepted right, surely.",
)
@click.option(
    "--coverage",
    type=NumberRange(0, 1, min_open=True),
    help="Accept at least this share of the answers, the surest first.",
)
@click.option(
    "--cost-of-error",
    type=NumberRange(0, 1e6, min_open=True),
    help="Make decisions cheapest, where a wrong one costs as much as so many handed over.",
)
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Apply this calibration to a run that was asked without; default: the probabilities as answered.",
)
@click.option("--family", metavar="NAME", help="Take the tasks of this family alone.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="POLICY",
    help="Write a policy (TOML) with the threshold for every option; needs tasks of one set of options.",
)
@json_option
def thresholds(
    *,
    runs: tuple[Path, ...],
    precision: float | None,
    coverage: float | None,
    cost_of_error: float | None,
    calibration: Path | None,
    family: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Find the probability from which on answers are accepted.

    It tells what that is worth, too. Answers below the threshold go to the policy's fallback, a person where
    it says nothing else. Give exactly one of --precision, --coverage and --cost-of-error. RUN is what `semif
    evaluate run` wrote, best asked of the endpoint as it will serve, calibrated if it will be.

    --precision counts as reached where the lower end of its 95 % interval is there. Where no threshold
    reaches what is wanted the command says so, writes nothing and exits with 1.

    \b
    Examples:
      semif calibrate thresholds run.jsonl --precision 0.95
      semif calibrate thresholds run.jsonl --family bank --coverage 0.6 -o bank.policy.toml
      semif calibrate thresholds run.jsonl --cost-of-error 20
    """
    goals: dict[Goal, float | None] = {
        "precision": precision,
        "coverage": coverage,
        "cost-of-error": cost_of_error,
    }
    wanted = [(goal, value) for goal, value in goals.items() if value is not None]
    if len(wanted) != 1:
        raise click.UsageError("give exactly one of --precision, --coverage and --cost-of-error")
    need_evaluate_extra()
    from semif.calibration import find_threshold, threshold_policy  # noqa: PLC0415 - SciPy takes its time to load

    [(goal, value)] = wanted
    search = find_threshold.find_threshold(runs, goal, value, family=family, calibration=calibration)
    report_left_out(search.judged.left_out)
    if output is not None and not threshold_policy.write_threshold_policy(search, output):
        tell_made_for_nothing(output)
    if as_json:
        print_json(
            {
                "wanted": {goal: value},
                "found": _json(search.point),
                "cost": asdict(search.cost) if search.cost else None,
                "points": [_json(point) for point in search.points],
                "left_out": search.judged.left_out,
                "policy": str(output) if output else None,
            }
        )
        return
    _print_table(search)
    if cost := search.cost:
        interval = f"95 % interval {cost.low:.3f} to {cost.high:.3f}"
        click.echo(f"a decision costs {cost.value:.3f}, {interval}; one handed over costs 1")
    click.echo(f"accept from {search.point.threshold:.2f} on, for --{goal} {value:g}")
    if output is not None:
        click.echo(f"{output}: written, for semif decide --policy")


def _json(point: "OperatingPoint") -> dict[str, Any]:
    return {**asdict(point), "errors": point.errors}


def _print_table(search: "ThresholdSearch") -> None:
    """At most 80 characters wide, whatever the figures up to a hundred thousand answers."""
    whole = search.point.coverage
    groups = "" if whole.groups is None else f" in {whole.groups:,} groups"
    click.echo(f"of {whole.whole:,} answers{groups}, with 95 % intervals:")
    click.echo(f"    from  {'accepted':>8}{'':23}{'right':>8}{'':23}{'wrong':>8}")
    for point in search.points:
        if point is search.point or point.threshold in LADDER:
            mark = "->" if point is search.point else "  "
            right = _share(point.precision) if point.precision else f"{'none':>8}{'':23}"
            click.echo(f" {mark} {point.threshold:.2f}  {_share(point.coverage)}{right}{point.errors:8,}")


def _share(value: "Share") -> str:
    """31 characters: how many, the share, the interval."""
    interval = f"({value.low:.1%} to {value.high:.1%})".replace("%", "")
    return f"{value.part:8,}{value.value:7.1%} {interval:15}"
