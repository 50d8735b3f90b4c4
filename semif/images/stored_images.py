"""The images of a private ECR repository: what is there, which bytes are whose, and their end."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from semif.aws.clients import aws_errors
from semif.images.image_copy import EcrRepository
from semif.images.image_manifest import ImageManifest
from semif.images.registry import IMAGE_TYPES

_IMAGES_A_CALL = 100
"""Of BatchGetImage and BatchDeleteImage (botocore's service model, read 2026-11-30)."""


@dataclass(frozen=True)
class StoredImage:
    """One image of a repository, with all tags of it."""

    digest: str
    tags: tuple[str, ...]
    pushed: datetime
    bytes: int
    """Of its layers as ECR has them, compressed; another image may have some of them too."""


def stored_images(repository: EcrRepository) -> tuple[StoredImage, ...]:
    """All of them, the newest first."""
    with aws_errors():
        pages = repository.client.get_paginator("describe_images").paginate(repositoryName=repository.name)
        images = [
            StoredImage(
                digest=detail["imageDigest"],
                tags=tuple(detail.get("imageTags", [])),
                pushed=detail["imagePushedAt"],
                bytes=detail.get("imageSizeInBytes", 0),  # of an index ECR tells none
            )
            for page in pages
            for detail in page["imageDetails"]
        ]
    return tuple(sorted(images, key=lambda image: image.pushed, reverse=True))


def bytes_freed(repository: EcrRepository, deleted: Sequence[str], kept: Sequence[str]) -> int:
    """Bytes of the layers of `deleted` (digests) that no image of `kept` has: ECR stores a layer once.

    An image whose manifest tells no layers counts as having none.
    """
    staying = {digest for digest, _ in _layers(repository, kept)}
    going = dict(_layers(repository, deleted))
    return sum(size for digest, size in going.items() if digest not in staying)


def delete_images(repository: EcrRepository, digests: Sequence[str]) -> dict[str, str]:
    """Delete images with all their tags. Returns those that ECR did not delete, with its reason."""
    refused: dict[str, str] = {}
    for some in _parts(digests):
        with aws_errors():
            reply = repository.client.batch_delete_image(
                repositoryName=repository.name, imageIds=[{"imageDigest": digest} for digest in some]
            )
        for failure in reply.get("failures", []):
            if failure.get("failureCode") != "ImageNotFound":  # somebody else was faster
                digest = failure.get("imageId", {}).get("imageDigest", "an image")
                refused[digest] = failure.get("failureReason", failure.get("failureCode", "no reason given"))
    return refused


def _layers(repository: EcrRepository, digests: Iterable[str]) -> Iterator[tuple[str, int]]:
    for some in _parts(list(digests)):
        with aws_errors():
            reply = repository.client.batch_get_image(
                repositoryName=repository.name,
                imageIds=[{"imageDigest": digest} for digest in some],
                acceptedMediaTypes=list(IMAGE_TYPES),
            )
        for image in reply.get("images", []):
            try:
                manifest = ImageManifest.model_validate_json(image["imageManifest"])
            except ValidationError:  # an index, or something that is no image
                continue
            yield from ((blob.digest, blob.size) for blob in manifest.blobs)


def _parts(digests: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(digests), _IMAGES_A_CALL):
        yield digests[first : first + _IMAGES_A_CALL]
