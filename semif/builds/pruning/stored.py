"""What a model bucket holds: models, sources of builds, what is told of images; no other key is looked at."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from semif.aws.clients import aws_errors

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Kind = Literal["model", "source", "image record"]

_SHA256 = "(?P<sha256>[0-9a-f]{64})"
_FOLDERS: dict[Kind, tuple[str, re.Pattern[str]]] = {
    "model": ("models/", re.compile(rf"(?P<place>models/{_SHA256}/).+")),
    "source": ("sources/", re.compile(rf"(?P<place>sources/{_SHA256}\.zip)")),
    "image record": ("images/", re.compile(rf"(?P<place>images/{_SHA256}/).+")),
}
"""Where each kind lies, and what its keys look like: others are not ours to delete."""


@dataclass
class StoredObjects:
    """All that lies in the bucket under one content hash, in all versions.

    An image record is the bill of materials of an image and its licences; the image is in a repository.
    """

    kind: Kind
    sha256: str
    address: str
    """`s3://…`; a folder ends in a slash."""
    written: datetime
    """When the newest of it was written."""
    bytes: int = 0
    older_bytes: int = 0
    """How much of it is in versions that something was written or deleted over."""
    versions: list[tuple[str, str]] = field(default_factory=list)
    """Key and version id of each version and delete marker."""


def stored_objects(client: "S3Client", bucket: str) -> list[StoredObjects]:
    """What the bucket holds of ours, the newest first."""
    found: dict[str, StoredObjects] = {}
    for kind, (folder, form) in _FOLDERS.items():
        for key, version, size, latest, modified in _versions(client, bucket, folder):
            match = form.fullmatch(key)
            if match is None:
                continue
            address = f"s3://{bucket}/{match['place']}"
            item = found.setdefault(address, StoredObjects(kind, match["sha256"], address, modified))
            item.written = max(item.written, modified)
            item.bytes += size
            item.older_bytes += 0 if latest else size
            item.versions.append((key, version))
    return sorted(found.values(), key=lambda item: item.written, reverse=True)


def _versions(client: "S3Client", bucket: str, folder: str) -> Iterator[tuple[str, str, int, bool, datetime]]:
    """Key, version id, bytes, whether it is the present one, and when it was written."""
    with aws_errors():
        pages = client.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=folder)
        for page in pages:
            for version in page.get("Versions", []):
                yield (
                    version["Key"],
                    version["VersionId"],
                    version["Size"],
                    version["IsLatest"],
                    version["LastModified"],
                )
            for marker in page.get("DeleteMarkers", []):
                yield marker["Key"], marker["VersionId"], 0, marker["IsLatest"], marker["LastModified"]
