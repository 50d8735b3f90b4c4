"""`semif calibrate cascade`: from which probability on a small model's answer need not go to a larger one."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from semif.cli.calibrate.options import tell_made_for_nothing
from semif.cli.options import NumberRange
from semif.cli.output import json_option, print_json
from semif.evaluation.extra import need_evaluate_extra

if TYPE_CHECKING:
    from semif.calibration.cascade import Cascade, CascadePoint
    from semif.calibration.thresholds import OperatingPoint

run_file = click.Path(path_type=Path)
_NOTE = (
    "up: share escalated. interval: of right, 95%. against large: right answers less those of the large "
    "model alone, in percentage points, the paired 95% interval. The last row asks the large model alone. "
    "--json has the intervals of time and cost, too."
)
_SHARE = NumberRange(0, 1)


@click.command()
@click.argument("small", type=run_file)
@click.argument("large", type=run_file)
@click.option(
    "--lose",
    type=_SHARE,
    help="Escalate as little as loses at most this share of right answers, surely.",
)
@click.option("--escalate", type=_SHARE, help="Escalate at most this share of the decisions.")
@click.option(
    "--prices",
    type=NumberRange(0),
    nargs=2,
    metavar="SMALL LARGE",
    help="What a decision of each costs, in any unit: tells the cost, too.",
)
@click.option("--family", metavar="NAME", help="Take the tasks of this family alone.")
@click.option(
    "--large-precision",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    help="Take the large model's answers as long as at least this share is right, surely; the policy hands "
    "the others to a person.",
)
@click.option(
    "-o",
    "--output",
    type=run_file,
    metavar="POLICY",
    help="Write a policy (TOML) with thresholds for both; needs tasks of one question.",
)
@click.option(
    "--endpoint",
    metavar="NAME",
    default="large",
    show_default=True,
    help="What the policy calls the large model: an environment, or what semif decide --endpoint names.",
)
@click.option("--plot", type=run_file, metavar="FILE", help="Draw the curve into this file: .png or .svg.")
@json_option
def cascade(
    *,
    small: Path,
    large: Path,
    lose: float | None,
    escalate: float | None,
    prices: tuple[float, float] | None,
    family: str | None,
    large_precision: float | None,
    output: Path | None,
    endpoint: str,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Find where a larger model has to be asked.

    SMALL and LARGE are runs of the same tasks. Answers of the small model below a threshold are escalated to
    the large one: told is what is right, what is escalated, how long a decision takes and what it costs,
    along the whole curve. Give one of --lose and --escalate. With -o a policy does it: the small model is
    asked first, the large one in its fallback, each with thresholds of its own.

    --lose counts as reached where the lower end of the 95 % interval of the difference from the large model
    alone is there. Where no threshold reaches what is wanted the command says so and exits with 1. At
    least 50 tasks that the small model answered are needed; a warning says where the large one is no better.

    \b
    Examples:
      semif calibrate cascade small.jsonl large.jsonl --lose 0.02
      semif calibrate cascade small.jsonl large.jsonl --escalate 0.3 --prices 1 6 --plot cascade.png
      semif calibrate cascade small.jsonl large.jsonl --lose 0.02 --family bank -o bank.policy.toml
    """
    if (lose is None) == (escalate is None):
        raise click.UsageError("give exactly one of --lose and --escalate")
    need_evaluate_extra()
    from semif.calibration import cascade as curve  # noqa: PLC0415 - SciPy takes its time to load
    from semif.calibration import cascade_policy as policies  # noqa: PLC0415 - as above

    found = curve.read_cascade(small, large, prices, family=family)
    if lose is not None:
        point = curve.losing_at_most(found, lose)
    else:
        point = curve.escalating_at_most(found, escalate or 0.0)
    of_large = None if large_precision is None else policies.accepted_of_large(found, point, large_precision)
    if output is not None:
        wanted = policies.PolicyRequest(output, small, large, family, endpoint)
        if not policies.write_cascade_policy(wanted, found, point, of_large):
            tell_made_for_nothing(output)
    if plot is not None:
        from semif.calibration.cascade_plot import write_cascade_plot  # noqa: PLC0415 - matplotlib, for the picture

        write_cascade_plot(found, point, plot)
    for warning in found.warnings:
        click.echo(f"semif: warning: {warning}", err=True)
    if as_json:
        print_json(_as_json(found, point, of_large) | {"policy": str(output) if output else None})
        return
    _print(found, point)
    click.echo(curve.advice(found, point))
    if of_large is not None and of_large.precision is not None:
        accepted, right = of_large.coverage, of_large.precision
        click.echo(
            f"take the large model's answer from {of_large.threshold:.2f} on: {accepted.part} of "
            f"{accepted.whole} escalated, {right.part} right"
        )
    if output is not None:
        click.echo(f"{output}: written, for semif decide --policy; it asks the large model as {endpoint}")


def _as_json(cascade: "Cascade", found: "CascadePoint", of_large: "OperatingPoint | None") -> dict[str, Any]:
    told = {key: value for key, value in asdict(cascade).items() if key != "tasks"}
    return {
        "found": asdict(found),
        "large_accepted": asdict(of_large) if of_large else None,
        **told,
        "warnings": list(cascade.warnings),
    }


def _print(cascade: "Cascade", found: "CascadePoint") -> None:
    from semif.evaluation.report.tables.cells import duration, interval, percent  # noqa: PLC0415 - SciPy is below
    from semif.evaluation.report.tables.table import ReportTable, print_tables  # noqa: PLC0415 - as above

    rows = [
        (
            f"{'->' if point is found else '  '} {point.threshold:.3f}",
            percent(point.escalated.value),
            percent(point.right.value),
            interval(point.right),
            f"{100 * point.against_large.low:+.1f} to {100 * point.against_large.high:+.1f}",
            duration(point.seconds.value if point.seconds else None),
            *([f"{point.cost.value:.3g}"] if point.cost else []),
        )
        for point in cascade.points
    ]
    large = cascade.large_right
    cost = [] if cascade.large_cost is None else [f"{cascade.large_cost:.3g}"]
    seconds = duration(cascade.large_seconds.value if cascade.large_seconds else None)
    rows.append(("   large", "", percent(large.value), interval(large), "", seconds, *cost))
    columns = ("   below", "up", "right", "interval", "against large", "time", *(["cost"] if cost else []))
    print_tables(Console(), [ReportTable("Cascade", columns, tuple(rows), note=_NOTE)])
    if cascade.left_out:
        click.echo(
            f"semif: {cascade.left_out} tasks are not the same in both runs and are left out", err=True
        )
