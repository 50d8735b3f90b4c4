"""`semif model build` and `adopt`: packing a model, from the hub or from an archive that is there."""

from pathlib import Path
from typing import get_args

import click

from semif.cli.output import json_option, print_json
from semif.cli.progress import progress_on_stderr
from semif.models.any_preset import load_any_preset
from semif.models.packaging.build import build_model
from semif.models.presets import ModelFormat, load_preset, preset_names
from semif.models.sources.adopt import adopt as adopt_archive


@click.command("build")
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


@click.command("adopt")
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
