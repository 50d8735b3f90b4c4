"""What the calibrate commands share."""

from pathlib import Path

import click

run_files = click.argument(
    "runs",
    metavar="RUN...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)


def report_left_out(count: int) -> None:
    """Say on stderr how many tasks got no answer, if any."""
    if count:
        click.echo(f"semif: {count} tasks got no answer and are left out", err=True)


def tell_made_for_nothing(policy: Path) -> None:
    """Say on stderr that `policy`, just written, fits any model."""
    click.echo(
        f"semif: {policy} does not say what it was made for, and judges the answers of any model: a "
        "run tells no hashes of model and question; ask an adapter or an endpoint in the decision form",
        err=True,
    )
