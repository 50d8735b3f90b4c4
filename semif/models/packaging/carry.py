"""A published model from one bucket into another: the same bytes, proven by reading back what arrived.

Within an account S3 copies by itself; from one account to another the bytes go through this machine, so that
neither account has to open its bucket to the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from semif.aws.clients import aws_errors
from semif.aws.s3 import S3Uri, head
from semif.errors import SemifError
from semif.models.packaging.hashed_file import HashedFile
from semif.models.packaging.prefix import find_published_files
from semif.models.packaging.publish import MANIFEST_METADATA, content_type, find_published, publish
from semif.models.packaging.read_back import (
    CONTENT_METADATA,
    TRANSFER,
    Meter,
    Published,
    read_back,
    require_read_back,
)
from semif.models.pinned_file import FilesManifest
from semif.models.sources.cache import cache_root
from semif.progress import Progress, silent
from semif_adapter.archive.manifest import MANIFEST_FILE

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class Carrier:
    """From `source` to `target`, two clients; `same_account` where the second may read what the first may."""

    source: "S3Client"
    target: "S3Client"
    same_account: bool
    progress: Progress = silent

    def carry_archive(self, place: S3Uri, new_place: S3Uri, manifest_sha256: str, sha256: str) -> bool:
        """Have the archive of `place`, whose SHA-256 is `sha256`, at `new_place`; False where it was there.

        Where it was there and was never read back, because a promotion broke off before, it is now. Raises
        SemifError where either place holds something else. What arrives with other bytes is deleted.
        """
        there = find_published(self.target, new_place, manifest_sha256)
        if there is not None:
            _check(there, sha256)
            require_read_back(self.target, there, manifest_sha256, self.progress)
            return False
        published = find_published(self.source, place, manifest_sha256)
        if published is None:
            raise SemifError(f"{place} does not exist: the model was deleted; build it anew")
        _check(published, sha256)
        self._carry(published, new_place, manifest_sha256)
        return True

    def carry_files(self, place: S3Uri, new_place: S3Uri, manifest: FilesManifest) -> bool:
        """The same for the files of `manifest` under two prefixes; its own file goes last."""
        there = find_published_files(self.target, new_place, manifest)
        if there is not None:
            for published in there:
                require_read_back(self.target, published, manifest.sha256, self.progress)
            return False
        if find_published_files(self.source, place, manifest) is None:
            raise SemifError(f"{place}/ does not hold all files of the model; build it anew")
        for name, sha256 in _files(manifest):
            self.carry_archive(place.child(name), new_place.child(name), manifest.sha256, sha256)
        return True

    def carry_small(self, place: S3Uri, new_place: S3Uri) -> bool:
        """Have a small object that counts for people alone at `new_place`; False where there is none."""
        if head(self.target, new_place) is not None:
            return True
        if head(self.source, place) is None:
            return False
        with aws_errors():
            body = self.source.get_object(Bucket=place.bucket, Key=place.key)["Body"].read()
            self.target.put_object(
                Bucket=new_place.bucket, Key=new_place.key, Body=body, ContentType=content_type(place.key)
            )
        return True

    def _carry(self, published: Published, new_place: S3Uri, manifest_sha256: str) -> None:
        if not self.same_account:
            self._through_here(published, new_place, manifest_sha256)
            return
        place = published.uri
        metadata = {CONTENT_METADATA: published.sha256, MANIFEST_METADATA: manifest_sha256}
        with aws_errors():
            self.target.copy(
                {"Bucket": place.bucket, "Key": place.key},
                new_place.bucket,
                new_place.key,
                SourceClient=self.source,
                # Copies in parts take no metadata along, so it is said again.
                ExtraArgs={
                    "Metadata": metadata,
                    "MetadataDirective": "REPLACE",
                    "ContentType": content_type(place.key),
                },
                Config=TRANSFER,
                Callback=Meter("copy the model", published.bytes, self.progress),
            )
        arrived = Published(new_place, published.bytes, published.sha256)
        read_back(self.target, arrived, manifest_sha256, self.progress)

    def _through_here(self, published: Published, new_place: S3Uri, manifest_sha256: str) -> None:
        # Beside the cached models, where there is room for one; /tmp is often small or in memory.
        cache_root().mkdir(parents=True, exist_ok=True)
        place = published.uri
        with TemporaryDirectory(dir=cache_root(), prefix="promote-") as name:
            path = Path(name) / place.key.rpartition("/")[2]
            with aws_errors():
                self.source.download_file(
                    place.bucket,
                    place.key,
                    str(path),
                    Config=TRANSFER,
                    Callback=Meter("download the model", published.bytes, self.progress),
                )
            # Other bytes than the hash says are found when they are read back, and deleted then.
            file = HashedFile(path, published.bytes, published.sha256)
            publish(self.target, file, new_place, manifest_sha256, self.progress)


def _files(manifest: FilesManifest) -> Iterator[tuple[str, str]]:
    yield from ((member.file, member.sha256) for member in manifest.members)
    yield MANIFEST_FILE, manifest.sha256


def _check(published: Published, sha256: str) -> None:
    if published.sha256 != sha256:
        raise SemifError(
            f"{published.uri} has the SHA-256 {published.sha256}, the lock says {sha256}; what is published "
            "is never overwritten, look at it, then delete it"
        )
