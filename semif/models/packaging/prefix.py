"""A model's files as they are, under a prefix of S3 that SageMaker copies to the container.

The manifest is uploaded last: where it is, all else is.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from semif.aws.clients import aws_errors
from semif.aws.s3 import S3Uri
from semif.errors import SemifError
from semif.models.packaging.hashed_file import HashedFile
from semif.models.packaging.publish import find_published, publish
from semif.models.packaging.read_back import Published
from semif.models.pinned_file import FilesManifest
from semif.progress import Progress, silent
from semif_adapter.archive.manifest import MANIFEST_FILE

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

FILES_FOLDER = "files"
"""The last part of the prefix, below the manifest's hash: an archive may lie beside it."""


def find_published_files(
    client: "S3Client", prefix: S3Uri, manifest: FilesManifest
) -> list[Published] | None:
    """The files of `manifest` under `prefix`, None where not all are there.

    Downloads nothing, and proves nothing. Raises SemifError where anything else is there too, which SageMaker
    would hand to the container, and where a file does not say that it is the manifest's.
    """
    members = {member.file: member.sha256 for member in manifest.members}
    wanted = {**members, MANIFEST_FILE: manifest.sha256}
    with aws_errors():
        pages = client.get_paginator("list_objects_v2").paginate(
            Bucket=prefix.bucket, Prefix=f"{prefix.key}/"
        )
        names = {
            item["Key"].removeprefix(f"{prefix.key}/") for page in pages for item in page.get("Contents", [])
        }
    if foreign := sorted(names - wanted.keys()):
        raise SemifError(
            f"{prefix.child(foreign[0])} is no file of manifest {manifest.sha256}; look at it, then delete it"
        )
    found: list[Published] = []
    for name in sorted(names):
        published = find_published(client, prefix.child(name), manifest.sha256)
        if published is None or published.sha256 != wanted[name]:
            raise SemifError(
                f"{prefix.child(name)} holds other bytes than manifest {manifest.sha256} says; a published "
                "file is never overwritten, delete it first if it must go"
            )
        found.append(published)
    return found if names == wanted.keys() else None


def publish_files(
    client: "S3Client",
    prefix: S3Uri,
    manifest: FilesManifest,
    *,
    paths: Sequence[Path],
    manifest_file: HashedFile,
    progress: Progress = silent,
) -> None:
    """Upload the members' files, which `paths` are in the manifest's order, and then the manifest.

    Each goes with its hash and is read back; what is there already, and was read back, is left alone. Raises
    SemifError as `publish` does, and where a file is not what the manifest says: what came back from S3 is
    then other than what is pinned, and is deleted again.
    """
    largest = max(member.bytes for member in manifest.members)
    for member, path in zip(manifest.members, paths, strict=True):
        file = HashedFile(path, member.bytes, member.sha256)
        shown = progress if member.bytes == largest else silent
        publish(client, file, prefix.child(member.file), manifest.sha256, shown)
    publish(client, manifest_file, prefix.child(MANIFEST_FILE), manifest.sha256, progress)
