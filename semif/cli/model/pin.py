"""`semif model pin` and `pin-checkpoint`: files of the hub as presets."""

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from semif.cli.model.printing import print_pin, print_pins
from semif.cli.output import json_option, print_json
from semif.models.check_at_hub import differences
from semif.models.checkpoint.pin_checkpoint import checkpoint_path
from semif.models.checkpoint.pin_checkpoint import pin_checkpoint as pin_at_hub
from semif.models.pin_from_hub import pin_model
from semif.models.presets import load_preset, preset_names
from semif_adapter.contract.wire import Readout


@click.command("pin")
@click.argument("arguments", nargs=-1, metavar="[hf:REPO[@REVISION] FILE]")
@click.option("--name", metavar="PRESET", help="The preset's name; default: after the file's.")
@click.option(
    "--readout",
    type=click.Choice(("letters", "text")),
    help="How options become numbers (docs/readouts.md); default: what the preset has, else the model's "
    "decision head, else letters.",
)
@click.option("--quantization", metavar="NAME", help="Where the file's name does not end in one.")
@click.option("--force", is_flag=True, help="Replace a preset of that name that holds another model.")
@click.option(
    "--check",
    is_flag=True,
    help="Compare presets (those named, or all of the hub's) with the hub. Writes nothing; exit status 1 "
    "where something differs.",
)
@json_option
def pin(
    *,
    arguments: tuple[str, ...],
    name: str | None,
    readout: Readout | None,
    quantization: str | None,
    force: bool,
    check: bool,
    as_json: bool,
) -> None:
    """Pin FILE of a Hugging Face repository as a preset.

    A branch or tag (main, where none is given) becomes the commit that it means now. Size and SHA-256 are the
    ones that the hub publishes; of the file only the header is read, which tells of a decision head, and of
    a model that cannot be served. HF_TOKEN, where it is set, goes to the hub alone. A preset that holds the
    same file already moves to the new commit and keeps everything else.

    \b
    Examples:
      semif model pin hf:bartowski/Qwen_Qwen3.5-2B-GGUF Qwen_Qwen3.5-2B-Q4_K_M.gguf --name qwen3.5-2b
      semif model pin --check kev-0.8b lev
    """
    if check:
        if name or readout or quantization or force:
            raise click.UsageError("--check writes nothing; leave the other options out")
        _check_pins(arguments, as_json=as_json)
        return
    if len(arguments) != 2:
        raise click.UsageError("name a repository (hf:OWNER/REPOSITORY) and one of its files")
    model, file = arguments
    today = datetime.now(UTC).date()
    pinned = pin_model(model, file, today, name=name, readout=readout, quantization=quantization, force=force)
    preset, previous = pinned.preset, pinned.previous
    moved = previous is None or not previous.model.is_as(preset.model)
    if as_json:
        print_json({"path": str(pinned.path), "moved": moved, "preset": preset.model_dump(mode="json")})
        return
    click.echo(f"{pinned.path}: {'written' if previous is None else 'moved' if moved else 'as it was'}")
    print_pin(preset)
    if preset.prompt.head:
        click.echo(f"  head     {preset.prompt.head}")
    click.echo("Read the license, then try it here or put it into an environment:")
    click.echo(f"  semif serve {preset.name}")
    click.echo(f'  preset = "{preset.name}" in [model] of environments/ENV.toml, and semif deploy ENV')


def _check_pins(names: Sequence[str], *, as_json: bool) -> None:
    presets = [load_preset(name) for name in names or preset_names()]
    if not names:
        presets = [preset for preset in presets if preset.model.scheme == "hf"]
    found = {preset.name: differences(preset) for preset in presets}
    if as_json:
        print_json({"presets": found})
    else:
        today = datetime.now(UTC).date()
        for name, problems in found.items():
            for problem in problems:
                click.echo(f"{name}: {problem}")
            if not problems:
                click.echo(f"{name}: as pinned; note the day by checked_on = {today} in [model]")
    if any(found.values()):
        raise SystemExit(1)


@click.command("pin-checkpoint")
@click.argument("model", metavar="hf:REPO[@REVISION]")
@click.option("--name", metavar="PRESET", help="The preset's name; default: after the repository's.")
@click.option("--force", is_flag=True, help="Replace a checkpoint's preset of that name.")
@json_option
def pin_checkpoint(*, model: str, name: str | None, force: bool, as_json: bool) -> None:
    """Pin a checkpoint of Strands Decider, and its base model.

    For environments of kind "decider" (docs/decider.md). Every file that the server reads is pinned, of the
    checkpoint and of the base model that it names at a commit. The hashes are those of the publisher's
    MANIFEST.sha256, and must be the hub's too; weights are not downloaded. Writes
    models/checkpoints/PRESET.toml.

    \b
    Example:
      semif model pin-checkpoint hf:StrandsAgents/strands-decider-2B-qwen3.5-v1-2610
    """
    preset = pin_at_hub(model, name=name, force=force)
    path = checkpoint_path(preset.name)
    if as_json:
        print_json({"path": str(path), "preset": preset.model_dump(mode="json")})
        return
    click.echo(f"{path}: written")
    print_pins(preset)
    click.echo("Read the licence, and put it into an environment of kind decider:")
    click.echo(f'  preset = "{preset.name}", format = "prefix" in [model] of environments/ENV.toml')
