"""An image from one private ECR registry into another by ECR's own operations: no container engine is needed.

The manifest goes over byte for byte and every layer under its digest, so that the image keeps its digest. It
is put only when all of its layers are there: what is interrupted before is no image, and is gone on with.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import urllib3
from botocore.exceptions import ClientError
from pydantic import ValidationError

from semif.aws.clients import aws_errors
from semif.errors import SemifError
from semif.images.image_manifest import Blob, ImageManifest
from semif.images.registry import IMAGE_TYPES
from semif.progress import Progress, silent
from semif.web.connections import what_happened
from semif.web.lookups import TooSlowError, open_pool, pieces

if TYPE_CHECKING:
    from mypy_boto3_ecr import ECRClient

STEP = "copy the image's layers"
_LAYERS_A_CALL = 100
"""Of BatchCheckLayerAvailability (botocore's service model, read 2026-11-30)."""


@dataclass(frozen=True)
class EcrRepository:
    """A repository of the registry that `client`'s credentials and region open."""

    client: "ECRClient"
    uri: str
    """`HOST/NAME`, without tag and digest."""

    @property
    def name(self) -> str:
        """As ECR's operations want it."""
        return self.uri.partition("/")[2]


@dataclass(frozen=True)
class _StoredImage:
    digest: str
    manifest: str
    media_type: str


def copy_image(
    source: EcrRepository, target: EcrRepository, digest: str, tag: str, progress: Progress = silent
) -> bool:
    """Have `target` hold the image `digest` of `source` under `tag`; False where it did already.

    Nothing is sent that is there: layers of other images, or that an interrupted copy left. Raises SemifError
    where `source` lacks the image, where `target` has another one under `tag`, and where bytes do not match
    their digest; `target` then has no new image.
    """
    image = _stored(source, {"imageDigest": digest})
    if image is None:
        raise SemifError(
            f"{source.uri} has no image {digest} (any more), though the lock names it; build it anew"
        )
    if f"sha256:{hashlib.sha256(image.manifest.encode()).hexdigest()}" != digest:
        raise SemifError(f"{source.uri} gives a manifest that does not match its digest {digest}; try again")
    there = _stored(target, {"imageTag": tag})
    if there is not None and there.digest != digest:
        raise SemifError(
            f"{target.uri} has the image {there.digest} under the tag of {digest}: it was filled by somebody "
            "else; see who pushed it, delete that image and promote again"
        )
    if there is not None:
        return False
    layers = _missing(target, _blobs(source, image))
    done, total = 0, sum(layer.size for layer in layers)
    for layer in layers:
        for part in _copy_layer(source, target, layer):
            done += part
            progress(STEP, done, total)
    _put(target, image, tag)
    return True


def has_image(repository: EcrRepository, digest: str) -> bool:
    """Whether `repository` is there, and holds the image `digest`."""
    try:
        return _stored(repository, {"imageDigest": digest}) is not None
    except SemifError as error:
        if isinstance(error.__cause__, repository.client.exceptions.RepositoryNotFoundException):
            return False
        raise


def _stored(repository: EcrRepository, image_id: dict[str, str]) -> _StoredImage | None:
    with aws_errors():
        reply = repository.client.batch_get_image(
            repositoryName=repository.name,
            imageIds=[image_id],  # type: ignore[list-item]  # a TypedDict of these keys
            acceptedMediaTypes=list(IMAGE_TYPES),
        )
    for image in reply.get("images", []):
        return _StoredImage(
            image["imageId"]["imageDigest"], image["imageManifest"], image["imageManifestMediaType"]
        )
    return None


def _blobs(source: EcrRepository, image: _StoredImage) -> list[Blob]:
    if image.media_type not in IMAGE_TYPES:
        raise SemifError(
            f"{source.uri}@{image.digest} is of the media type {image.media_type}, allowed are "
            f"{', '.join(IMAGE_TYPES)}"
        )
    try:
        return ImageManifest.model_validate_json(image.manifest).blobs
    except ValidationError:
        raise SemifError(f"{source.uri}@{image.digest} is no manifest of an image; build it anew") from None


def _missing(target: EcrRepository, blobs: list[Blob]) -> list[Blob]:
    available: set[str] = set()
    for first in range(0, len(blobs), _LAYERS_A_CALL):
        digests = [blob.digest for blob in blobs[first : first + _LAYERS_A_CALL]]
        with aws_errors():
            reply = target.client.batch_check_layer_availability(
                repositoryName=target.name, layerDigests=digests
            )
        available |= {
            layer["layerDigest"] for layer in reply["layers"] if layer["layerAvailability"] == "AVAILABLE"
        }
    return [blob for blob in blobs if blob.digest not in available]


def _copy_layer(source: EcrRepository, target: EcrRepository, layer: Blob) -> Iterator[int]:
    """Yields the bytes of each part that was sent. ECR keeps nothing of a layer that is not completed."""
    with aws_errors():
        url = source.client.get_download_url_for_layer(repositoryName=source.name, layerDigest=layer.digest)[
            "downloadUrl"
        ]
        upload = target.client.initiate_layer_upload(repositoryName=target.name)
    hashed, first = hashlib.sha256(), 0
    for part in _parts(url, layer, upload["partSize"]):
        hashed.update(part)
        with aws_errors():
            target.client.upload_layer_part(
                repositoryName=target.name,
                uploadId=upload["uploadId"],
                partFirstByte=first,
                partLastByte=first + len(part) - 1,
                layerPartBlob=part,
            )
        first += len(part)
        yield len(part)
    if (actual := f"sha256:{hashed.hexdigest()}") != layer.digest:
        raise SemifError(f"the layer {layer.digest} of {source.uri} came as {actual}; try again")
    with aws_errors():
        try:
            target.client.complete_layer_upload(
                repositoryName=target.name, uploadId=upload["uploadId"], layerDigests=[layer.digest]
            )
        except ClientError as error:
            if _code(error) != "LayerAlreadyExistsException":  # sent by somebody else meanwhile
                raise


def _parts(url: str, layer: Blob, part_size: int) -> Iterator[bytes]:
    """The layer in parts of the size that ECR asks for, the last one smaller.

    No message has the address: whoever knows it may read the layer.
    """
    pool = open_pool(url)
    waiting, came = bytearray(), 0
    try:
        with pool.request(
            "GET", url, headers={"Accept-Encoding": "identity"}, preload_content=False
        ) as reply:
            if reply.status != 200:
                raise SemifError(f"the layer {layer.digest} cannot be read: HTTP {reply.status}; try again")
            for piece in pieces(reply):
                came += len(piece)
                if came > layer.size:
                    raise SemifError(f"the layer {layer.digest} is longer than its manifest says; try again")
                waiting += piece
                while len(waiting) >= part_size:
                    yield bytes(waiting[:part_size])
                    del waiting[:part_size]
    except TooSlowError:
        raise SemifError(f"the layer {layer.digest} came too slowly; try again") from None
    except urllib3.exceptions.HTTPError as error:
        raise SemifError(f"the store of the layer {layer.digest} {what_happened(error)}; try again") from None
    finally:
        pool.clear()
    if waiting:
        yield bytes(waiting)


def _put(target: EcrRepository, image: _StoredImage, tag: str) -> None:
    """ECR refuses a manifest with another digest, and one whose layers are not all there."""
    with aws_errors():
        try:
            target.client.put_image(
                repositoryName=target.name,
                imageManifest=image.manifest,
                imageManifestMediaType=image.media_type,
                imageTag=tag,
                imageDigest=image.digest,
            )
        except ClientError as error:
            if _code(error) != "ImageAlreadyExistsException":  # the same, put by somebody else meanwhile
                raise
    copied = _stored(target, {"imageDigest": image.digest})
    if copied is None or copied.manifest != image.manifest:
        raise SemifError(
            f"{target.uri} does not give {image.digest} back as it was put; delete it and promote again"
        )


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
