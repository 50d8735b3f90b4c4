"""`semif model build`: fetch, verify, check, pack, and put the archive where it shall be."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from semif.aws import Aws
from semif.errors import SemifError
from semif.gguf_file import check_gguf
from semif.packaging.archive import ARCHIVE_FILE, Archive, replacing, write_archive
from semif.packaging.publish import find_published, publish
from semif.presets import Preset
from semif.progress import Progress, silent
from semif.s3 import S3Uri
from semif.sources import fetch
from semif.sources.cache import cache_root
from semif_adapter.manifest import MANIFEST_FILE

FORMAT = "tar.gz"


@dataclass(frozen=True)
class BuiltModel:
    """A model archive: `place` is a folder's file or an S3 object, sizes are bytes."""

    preset: str
    manifest_sha256: str
    archive_sha256: str
    archive_bytes: int
    place: Path | S3Uri
    reused: bool
    """Whether the archive was in S3 already and nothing was done."""

    def as_json(self) -> dict[str, str | int]:
        """What `--json` prints."""
        where = "s3_uri" if isinstance(self.place, S3Uri) else "path"
        return {
            "preset": self.preset,
            "manifest_sha256": self.manifest_sha256,
            "archive_sha256": self.archive_sha256,
            "archive_bytes": self.archive_bytes,
            where: str(self.place),
            "format": FORMAT,
        }


def build_model(preset: Preset, output: str, progress: Progress = silent) -> BuiltModel:
    """Build the archive of `preset` into a folder, or under `s3://bucket/prefix/<manifest SHA-256>/`.

    Raises SemifError; then neither the folder nor S3 holds anything new.
    """
    if not output:
        raise SemifError("'' is no place for an archive; give a folder, or s3://bucket/prefix")
    if output.startswith("s3:"):
        return _build_to_s3(preset, S3Uri.parse(output), progress)
    folder = Path(output)
    archive = _pack(preset, folder / ARCHIVE_FILE, progress)
    with replacing(folder / MANIFEST_FILE) as out:
        out.write(preset.manifest().canonical_bytes())
    return _built(preset, archive, archive.path, reused=False)


def _build_to_s3(preset: Preset, prefix: S3Uri, progress: Progress) -> BuiltModel:
    client = Aws.from_profile(region=None).s3
    manifest_sha256 = preset.manifest().sha256
    uri = prefix.child(manifest_sha256, ARCHIVE_FILE)
    found = find_published(client, uri, manifest_sha256)
    if found:
        return BuiltModel(preset.name, manifest_sha256, found.sha256, found.bytes, uri, reused=True)
    # Beside the cached model, which has room for models; /tmp is often small or in memory.
    cache_root().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache_root(), prefix="pack-") as folder:
        archive = _pack(preset, Path(folder) / ARCHIVE_FILE, progress)
        publish(client, archive, uri, manifest_sha256, progress)
    return _built(preset, archive, uri, reused=False)


def _pack(preset: Preset, target: Path, progress: Progress) -> Archive:
    gguf = fetch(preset, progress)
    check_gguf(gguf)
    return write_archive(preset.manifest(), gguf, target, progress)


def _built(preset: Preset, archive: Archive, place: Path | S3Uri, *, reused: bool) -> BuiltModel:
    return BuiltModel(preset.name, preset.manifest().sha256, archive.sha256, archive.bytes, place, reused)
