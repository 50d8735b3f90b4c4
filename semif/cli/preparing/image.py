"""`semif image`: the pins of the published containers."""

from datetime import UTC, datetime
from pathlib import Path

import click

from semif.aws.clients import Aws
from semif.cli.output import InOrder, json_option, print_json
from semif.images.base_images import PIN_NAMES, base_images_file
from semif.images.pin_from_registry import ImagePin, find_pin, find_regional_pin, pin_as_json, write_pin
from semif_adapter.archive.decision_head import FIRST_RELEASE, knows_heads


@click.group(cls=InOrder)
def command() -> None:
    """Pin the published containers that run, or that our image extends."""


@command.command()
@click.argument("base", type=click.Choice(tuple(PIN_NAMES)))
@click.option("--region", metavar="REGION", help="Look in AWS's private registry of this region, by ECR.")
@click.option("--profile", metavar="NAME", help="AWS profile for --region; default: AWS_PROFILE.")
@click.option("--registry", metavar="URL", help="Look in this mirror of the public registry.")
@click.option("--tag", metavar="TAG", help="Another tag than the one in dlc.toml; it is written there too.")
@click.option(
    "--heads",
    is_flag=True,
    help="Take the newest, of any major version, whose llama.cpp has decision heads (Kev, Laya, Julia-1).",
)
@click.option("--check", is_flag=True, help="Write nothing; exit status 1 where the tag has moved.")
@json_option
def pin(
    *,
    base: str,
    region: str | None,
    profile: str | None,
    registry: str | None,
    tag: str | None,
    heads: bool,
    check: bool,
    as_json: bool,
) -> None:
    """Resolve a container's tag to the digest of one image, and pin it.

    Tags move; adapter_image/dlc.toml therefore names the container by digest: that of the image for the
    platform (Arm for arm64, x86-64 for the others), never of an index of several. It is written with the
    day, and with the llama.cpp build or release where the image names it. Where the registry lists full
    versions (server-sagemaker-cpu-v1.0.1) they are shown, and the newest of the tag's major one is taken.
    Without --region no account is needed. A model whose decision head is a part of llama.cpp needs a newer
    container than most: --heads looks for one, or says that none is published yet.

    \b
    Examples:
      semif image pin cpu
      semif image pin cuda --heads
      semif image pin arm64 --region eu-central-1
      semif image pin cuda --check
      semif image pin decider
    """
    if region and registry:
        raise click.UsageError("--region has a registry of its own, leave --registry out")
    if heads and tag:
        raise click.UsageError("--heads looks for a tag, leave --tag out")
    if heads and base == "decider":
        raise click.UsageError("--heads is about llama.cpp, which the container for Strands Decider has not")
    if profile and not region:
        raise click.UsageError("--profile goes with --region; the public registry needs no account")
    path = base_images_file()
    container = PIN_NAMES[base]
    if region:
        aws = Aws.from_profile(region=region, profile=profile)
        image_pin = find_regional_pin(path, container, aws, tag=tag, heads=heads)
    else:
        image_pin = find_pin(path, container, tag=tag, heads=heads, registry_url=registry)
    if not check:
        write_pin(path, image_pin, datetime.now(UTC).date())
    if as_json:
        print_json({**pin_as_json(base, image_pin), "written": not check})
    else:
        _tell(base, image_pin, path, check=check)
    if check and image_pin.moved:
        raise SystemExit(1)


def _tell(base: str, image_pin: ImagePin, path: Path, *, check: bool) -> None:
    if image_pin.versions:
        click.echo(f"versions: {', '.join(image_pin.versions)}")
    of_llama_cpp = image_pin.container != "decider"
    if not image_pin.moved:
        click.echo(f"{image_pin.repository}:{image_pin.tag} means what is pinned: {image_pin.current.digest}")
    else:
        build = f" ({image_pin.llama_cpp_build or 'names no llama.cpp build'})" if of_llama_cpp else ""
        click.echo(f"{image_pin.repository}:{image_pin.tag}")
        click.echo(f"  pinned  {image_pin.pinned.digest or 'nothing'}")
        click.echo(f"  found   {image_pin.current.digest}{build}")
        hint = f"run `semif image pin {base}`" if check else "look at `git diff`, then `semif build ENV`"
        click.echo(f"the tag has moved; {hint}" if check else f"written to {path}; {hint}")
    if of_llama_cpp and not knows_heads(image_pin.llama_cpp_build):
        click.echo(
            f"not known to have decision heads (Kev, Laya, Julia-1), which need llama.cpp {FIRST_RELEASE}; "
            f"`semif image pin {base} --heads` looks for one that has"
        )
