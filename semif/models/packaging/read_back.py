"""The proof that what lies in S3 is what was uploaded: all of it is read back and hashed, once.

An upload that broke off before that, by an interrupt or by credentials that ended, looks like any other. So a
mark beside the object says of which upload the bytes were read back: without it, and with that of another
upload, they are read back before anybody takes the object for the model.
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from boto3.s3.transfer import TransferConfig

from semif.aws.clients import aws_errors
from semif.aws.s3 import S3Uri, head
from semif.errors import SemifError
from semif.progress import Progress, silent

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import HeadObjectOutputTypeDef

CONTENT_METADATA = "semif-sha256"
UPLOAD_METADATA = "semif-upload"

MARKS_FOLDER = "read-back"
"""Of the marks, below the manifest's hash: none of them may lie among the files of a prefix, which SageMaker
hands to the container as they are, and pruning takes them away with the model."""

TRANSFER = TransferConfig(multipart_threshold=32 << 20, multipart_chunksize=32 << 20, max_concurrency=8)
"""Parts in bytes; the managed transfer enlarges them where an object would have more than 10,000."""


@dataclass(frozen=True)
class Published:
    """A file in S3: size in bytes and SHA-256 of the whole object."""

    uri: S3Uri
    bytes: int
    sha256: str


def was_read_back(client: "S3Client", published: Published, manifest_sha256: str) -> bool:
    """Whether a mark says that what lies there now was read back. Downloads nothing."""
    mark = head(client, _mark_of(published.uri, manifest_sha256))
    if mark is None or mark["Metadata"].get(CONTENT_METADATA) != published.sha256:
        return False
    there = head(client, published.uri)
    return there is not None and mark["Metadata"].get(UPLOAD_METADATA) == _upload_of(there)


def require_read_back(
    client: "S3Client", published: Published, manifest_sha256: str, progress: Progress = silent
) -> None:
    """Read back what was found, unless that was done before. Raises as `read_back`."""
    if not was_read_back(client, published, manifest_sha256):
        read_back(client, published, manifest_sha256, progress)


def read_back(
    client: "S3Client", published: Published, manifest_sha256: str, progress: Progress = silent
) -> None:
    """Read all of an object and mark that its bytes are right.

    Raises SemifError where they differ; the object is then deleted again, where the caller may (a build on
    AWS may not).
    """
    uri, size = published.uri, published.bytes
    with aws_errors():
        there = client.head_object(Bucket=uri.bucket, Key=uri.key)
        version = there.get("VersionId")
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
            mark = _mark_of(uri, manifest_sha256)
            metadata = {CONTENT_METADATA: published.sha256, UPLOAD_METADATA: _upload_of(there)}
            client.put_object(Bucket=mark.bucket, Key=mark.key, Body=b"", Metadata=metadata)
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
            f"{problem}; it could not be deleted again ({error}): delete it, or no build and no promotion "
            "gets past it"
        ) from error
    raise SemifError(f"{problem}; the object is deleted again, try once more")


def _mark_of(uri: S3Uri, manifest_sha256: str) -> S3Uri:
    before, folder, name = uri.key.partition(f"{manifest_sha256}/")
    assert folder, uri  # else the mark would be the object
    return S3Uri(uri.bucket, f"{before}{folder}{MARKS_FOLDER}/{name}")


def _upload_of(object_head: "HeadObjectOutputTypeDef") -> str:
    """Which upload an object is of: its version, and where its bucket keeps none its date and ETag."""
    version = object_head.get("VersionId", "null")
    if version != "null":  # which a bucket whose versions were suspended says of each
        return version
    return f"{object_head.get('LastModified')} {object_head['ETag']}"


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
