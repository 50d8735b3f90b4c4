"""Locks for synth checks: `python tests/infra/example_locks.py` writes tests/infra/locks/*.json anew.

They pin the real presets and base images, beside an image and an archive that nobody built: the account is
AWS's documentation account, and `"example": true` keeps them from being deployed. Run this after a change of
an environment, of its preset or of adapter_image/dlc.toml.
"""

import hashlib
from pathlib import Path

from semif.environment.environment import Environment, environment_names, load_environment
from semif.images.base_images import base_image
from semif.images.image_ref import ImageRef
from semif.images.regional_images import regional_image, registry_of
from semif.lock.lock_file import BuiltImage, Lock, PublishedImage, write_lock
from semif.lock.locked_model import ArchivedModel, HubModel, UnpackedModel

LOCKS = Path(__file__).parent / "locks"
ACCOUNT = "111122223333"
REGION = "eu-central-1"


def example_lock(environment: Environment) -> Lock:
    """The lock that builds of this checkout might have left for `environment`."""
    account, region = environment.account or ACCOUNT, environment.region or REGION
    return Lock(
        environment=environment.name,
        kind=environment.kind,
        account=account,
        region=region,
        **{
            key: _image(placed, key, account, region)
            for key, placed in zip(("image", "fallback_image"), environment.placements, strict=False)
        },
        model=_model(environment),
        example=True,
    )


def _model(environment: Environment) -> ArchivedModel | UnpackedModel | HubModel:
    table, preset = environment.model, environment.preset
    if preset is None:
        return HubModel(hf_repo=table.hf_repo, hf_file=table.hf_file, revision=table.revision)
    manifest_sha256 = preset.manifest().sha256
    bucket = environment.existing.bucket or f"semif-{environment.name}-example"
    place = f"s3://{bucket}/models/{manifest_sha256}"
    pins = {"preset": preset.name, "manifest_sha256": manifest_sha256}
    if table.format == "prefix":
        return UnpackedModel(**pins, s3_uri=f"{place}/files/", format="prefix")
    return ArchivedModel(
        **pins, s3_uri=f"{place}/model.tar.gz", archive_sha256=_hash("archive"), format="tar.gz"
    )


def _image(environment: Environment, key: str, account: str, region: str) -> BuiltImage | PublishedImage:
    base = base_image(environment.base_container)
    if not environment.serving_kind.runs_adapter:
        return PublishedImage(uri=regional_image(environment.base_container, region), base=base)
    repository = f"{registry_of(account, region)}/semif-{environment.name}-example"
    return BuiltImage(
        uri=ImageRef(repository, f"sha256:{_hash(key)}"), source_sha256=_hash("source"), base=base
    )


def _hash(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()


if __name__ == "__main__":
    for name in environment_names():
        write_lock(LOCKS / f"{name}.json", example_lock(load_environment(name)))
