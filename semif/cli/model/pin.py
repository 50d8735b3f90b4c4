"""`semif model`: what can be packed, and packing it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import click

from semif.cli.options import environment_argument, target_options
from semif.cli.output import InOrder, json_option, print_json
from semif.cli.progress import progress_on_stderr
from semif.deployment.registry import APPROVED, register
from semif.models.any_preset import any_preset_names, load_any_preset
from semif.models.check_at_hub import differences
from semif.models.checkpoint.pin_checkpoint import checkpoint_path
from semif.models.checkpoint.pin_checkpoint import pin_checkpoint as pin_at_hub
from semif.models.packaging.build import build_model
from semif.models.pin_from_hub import pin_model
from semif.models.presets import AnyPreset, ModelFormat, Preset, load_preset, preset_names
from semif.models.sources.adopt import adopt as adopt_archive
from semif.target.target import open_target
from semif_adapter.contract.wire import Readout


@click.group(cls=InOrder)
def command() -> None:
    """Pin models, and pack them into archives that SageMaker hosts."""


@command.command("list")
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


@command.command("show")
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
        _print_pins(preset)
        return
    _print_pin(preset)
    asked = f"head ({preset.prompt.head})" if preset.prompt.head else preset.prompt.readout
    click.echo(f"  readout  {asked}")
    if preset.model.scheme == "hf":
        checked = preset.model.checked_on
        unasked = f"not yet; run `semif model pin --check {name}` where the hub can be reached"
        click.echo(f"  checked  {f'on {checked}' if checked else unasked}")
    for published in preset.published:
        click.echo(f"Published, and not measured here ({published.source}, {published.on}):")
        click.echo(f"  {published.says}")


def _print_pin(preset: Preset) -> None:
    pin = preset.model
    click.echo(f"  source   {pin.source}")
    if pin.revision:
        click.echo(f"  {'commit ' if pin.scheme == 'hf' else 'version'}  {pin.revision}")
    click.echo(f"  file     {pin.file}, {pin.bytes:,} bytes")
    click.echo(f"  SHA-256  {pin.sha256}")
    click.echo(f"  license  {preset.license}")


def _print_pins(preset: AnyPreset) -> None:
    """The pins of a preset of many files."""
    for key, value in {**preset.pins(), "license": preset.license}.items():
        shown = f"{value:,}" if isinstance(value, int) else value
        click.echo(f"  {key.replace('_', ' '):13}  {shown}")


@command.command("build")
@click.argument("preset")
@click.option(
    "--output",
    required=True,
    metavar="DIR_OR_S3",
    help="A folder, which gets the model and model-manifest.json, or s3://bucket/prefix.",
)
@click.option(
    "--format",
    "model_format",
    type=click.Choice(get_args(ModelFormat)),
    default="tar.gz",
    show_default=True,
    help="One archive, or the files as they are, with nothing to unpack at start.",
)
@json_option
def build(preset: str, output: str, model_format: ModelFormat, as_json: bool) -> None:
    """Fetch PRESET, verify it and pack it into model.tar.gz.

    Size and SHA-256 are checked against the preset before anything is packed or uploaded, and llama.cpp is
    tried on the file: a model that it cannot serve is refused here. Of a checkpoint (semif model
    pin-checkpoint) all files are published as they are, --format prefix, and checked against its publisher's
    MANIFEST.sha256 too. In S3 the model's
    key is its manifest's SHA-256: where it exists, nothing is downloaded and nothing is uploaded.

    \b
    Examples:
      semif model build embedded --output build/
      semif model build qwen3.5-4b --output s3://my-bucket/models
    """
    with progress_on_stderr() as progress:
        built = build_model(load_any_preset(preset), output, progress, model_format=model_format)
    if built.untried_because:
        click.echo(
            f"llama.cpp was not tried on the model: {built.untried_because}; its container tries it first",
            err=True,
        )
    if as_json:
        print_json(built.as_json())
        return
    size = f"{built.archive_bytes:,} bytes" if built.archive_bytes is not None else "files as they are"
    click.echo(f"{built.address}: {'was there already' if built.reused else size}")
    if built.archive_sha256 is not None:
        click.echo(f"  archive SHA-256   {built.archive_sha256}")
    click.echo(f"  manifest SHA-256  {built.manifest_sha256}")


@command.command("adopt")
@click.argument("archive", type=click.Path(path_type=Path))
@json_option
def adopt(archive: Path, as_json: bool) -> None:
    """Take the GGUF of ARCHIVE over in place of a download.

    ARCHIVE is a model.tar.gz of AWS's sample, or any other that holds one GGUF. The file goes into the cache
    of verified downloads, if a preset pins its SHA-256; what needs that model then downloads nothing.

    \b
    Example:
      semif model adopt model.tar.gz
    """
    with progress_on_stderr() as progress:
        adopted = adopt_archive(archive, [load_preset(name) for name in preset_names()], progress)
    preset = adopted.preset
    if as_json:
        print_json({"preset": preset.name, "sha256": preset.model.sha256, "path": str(adopted.path)})
        return
    click.echo(f"{adopted.path}: the model of the preset {preset.name}")
    click.echo("Pack it with our manifest, or publish it where `semif build` finds it:")
    click.echo(f"  semif model build {preset.name} --output build/")
    click.echo(f"  semif model build {preset.name} --output s3://BUCKET/models")


@command.command("pin")
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
    _print_pin(preset)
    if preset.prompt.head:
        click.echo(f"  head     {preset.prompt.head}")
    click.echo("Read the license, then try it here or put it into an environment:")
    click.echo(f"  semif serve {preset.name}")
    click.echo(f'  preset = "{preset.name}" in [model] of environments/ENV.toml, and semif deploy ENV')


@command.command("pin-checkpoint")
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
    _print_pins(preset)
    click.echo("Read the licence, and put it into an environment of kind decider:")
    click.echo(f'  preset = "{preset.name}", format = "prefix" in [model] of environments/ENV.toml')


@command.command("register")
@environment_argument
@target_options
@json_option
def register_lock(environment: str, *, on_this_machine: bool, profile: str | None, as_json: bool) -> None:
    """Register what ENV's lock pins in SageMaker's Model Registry.

    Image and model become a version of the model package group of [registry], with their hashes and the
    prompt's version, pending somebody's approval; the group is made where it is missing. What is registered
    already is not registered again. Where [registry] has require_approval, `semif deploy ENV` deploys only
    what was approved.

    \b
    Example:
      semif model register prod
    """
    done = register(open_target(environment, on_this_machine=on_this_machine, profile=profile))
    package = done.package
    if as_json:
        print_json({"arn": package.arn, "status": package.status, "created": done.created})
        return
    click.echo(f"{package.arn}: {package.status}{'' if done.created else ', registered before'}")
    if package.status != APPROVED:
        click.echo("Whoever may approve it does so with")
        click.echo(
            f"  aws sagemaker update-model-package --model-package-arn {package.arn} "
            "--model-approval-status Approved"
        )


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
