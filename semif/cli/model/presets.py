"""`semif model list` and `show`: what can be packed."""

import click

from semif.cli.model.printing import print_pin, print_pins
from semif.cli.output import json_option, print_json
from semif.models.any_preset import any_preset_names, load_any_preset
from semif.models.presets import Preset


@click.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the presets of models/.

    Shows their sizes, quantizations and descriptions, checkpoints of Strands Decider last; --json prints the
    files whole.

    \b
    Example:
      semif model list
    """
    presets = [load_any_preset(name) for name in any_preset_names()]
    if as_json:
        print_json({"presets": [preset.model_dump(mode="json") for preset in presets]})
        return
    width = max(len(preset.name) for preset in presets)
    for preset in presets:
        size = f"{preset.bytes / 1e6:,.0f} MB"
        sort = preset.quantization if isinstance(preset, Preset) else "files"
        click.echo(f"{preset.name:{width}}  {size:>8}  {sort:6}  {preset.description}")


@click.command("show")
@click.argument("name", metavar="PRESET")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show PRESET, and what is published of its quality.

    Its file, its licence and how it is asked; whether the hub was asked about the pin; and what others say of
    how right its answers are, with the source. Nothing of that was measured here.

    \b
    Example:
      semif model show kev-0.8b
    """
    preset = load_any_preset(name)
    if as_json:
        print_json(preset.model_dump(mode="json"))
        return
    click.echo(preset.description)
    if not isinstance(preset, Preset):
        print_pins(preset)
        return
    print_pin(preset)
    asked = f"head ({preset.prompt.head})" if preset.prompt.head else preset.prompt.readout
    click.echo(f"  readout  {asked}")
    if preset.model.scheme == "hf":
        checked = preset.model.checked_on
        unasked = f"not yet; run `semif model pin --check {name}` where the hub can be reached"
        click.echo(f"  checked  {f'on {checked}' if checked else unasked}")
    for published in preset.published:
        click.echo(f"Published, and not measured here ({published.source}, {published.on}):")
        click.echo(f"  {published.says}")
