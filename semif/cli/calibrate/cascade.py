"""`semif calibrate cascade`: from which probability on a small model's answer need not go to a larger one."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from semif.cli.output import json_option, print_json
from semif.evaluation.extra import need_evaluate_extra

if TYPE_CHECKING:
    from semif.calibration.cascade import Cascade, CascadePoint

run_file = click.Path(path_type=Path)
_NOTE = (
    "up: share escalated. interval: of right, 95%. against large: right answers less those of the large "
    "model alone, in percentage points, the paired 95% interval. The last row asks the large model alone. "
    "--json has the intervals of time and cost, too."
)
_SHARE = click.FloatRange(0, 1)


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
    type=click.FloatRange(0),
    nargs=2,
    metavar="SMALL LARGE",
    help="What a decision of each costs, in any unit: tells the cost, too.",
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
    plot: Path | None,
    as_json: bool,
) -> None:
    """Find where a larger model has to be asked.

    SMALL and LARGE are runs of the same tasks. Answers of the small model below a threshold are escalated to
    the large one: told is what is right, what is escalated, how long a decision takes and what it costs,
    along the whole curve. Give one of --lose and --escalate.

    --lose counts as reached where the lower end of the 95 % interval of the difference from the large model
    alone is there. Where no threshold reaches what is wanted the command says so and exits with 1. At
    least 50 tasks that the small model answered are needed; a warning says where the large one is no better.

    \b
    Examples:
      semif calibrate cascade small.jsonl large.jsonl --lose 0.02
      semif calibrate cascade small.jsonl large.jsonl --escalate 0.3 --prices 1 6 --plot cascade.png
    """
    if (lose is None) == (escalate is None):
        raise click.UsageError("give exactly one of --lose and --escalate")
    need_evaluate_extra()
    from semif.calibration import cascade as curve  # noqa: PLC0415 - SciPy takes its time to load

    found = curve.read_cascade(small, large, prices)
    if lose is not None:
        point = curve.losing_at_most(found, lose)
    else:
        point = curve.escalating_at_most(found, escalate or 0.0)
    if plot is not None:
        from semif.calibration.cascade_plot import write_cascade_plot  # noqa: PLC0415 - matplotlib, for the picture

        write_cascade_plot(found, point, plot)
    for warning in found.warnings:
        click.echo(f"semif: warning: {warning}", err=True)
    if as_json:
        print_json({"found": asdict(point), **asdict(found), "warnings": list(found.warnings)})
        return
    _print(found, point)


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
    click.echo(_advice(cascade, found))


def _advice(cascade: "Cascade", found: "CascadePoint") -> str:
    if found.escalated.part == found.escalated.whole:
        return "always ask the large model"
    if found.escalated.part == cascade.points[0].escalated.part:
        unanswered = ", but where the small one gives no valid answer" if found.escalated.part else ""
        return f"never ask the large model{unanswered}"
    return f"escalate below {found.threshold:g}"
