"""`semif init`: a project of one's own."""

from pathlib import Path

import click

from semif.cli.output import print_json
from semif.project.new_project import write_project


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path())
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(folder: Path, as_json: bool) -> None:
    """Begin a project: environments, models, CI.

    Writes into FOLDER (here) what a team keeps: environment files, the models' pins, the containers' pins,
    the CDK's settings, requests to try, and a workflow that checks and deploys. What is there already stays
    as it is; a second call, with a newer Semif, says which files are no longer the toolkit's own.

    \b
    Examples:
      semif init decisions
      cd decisions && semif env check
    """
    written, kept = write_project(folder)
    if as_json:
        print_json({"folder": str(folder.resolve()), "written": written, "kept": kept})
        return
    click.echo(f"{folder.resolve()}: {len(written)} files written")
    for name in kept:
        click.echo(f"kept as it is, and other than this version's: {name}")
    click.echo("next: see that requirements.txt says where semif comes from; then README.md")
