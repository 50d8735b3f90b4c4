"""Pruning: what nothing names, except for the newest of it, is deleted for good."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from semif.aws.s3 import delete_versions
from semif.aws.stacks import require_stack
from semif.aws.storage_prices import usd_per_month
from semif.builds.pruning.named import Named, find_named
from semif.builds.pruning.stored import Kind, StoredObjects, stored_objects
from semif.errors import ProblemsError
from semif.images.image_copy import EcrRepository
from semif.images.stored_images import StoredImage, bytes_freed, delete_images, stored_images
from semif.target.target import Target

_OUR_TAG = re.compile(r"[0-9a-f]{64}-[0-9a-f]{32}")
"""What buildspec.yml tags images with; others in the repository are somebody else's."""


@dataclass(frozen=True)
class Item:
    """Something in the bucket or the repository, and why it stays."""

    kind: Kind | Literal["image"]
    sha256: str
    address: str
    written: datetime
    bytes: int
    """In all versions; of an image its layers, of which some may be other images' too."""
    kept_by: str | None
    """Who names it, or that it is one of the newest; None: it can go."""


@dataclass(frozen=True)
class Pruning:
    """What would go, what would stay, and what that is worth."""

    bucket: str
    repository: str | None
    """None where no image is built."""
    items: tuple[Item, ...]
    s3_bytes: int
    """Of what would go."""
    ecr_bytes: int
    """Of the layers that no other image has."""
    older_bytes: int
    """Older versions of what stays, which stay too."""
    versions: tuple[tuple[str, str], ...]
    """Key and id of what would go from the bucket."""

    @property
    def going(self) -> tuple[Item, ...]:
        """What would go."""
        return tuple(item for item in self.items if item.kept_by is None)

    @property
    def freed_bytes(self) -> int:
        """In all."""
        return self.s3_bytes + self.ecr_bytes

    @property
    def usd_per_month(self) -> float:
        """What storing it costs, roughly."""
        return usd_per_month(s3_bytes=self.s3_bytes, ecr_bytes=self.ecr_bytes)


def find_prunable(target: Target, keep: int) -> Pruning:
    """What of the environment's bucket and repository nothing names.

    Of the models, sources and images that nothing names, the `keep` newest of each kind stay. Deletes
    nothing. Raises SemifError as `find_named` does, and where there is no Artifacts stack.
    """
    stack = require_stack(
        target.aws,
        target.environment.artifacts_stack,
        missing=f"there is nothing of {target.environment.name} to prune",
    )
    bucket, uri = stack.output("BucketName"), stack.outputs.get("RepositoryUri")
    named = find_named(target.aws, target.lock_path.parent)
    repository = EcrRepository(target.aws.ecr, uri) if uri else None
    images = stored_images(repository) if repository else ()
    image_items = _of_kind(_image_items(images, uri, named), keep)
    staying = {item.sha256: "its image" for item in image_items if item.kept_by is not None}
    objects = stored_objects(target.aws.s3, bucket)
    object_items = [
        *_of_kind(_object_items(objects, "model", named), keep),
        *_of_kind(_object_items(objects, "source", named), keep),
        *_object_items(objects, "image record", Named({**staying, **named.hashes})),
    ]
    by_address = {item.address: item for item in object_items}
    going = [item for item in objects if by_address[item.address].kept_by is None]
    gone = {f"sha256:{item.sha256}" for item in image_items if item.kept_by is None}
    return Pruning(
        bucket,
        uri,
        (*image_items, *object_items),
        s3_bytes=sum(item.bytes for item in going),
        ecr_bytes=_freed(repository, images, gone),
        older_bytes=sum(item.older_bytes for item in objects if by_address[item.address].kept_by),
        versions=tuple(version for item in going for version in item.versions),
    )


def prune(target: Target, pruning: Pruning) -> None:
    """Delete what would go, for good. Raises ProblemsError with the images that ECR did not delete."""
    refused: dict[str, str] = {}
    if pruning.repository is not None:
        digests = [f"sha256:{item.sha256}" for item in pruning.going if item.kind == "image"]
        refused = delete_images(EcrRepository(target.aws.ecr, pruning.repository), digests)
    delete_versions(target.aws.s3, pruning.bucket, pruning.versions)
    if refused:
        raise ProblemsError(
            f"{pruning.repository}", [f"{digest} was not deleted: {why}" for digest, why in refused.items()]
        )


def _image_items(images: Iterable[StoredImage], uri: str | None, named: Named) -> Iterator[Item]:
    """Of the images that builds of ours pushed."""
    for image in images:
        if not image.tags or not all(map(_OUR_TAG.fullmatch, image.tags)):
            continue
        sha256 = image.digest.removeprefix("sha256:")
        address = f"{uri}@{image.digest}"
        who = named.by(sha256, address, *(f"{uri}:{tag}" for tag in image.tags))
        yield Item("image", sha256, address, image.pushed, image.bytes, who)


def _object_items(objects: Iterable[StoredObjects], kind: Kind, named: Named) -> Iterator[Item]:
    for stored in objects:
        if stored.kind == kind:
            who = named.by(stored.sha256, stored.address)
            yield Item(kind, stored.sha256, stored.address, stored.written, stored.bytes, who)


def _of_kind(items: Iterable[Item], keep: int) -> list[Item]:
    """Items of one kind, the newest first, of which the `keep` newest that nothing names stay too."""
    listed = list(items)
    newest = [item for item in listed if item.kept_by is None][:keep]
    return [replace(item, kept_by=f"one of the {keep} newest") if item in newest else item for item in listed]


def _freed(repository: EcrRepository | None, images: Iterable[StoredImage], gone: set[str]) -> int:
    if repository is None or not gone:
        return 0
    staying = [image.digest for image in images if image.digest not in gone]
    return bytes_freed(repository, sorted(gone), staying)
