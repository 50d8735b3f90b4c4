"""`semif model`: what can be packed, and packing it."""

import click

from semif.cli.model.pack import adopt, build
from semif.cli.model.pin import pin, pin_checkpoint
from semif.cli.model.presets import list_models, show
from semif.cli.model.register import register_lock
from semif.cli.output import InOrder


@click.group(cls=InOrder)
def command() -> None:
    """Pin models, and pack them into archives that SageMaker hosts."""


command.add_command(list_models)
command.add_command(show)
command.add_command(build)
command.add_command(adopt)
command.add_command(pin)
command.add_command(pin_checkpoint)
command.add_command(register_lock)
