"""`semif evaluate`: what a model's answers are worth, on labelled tasks."""

import click

from semif.cli.evaluate.answered import answered
from semif.cli.evaluate.baseline import baseline
from semif.cli.evaluate.captured import captured
from semif.cli.evaluate.compare import compare
from semif.cli.evaluate.importing import import_
from semif.cli.evaluate.report import report
from semif.cli.evaluate.run import run
from semif.cli.evaluate.wordings import wordings
from semif.cli.output import InOrder


@click.group(cls=InOrder)
def command() -> None:
    """Ask labelled tasks, and judge the answers.

    \b
    Examples (`make serve` in another terminal):
      semif evaluate run --url http://127.0.0.1:8080 examples/labelled.jsonl -o run.jsonl
      semif evaluate report run.jsonl --html report.html
      semif evaluate compare cpu.jsonl gpu.jsonl
    """


command.add_command(run)
command.add_command(report)
command.add_command(compare)
command.add_command(baseline)
command.add_command(import_)
command.add_command(wordings)
command.add_command(captured)
command.add_command(answered)
