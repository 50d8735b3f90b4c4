"""Model archives and files in S3: under their manifest's SHA-256, written once, never over others.

What counts is the SHA-256 of the whole file, kept as object metadata and proven by reading the object back.
ETags and composite checksums of multipart uploads say nothing about it and are not looked at.
"""

import hashlib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from boto3.s3.transfer import TransferConfig

from semif.aws.clients import aws_errors
from semif.aws.s3 import S3Uri, head
from semif.errors import SemifError
from semif.models.packaging.hashed_file import HashedFile
from semif.progress import Progress, silent

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONTENT_METADATA = "semif-sha256"
MANIFEST_METADATA = "semif-manifest-sha256"

TRANSFER = TransferConfig(multipart_threshold=32 << 20, multipart_chunksize=32 << 20, max_concurrency=8)
"""Parts in bytes; the managed transfer enlarges them where an object would have more than 10,000."""


@dataclass(frozen=True)
class Published:
    """A file in S3: size in bytes and SHA-256 of the whole object."""

    uri: S3Uri
    bytes: int
    sha256: str


def find_published(client: "S3Client", uri: S3Uri, manifest_sha256: str) -> Published | None:
    """What was published at `uri`, or None where there is nothing. Downloads nothing.

    Raises SemifError where the object there does not say that it belongs to this manifest.
    """
    object_head = head(client, uri)
    if object_head is None:
        return None
    metadata = object_head["Metadata"]
    if metadata.get(MANIFEST_METADATA) != manifest_sha256 or CONTENT_METADATA not in metadata:
        raise SemifError(
            f"{uri} exists and was not published for manifest {manifest_sha256}; look at it, then delete it "
            "or choose another prefix"
        )
    return Published(uri, object_head["ContentLength"], metadata[CONTENT_METADATA])


def publish(
    client: "S3Client", file: HashedFile, uri: S3Uri, manifest_sha256: str, progress: Progress = silent
) -> Published:
    """Upload `file` to `uri` and read it back; the same bytes there already are left alone.

    Raises SemifError where other bytes are there, and where what was read back differs: that object is then
    deleted again, where the caller may (a build on AWS may not). Managed transfers take no condition, so two
    publishers at once are caught by the read-back.
    """
    published = find_published(client, uri, manifest_sha256)
    if published:
        if published.sha256 != file.sha256:
            raise SemifError(
                f"{uri} holds other bytes, with SHA-256 {published.sha256}, these have {file.sha256}; what "
                "is published is never overwritten, delete it first if it must go"
            )
        return published
    metadata = {CONTENT_METADATA: file.sha256, MANIFEST_METADATA: manifest_sha256}
    with aws_errors(), file.path.open("rb") as content:
        client.upload_fileobj(
            content,
            uri.bucket,
            uri.key,
            ExtraArgs={"Metadata": metadata, "ContentType": content_type(file.path.name)},
            Config=TRANSFER,
            Callback=Meter("upload", file.bytes, progress),
        )
    published = Published(uri, file.bytes, file.sha256)
    read_back(client, published, progress)
    return published


def content_type(name: str) -> str:
    """By the file's ending."""
    return {".gz": "application/gzip", ".json": "application/json"}.get(
        PurePosixPath(name).suffix, "application/octet-stream"
    )


def read_back(client: "S3Client", published: Published, progress: Progress = silent) -> None:
    """Read all of what was just put there. Raises SemifError where it differs, and deletes it again."""
    uri, size = published.uri, published.bytes
    with aws_errors():
        version = client.head_object(Bucket=uri.bucket, Key=uri.key).get("VersionId")
        which = {"VersionId": version} if version else {}
        reader = _Hashing()
        client.download_fileobj(
            uri.bucket,
            uri.key,
            reader,  # type: ignore[arg-type]  # the transfer needs no more of a file than `write`
            ExtraArgs=which,
            Config=TRANSFER,
            Callback=Meter("read back", size, progress),
        )
        if (reader.bytes, reader.sha256) == (size, published.sha256):
            return
    problem = (
        f"{uri} came back as {reader.bytes:,} bytes with SHA-256 {reader.sha256}, uploaded were "
        f"{size:,} bytes with SHA-256 {published.sha256}"
    )
    try:
        with aws_errors():
            client.delete_object(Bucket=uri.bucket, Key=uri.key, **which)  # type: ignore[arg-type]  # a version
    except SemifError as error:
        raise SemifError(
            f"{problem}; it could not be deleted again ({error}): delete it, or the next build takes it for "
            "the model"
        ) from error
    raise SemifError(f"{problem}; the object is deleted again, try once more")


class _Hashing:
    """A file to write to that keeps only size and hash; the managed transfer writes to it in order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.bytes = 0

    def write(self, block: bytes) -> int:
        """Take the next bytes."""
        self._digest.update(block)
        self.bytes += len(block)
        return len(block)

    @property
    def sha256(self) -> str:
        """Of everything written."""
        return self._digest.hexdigest()


class Meter:
    """Adds up what the transfer's threads report; a race between them spoils the bar at most."""

    def __init__(self, step: str, total: int, progress: Progress) -> None:
        self._step, self._total, self._progress = step, total, progress
        self._done = 0

    def __call__(self, new: int) -> None:
        self._done += new
        self._progress(self._step, self._done, self._total)
