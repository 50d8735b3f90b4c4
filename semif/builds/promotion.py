"""Promotion: the image and the model that one environment was tried with, in another one, unchanged.

Nothing is built. The image keeps its digest and the archive its hash; TO's lock says where both were built.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from semif.aws.clients import aws_errors
from semif.aws.s3 import NoBucketError, S3Uri, head
from semif.aws.stacks import Stack, require_stack
from semif.builds.environment_builds import MODELS_PREFIX
from semif.builds.scan_gate import OnNote, check_scans
from semif.environment.environment import Environment
from semif.errors import ProblemsError, SemifError
from semif.images.base_images import Container
from semif.images.image_copy import EcrRepository, copy_image, has_image
from semif.images.image_ref import ImageRef
from semif.images.regional_images import regional_image
from semif.lock.check import check_lock
from semif.lock.lock_file import BuiltImage, Lock, LockedImage, PublishedImage, read_lock, write_lock
from semif.lock.locked_model import ArchivedModel, HubModel, LockedModel, UnpackedModel
from semif.models.packaging.build import model_place
from semif.models.packaging.carry import Carrier
from semif.models.presets import Preset
from semif.progress import Progress, silent
from semif.target.published_image import published_image_problems
from semif.target.target import Target
from semif_adapter.archive.manifest import MANIFEST_FILE

IMAGE_RECORDS = ("sbom.cdx.json", "licences.txt")
"""What buildspec.yml stores of an image under `images/<digest>/` in the bucket."""


@dataclass(frozen=True)
class Promotion:
    """What was done."""

    lock: Lock
    image_copied: bool
    """False where it was there, or is none of ours."""
    model_copied: bool
    lock_changed: bool


def promote(
    source: Target, target: Target, progress: Progress = silent, on_note: OnNote = lambda _: None
) -> Promotion:
    """Copy what `source`'s lock pins to where `target` takes it from, and write `target`'s lock.

    What is there already is not copied again. Raises ProblemsError, with all of it and before anything is
    copied, where the two environments do not run the same image and model in the same way; SemifError where
    `target`'s Artifacts stack is missing and where a copy fails, BuildError where ECR finds something
    critical in the copied image: the lock on disk is then as it was.
    """
    target.refuse_example()
    lock = source.read_lock()
    check_fit(source.environment, target.environment)
    stack = None
    if target.environment.preset is not None:
        stack = require_stack(
            target.aws,
            target.environment.artifacts_stack,
            missing=f"run `semif promote {source.environment.name} {target.command_line}`, which makes it",
        )
    wanted = _promoted(lock, target, stack)
    check_lock(
        wanted,
        target.environment,
        source=f"{source.environment.name} to {target.environment.name}",
        bases=True,
    )
    _check_published(target)
    carrier = Carrier(source.aws.s3, target.aws.s3, source.account == target.account, progress)
    model_copied = _carry_model(carrier, lock.model, wanted.model, target.environment)
    for missing in _carry_records(carrier, lock, wanted):
        on_note(missing)
    image_copied = _carry_images(carrier, source, target, lock, wanted)
    if built := [image.uri for image in wanted.images.values() if isinstance(image, BuiltImage)]:
        check_scans(target, built, on_note)
    changed = _read(target) != wanted
    if changed:
        write_lock(target.lock_path, wanted)
    return Promotion(wanted, image_copied, model_copied, changed)


def promoted_lock(target: Target) -> Lock | None:
    """The lock of a target that was promoted to, which is deployed as it is; None where builds write it.

    Raises as `Target.read_lock` where it does not fit its environment, and SemifError where what it pins is
    there no longer: it goes with an Artifacts stack that is destroyed, and a new stack has other places.
    """
    lock = _read(target)
    if lock is None or lock.built_in is None:
        return None
    lock = target.read_lock()
    if missing := [*_missing_images(target, lock), *_missing_model(target, lock)]:
        raise SemifError(
            f"{target.lock_path} pins what is there no longer: {', '.join(missing)}; run "
            f"`semif promote {lock.origin.environment} {target.command_line}`, which copies it again"
        )
    return lock


def _missing_images(target: Target, lock: Lock) -> Iterator[str]:
    for image in lock.images.values():
        if isinstance(image, BuiltImage):
            repository = EcrRepository(target.aws.ecr, image.uri.repository)
            if not has_image(repository, image.uri.digest):
                yield str(image.uri)


def _missing_model(target: Target, lock: Lock) -> Iterator[str]:
    model = lock.model
    if isinstance(model, HubModel):
        return
    place = S3Uri(model.bucket, model.key.rstrip("/"))
    # The manifest is the last of a prefix's files to be written.
    present = place.child(MANIFEST_FILE) if isinstance(model, UnpackedModel) else place
    try:
        found = head(target.aws.s3, present)
    except NoBucketError:
        found = None
    if found is None:
        yield model.s3_uri


def _read(target: Target) -> Lock | None:
    try:
        return read_lock(target.lock_path)
    except SemifError:  # there is none, or none that counts
        return None


def check_fit(source: Environment, target: Environment) -> None:
    """Raise ProblemsError where `target` would not run what `source` was tried with, in the same way."""
    problems = [
        f"{key} is {there!r} in {source.name} and {here!r} in {target.name}; make them the same"
        for key, there, here in _ways(source, target)
        if there != here
    ]
    if source.name == target.name:
        problems = [f"{source.name} is promoted to itself; name another environment"]
    if problems:
        raise ProblemsError(f"{source.name} to {target.name}", problems)
    target.check_head()


def _ways(source: Environment, target: Environment) -> Iterator[tuple[str, object, object]]:
    """Keys that decide which image and archive are run, and how the model is read."""
    yield "kind", source.kind, target.kind
    yield "the accelerator", _accelerators(source), _accelerators(target)
    yield "model.preset", source.model.preset, target.model.preset
    yield "model.format", source.model.format, target.model.format
    yield "the readout", _readout(source), _readout(target)


def _accelerators(environment: Environment) -> str:
    return ", then ".join(placed.accelerator for placed in environment.placements)


def _readout(environment: Environment) -> str | None:
    preset = environment.preset
    if not environment.serving_kind.runs_adapter or not isinstance(preset, Preset):
        return None
    return environment.adapter.readout or preset.prompt.readout


def _promoted(lock: Lock, target: Target, stack: Stack | None) -> Lock:
    """The lock of `target` after the copy."""
    images = {
        key: _promoted_image(image, placed.base_container, target, stack)
        for (key, image), placed in zip(lock.images.items(), target.environment.placements, strict=False)
    }
    model: LockedModel = lock.model
    if stack is not None and not isinstance(model, HubModel):
        model = model.model_copy(update={"s3_uri": _new_address(model, stack, target.environment)})
    return Lock.model_validate(
        {
            **dict(lock),
            "environment": target.environment.name,
            "account": target.account,
            "region": target.aws.region,
            "fallback_image": None,
            **images,
            "model": model,
            "built_in": lock.origin,
        }
    )


def _promoted_image(
    image: LockedImage, container: Container, target: Target, stack: Stack | None
) -> LockedImage:
    match image:
        case BuiltImage() as built:
            assert stack is not None
            uri = ImageRef(stack.output("RepositoryUri"), built.uri.digest)
            return built.model_copy(update={"uri": uri})
        case PublishedImage(base=base):
            return PublishedImage(uri=regional_image(container, target.aws.region), base=base)
        case _:
            return image


def _new_address(model: ArchivedModel | UnpackedModel, stack: Stack, environment: Environment) -> str:
    assert environment.preset is not None
    models = S3Uri(stack.output("BucketName"), MODELS_PREFIX)
    place = model_place(models, environment.preset.manifest(), model.format)
    return f"{place}/" if isinstance(model, UnpackedModel) else str(place)


def _check_published(target: Target) -> None:
    with aws_errors():
        problems = published_image_problems(target.aws, target.environment)
    if problems:
        raise SemifError("\n".join(problems))


def _carry_model(
    carrier: Carrier, model: LockedModel, new_model: LockedModel, environment: Environment
) -> bool:
    if isinstance(model, ArchivedModel) and isinstance(new_model, ArchivedModel):
        place, new_place = S3Uri(model.bucket, model.key), S3Uri(new_model.bucket, new_model.key)
        return carrier.carry_archive(place, new_place, model.manifest_sha256, model.archive_sha256)
    if isinstance(model, UnpackedModel) and isinstance(new_model, UnpackedModel):
        assert environment.preset is not None
        place, new_place = (S3Uri(one.bucket, one.key.rstrip("/")) for one in (model, new_model))
        return carrier.carry_files(place, new_place, environment.preset.manifest())
    return False  # the container itself downloads it from the hub


def _carry_records(carrier: Carrier, lock: Lock, wanted: Lock) -> Iterator[str]:
    """Copy what is stored of the images; yields a line for each that is not there."""
    if isinstance(lock.model, HubModel) or isinstance(wanted.model, HubModel):
        return
    for image in wanted.images.values():
        if not isinstance(image, BuiltImage):
            continue
        for name in IMAGE_RECORDS:
            key = S3Uri("", "images").child(image.uri.digest.removeprefix("sha256:"), name).key
            place = S3Uri(lock.model.bucket, key)
            if not carrier.carry_small(place, S3Uri(wanted.model.bucket, key)):
                yield (
                    f"{place} is not there, so it was not copied: `semif build {lock.origin.environment}` "
                    "stores it; promote again"
                )


def _carry_images(carrier: Carrier, source: Target, target: Target, lock: Lock, wanted: Lock) -> bool:
    """Whether any was not there yet."""
    copied = [
        _carry_image(carrier, source, target, old, new)
        for old, new in zip(lock.images.values(), wanted.images.values(), strict=False)
    ]
    return any(copied)


def _carry_image(
    carrier: Carrier, source: Target, target: Target, old: LockedImage, new: LockedImage
) -> bool:
    if not isinstance(old, BuiltImage) or not isinstance(new, BuiltImage):
        return False  # AWS's own registry of the region has it, or nobody does
    return copy_image(
        EcrRepository(source.aws.ecr, old.uri.repository),
        EcrRepository(target.aws.ecr, new.uri.repository),
        new.uri.digest,
        new.tag,
        carrier.progress,
    )
