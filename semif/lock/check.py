"""Whether a lock is of its environment, and of the images that the project pins."""

from collections.abc import Iterator
from pathlib import Path

from semif.aws.arn import Arn
from semif.environment.environment import Environment
from semif.errors import ProblemsError
from semif.images.regional_images import regional_image, registry_of
from semif.lock.lock_file import BuiltImage, Lock, LockedImage, PublishedImage, UnbuiltImage
from semif.lock.locked_model import HubModel, LockedModel


def check_lock(
    lock: Lock,
    environment: Environment,
    *,
    source: str | Path,
    bases: bool = False,
) -> None:
    """Check that `lock` is of this environment and holds its model.

    With `bases` its images must extend the containers that adapter_image/dlc.toml pins, from whatever
    registry: the digest is the pin. A published image must be the pinned one in any case, in the registry of
    the lock's region. Raises ProblemsError with all problems at once, SemifError where no container is
    pinned; `source` names the lock in the message.
    """
    problems = [*_mismatches(lock, environment), *(_base_mismatches(lock, environment) if bases else ())]
    if problems:
        raise ProblemsError(source, problems)


def _base_mismatches(lock: Lock, environment: Environment) -> Iterator[str]:
    for (key, image), placed in zip(lock.images.items(), environment.placements, strict=False):
        base = placed.base_image
        if not isinstance(image, UnbuiltImage) and image.base.digest != base.digest:
            yield (
                f"{key}.base is {str(image.base)!r}, adapter_image/dlc.toml pins {str(base)!r} for "
                f"{placed.base_container}; run `semif build {environment.name}`"
            )


def _mismatches(lock: Lock, environment: Environment) -> Iterator[str]:
    rebuild = f"run `semif build {environment.name}`"
    for key, locked, wanted in (
        ("environment", lock.environment, environment.name),
        ("kind", lock.kind, environment.kind),
        ("account", lock.account, environment.account),
        ("region", lock.region, environment.region),
    ):
        if wanted is not None and locked != wanted:
            yield f"{key} is {locked!r}, the environment {environment.name} says {wanted!r}; {rebuild}"
    yield from (f"{problem}; {rebuild}" for problem in _model_mismatches(lock.model, environment))
    role = Arn.parse(environment.existing.role_arn or "")
    if role is not None and role.account != lock.account:
        yield (
            f"existing.role_arn is of account {role.account}, the lock of {lock.account}: a Model takes a "
            "role of its own account"
        )
    if environment.fallback is not None and lock.fallback_image is None:
        yield f"fallback_image is missing, of the CPU types that end the pool; {rebuild}"
    for (key, image), placed in zip(lock.images.items(), environment.placements, strict=False):
        yield from (f"{key}.{problem}; {rebuild}" for problem in _image_mismatches(image, lock, placed))


def _image_mismatches(image: LockedImage, lock: Lock, environment: Environment) -> Iterator[str]:
    if isinstance(image, BuiltImage):
        registry = registry_of(lock.account, lock.region)
        if image.uri.registry != registry:
            yield f"uri is in {image.uri.registry!r}, allowed is {registry!r}"
    if isinstance(image, PublishedImage) and not environment.serving_kind.runs_adapter:
        published = regional_image(environment.base_container, lock.region)
        if image.uri != published:
            yield (
                f"uri is {str(image.uri)!r}, adapter_image/dlc.toml pins {str(published)!r} for "
                f"{environment.base_container} in {lock.region}"
            )


def _model_mismatches(model: LockedModel, environment: Environment) -> Iterator[str]:
    wanted, preset = environment.model, environment.preset
    if isinstance(model, HubModel):
        keys = ("hf_repo", "hf_file", "revision")
        mine = {key: getattr(model, key) for key in keys}
    else:
        mine = {"preset": model.preset, "format": model.format}
    for key, locked in mine.items():
        if locked != (said := getattr(wanted, key)):
            yield f"model.{key} is {locked!r}, the environment {environment.name} says {said!r}"
    if isinstance(model, HubModel):
        return
    if environment.existing.bucket not in {None, model.bucket}:
        yield (
            f"model.s3_uri is in the bucket {model.bucket}, the environment {environment.name} says "
            f"{environment.existing.bucket}"
        )
    if preset is not None and model.manifest_sha256 != preset.manifest().sha256:
        yield (
            f"model.manifest_sha256 is {model.manifest_sha256}, the preset {preset.name} is "
            f"{preset.manifest().sha256}: this is not the pinned model"
        )
    if model.manifest_sha256 not in model.key:
        yield f"model.s3_uri is {model.s3_uri!r}, its key must hold model.manifest_sha256"
