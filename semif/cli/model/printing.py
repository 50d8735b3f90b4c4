"""What the commands of `semif model` tell of a preset's pins."""

import click

from semif.models.presets import AnyPreset, Preset


def print_pin(preset: Preset) -> None:
    """Where its one file comes from."""
    pin = preset.model
    click.echo(f"  source   {pin.source}")
    if pin.revision:
        click.echo(f"  {'commit ' if pin.scheme == 'hf' else 'version'}  {pin.revision}")
    click.echo(f"  file     {pin.file}, {pin.bytes:,} bytes")
    click.echo(f"  SHA-256  {pin.sha256}")
    click.echo(f"  license  {preset.license}")


def print_pins(preset: AnyPreset) -> None:
    """The pins of a preset of many files."""
    for key, value in {**preset.pins(), "license": preset.license}.items():
        shown = f"{value:,}" if isinstance(value, int) else value
        click.echo(f"  {key.replace('_', ' '):13}  {shown}")
