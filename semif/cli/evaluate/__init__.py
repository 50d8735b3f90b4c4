"""`semif evaluate`: what a model's answers are worth, on labelled tasks."""

import click

from semif.cli.evaluate.compare import compare
from semif.cli.evaluate.report import report


@click.group()
def command() -> None:
    """Ask labelled tasks, and judge the answers.

    \b
    Examples:
      semif evaluate report run.jsonl --html report.html
      semif evaluate compare cpu.jsonl gpu.jsonl
    """


command.add_command(report)
command.add_command(compare)
