"""Whether a lock is of its environment, and of the images that the project pins."""

from collections.abc import Iterator
from pathlib import Path

from semif.environment.environment import Environment
from semif.errors import ProblemsError
from semif.images.image_ref import ImageRef
from semif.images.regional_images import regional_image, registry_of
from semif.lock.lock_file import BuiltImage, Lock, PublishedImage, UnbuiltImage
from semif.lock.locked_model import HubModel, LockedModel


def check_lock(
    lock: Lock,
    environment: Environment,
    *,
    source: str | Path,
    base: ImageRef | None = None,
) -> None:
    """Check that `lock` is of this environment and holds its model.

    `base` is the container that the environment's image must extend; without it any will do. A published
    image must be the one that adapter_image/dlc.toml pins, in the registry of the lock's region. Raises
    ProblemsError with all problems at once; `source` names the lock in the message.
    """
    problems = list(_mismatches(lock, environment))
    if base is not None and not isinstance(lock.image, UnbuiltImage) and lock.image.base != base:
        problems.append(
            f"image.base is {str(lock.image.base)!r}, adapter_image/dlc.toml pins {str(base)!r} for "
            f"{environment.base_container}; run `semif build {environment.name}`"
        )
    if problems:
        raise ProblemsError(source, problems)


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
    if isinstance(lock.image, BuiltImage):
        registry = registry_of(lock.account, lock.region)
        if lock.image.uri.registry != registry:
            yield f"image.uri is in {lock.image.uri.registry!r}, allowed is {registry!r}; {rebuild}"
    if isinstance(lock.image, PublishedImage) and not environment.serving_kind.runs_adapter:
        published = regional_image(environment.base_container, lock.region)
        if lock.image.uri != published:
            yield (
                f"image.uri is {str(lock.image.uri)!r}, adapter_image/dlc.toml pins {str(published)!r} for "
                f"{environment.base_container} in {lock.region}; {rebuild}"
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
    if preset is not None and model.manifest_sha256 != preset.manifest().sha256:
        yield (
            f"model.manifest_sha256 is {model.manifest_sha256}, the preset {preset.name} is "
            f"{preset.manifest().sha256}: this is not the pinned model"
        )
    if model.manifest_sha256 not in model.key:
        yield f"model.s3_uri is {model.s3_uri!r}, its key must hold model.manifest_sha256"
