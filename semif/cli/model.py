"""`semif model`: what can be packed, and packing it."""

import click

from semif.cli.common import json_option, print_json, progress_on_stderr
from semif.packaging.build import build_model
from semif.presets import load_preset, preset_names


@click.group()
def command() -> None:
    """Pack models into archives that SageMaker hosts."""


@command.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the presets of models/."""
    presets = [load_preset(name) for name in preset_names()]
    if as_json:
        print_json({"presets": [preset.model_dump(mode="json") for preset in presets]})
        return
    width = max(len(preset.name) for preset in presets)
    for preset in presets:
        size = f"{preset.model.bytes / 1e6:,.0f} MB"
        click.echo(f"{preset.name:{width}}  {size:>8}  {preset.quantization:6}  {preset.description}")


@command.command("build")
@click.argument("preset")
@click.option(
    "--output",
    required=True,
    metavar="DIR_OR_S3",
    help="A folder, which gets model.tar.gz and model-manifest.json, or s3://bucket/prefix.",
)
@json_option
def build(preset: str, output: str, as_json: bool) -> None:
    """Fetch PRESET, verify it and pack it into model.tar.gz.

    Size and SHA-256 are checked against the preset before anything is packed or uploaded. In S3 the archive's
    key is its manifest's SHA-256: where it exists, nothing is downloaded and nothing is uploaded.

    \b
      semif model build embedded --output build/
      semif model build qwen3.5-4b --output s3://my-bucket/models
    """
    with progress_on_stderr() as progress:
        built = build_model(load_preset(preset), output, progress)
    if as_json:
        print_json(built.as_json())
        return
    what = "was there already" if built.reused else f"{built.archive_bytes:,} bytes"
    click.echo(f"{built.place}: {what}")
    click.echo(f"  archive SHA-256   {built.archive_sha256}")
    click.echo(f"  manifest SHA-256  {built.manifest_sha256}")
