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
