"""Model archives and files in S3: under their manifest's SHA-256, written once, never over others.

What counts is the SHA-256 of the whole file, kept as object metadata and proven by reading the object back.
ETags and composite checksums of multipart uploads say nothing about it and are not looked at.
"""

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from semif.aws.clients import aws_errors
from semif.aws.s3 import S3Uri, head
from semif.errors import SemifError
from semif.models.packaging.hashed_file import HashedFile
from semif.models.packaging.read_back import (
    CONTENT_METADATA,
    TRANSFER,
    Meter,
    Published,
    read_back,
    require_read_back,
)
from semif.progress import Progress, silent

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MANIFEST_METADATA = "semif-manifest-sha256"


def find_published(client: "S3Client", uri: S3Uri, manifest_sha256: str) -> Published | None:
    """What was published at `uri`, or None where there is nothing. Downloads nothing, and proves nothing.

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

    What is there and was never read back, because an upload broke off before, is read back now. Raises
    SemifError where other bytes are there, and as `read_back` where what was read back differs. Managed
    transfers take no condition, so two publishers at once are caught by the read-back.
    """
    published = find_published(client, uri, manifest_sha256)
    if published:
        if published.sha256 != file.sha256:
            raise SemifError(
                f"{uri} holds other bytes, with SHA-256 {published.sha256}, these have {file.sha256}; what "
                "is published is never overwritten, delete it first if it must go"
            )
        require_read_back(client, published, manifest_sha256, progress)
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
    read_back(client, published, manifest_sha256, progress)
    return published


def content_type(name: str) -> str:
    """By the file's ending."""
    return {".gz": "application/gzip", ".json": "application/json"}.get(
        PurePosixPath(name).suffix, "application/octet-stream"
    )
