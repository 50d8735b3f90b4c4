"""`semif calibrate`: how far a model's probabilities may be believed, and from where on they are acted on."""

import click

from semif.cli.calibrate.cascade import cascade
from semif.cli.calibrate.fit import fit
from semif.cli.calibrate.thresholds import thresholds
from semif.cli.output import InOrder


@click.group(cls=InOrder)
def command() -> None:
    """Make probabilities honest, and find where to act on them.

    The commands read run files: what `semif evaluate run` got for labelled tasks.

    \b
    Examples (`make serve` in another terminal):
      semif evaluate run --url http://127.0.0.1:8080 examples/labelled.jsonl -o run.jsonl
      semif calibrate fit run.jsonl -o calibration.json
      semif calibrate thresholds run.jsonl --calibration calibration.json --coverage 0.5
      semif calibrate cascade small.jsonl large.jsonl --lose 0.02
    """


command.add_command(fit)
command.add_command(thresholds)
command.add_command(cascade)
