"""`semif model build`: fetch, verify, check, pack, and put the model where it shall be."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from semif.aws.clients import Aws
from semif.aws.s3 import S3Uri
from semif.errors import SemifError
from semif.models.checkpoint.checkpoint_preset import CheckpointPreset
from semif.models.checkpoint.fetch_checkpoint import fetch_checkpoint
from semif.models.gguf_file import check_gguf
from semif.models.packaging.archive import ARCHIVE_FILE, write_archive
from semif.models.packaging.hashed_file import HashedFile
from semif.models.packaging.prefix import FILES_FOLDER, find_published_files, publish_files
from semif.models.packaging.publish import find_published, publish
from semif.models.packaging.read_back import Published, require_read_back, was_read_back
from semif.models.packaging.rehearsal import rehearse_model
from semif.models.pinned_file import FilesManifest
from semif.models.presets import AnyPreset, ModelFormat, Preset
from semif.models.sources import fetch
from semif.models.sources.cache import cache_root
from semif.progress import Progress, silent
from semif.project.whole_files import replacing
from semif_adapter.archive.manifest import MANIFEST_FILE, ModelManifest

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class BuiltModel:
    """A built model: `place` is the archive, or the folder or prefix of the files. Sizes are bytes."""

    preset: str
    manifest_sha256: str
    format: ModelFormat
    archive_sha256: str | None
    """None, as the size, where the files are not packed."""
    archive_bytes: int | None
    place: Path | S3Uri
    reused: bool
    """Whether all was in S3 already, and nothing was done but to read it back where that was left out."""
    untried_because: str | None = None
    """Why llama.cpp was not tried on it; None where it was, and where nothing was done."""

    @property
    def address(self) -> str:
        """`place` as text; a prefix ends in a slash, as SageMaker wants it."""
        is_prefix = self.format == "prefix" and isinstance(self.place, S3Uri)
        return f"{self.place}/" if is_prefix else str(self.place)

    def as_json(self) -> dict[str, str | int | None]:
        """What `--json` prints."""
        where = "s3_uri" if isinstance(self.place, S3Uri) else "path"
        return {
            "preset": self.preset,
            "manifest_sha256": self.manifest_sha256,
            "archive_sha256": self.archive_sha256,
            "archive_bytes": self.archive_bytes,
            where: self.address,
            "format": self.format,
        }


def build_model(
    preset: AnyPreset, output: str, progress: Progress = silent, *, model_format: ModelFormat = "tar.gz"
) -> BuiltModel:
    """Build the model of `preset` into a folder, or under `s3://bucket/prefix/<manifest SHA-256>/`.

    A checkpoint has the format `prefix` alone. Raises SemifError; then neither the folder nor S3 holds
    anything new that could be taken for the model.
    """
    if not output:
        raise SemifError("'' is no place for a model; give a folder, or s3://bucket/prefix")
    if not isinstance(preset, Preset) and model_format != "prefix":
        raise SemifError(
            f"{preset.name} is a checkpoint, which is published as its files; give --format prefix"
        )
    if output.startswith("s3:"):
        return _build_to_s3(preset, S3Uri.parse(output), model_format, progress)
    folder = Path(output)
    paths, untried = _checked_files(preset, progress)
    manifest = preset.manifest()
    if model_format == "tar.gz" and isinstance(manifest, ModelManifest):
        archive = write_archive(manifest, paths, folder / ARCHIVE_FILE, progress)
        _write_manifest(manifest, folder)
        return _archived(preset, archive, archive.path, untried)
    for member, path in zip(manifest.members, paths, strict=True):
        (folder / member.file).parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as source, replacing(folder / member.file) as out:
            shutil.copyfileobj(source, out, 1 << 20)
    _write_manifest(manifest, folder)
    return _unpacked(preset, folder, untried)


def find_model(
    client: "S3Client", preset: AnyPreset, models: S3Uri, model_format: ModelFormat
) -> BuiltModel | None:
    """What is published of `preset` under `models`, None where not all is, or not all was read back.

    Downloads nothing. Raises SemifError where something else is in its place.
    """
    found = _found(client, preset, models, model_format)
    sha256 = preset.manifest().sha256
    if found is None or not all(was_read_back(client, one, sha256) for one in found):
        return None
    return _reused(preset, found, models, model_format)


def _found(
    client: "S3Client", preset: AnyPreset, models: S3Uri, model_format: ModelFormat
) -> list[Published] | None:
    """The archive, or the files and their manifest; None where not all is there."""
    manifest = preset.manifest()
    place = model_place(models, manifest, model_format)
    if model_format == "prefix":
        return find_published_files(client, place, manifest)
    published = find_published(client, place, manifest.sha256)
    return None if published is None else [published]


def _reused(
    preset: AnyPreset, found: list[Published], models: S3Uri, model_format: ModelFormat
) -> BuiltModel:
    if model_format == "prefix":
        place = model_place(models, preset.manifest(), model_format)
        return _unpacked(preset, place, reused=True)
    (archive,) = found
    return _archived(preset, archive, archive.uri, reused=True)


def _build_to_s3(
    preset: AnyPreset, models: S3Uri, model_format: ModelFormat, progress: Progress
) -> BuiltModel:
    client = Aws.from_profile(region=None).s3
    manifest = preset.manifest()
    if (found := _found(client, preset, models, model_format)) is not None:
        for one in found:
            require_read_back(client, one, manifest.sha256, progress)
        return _reused(preset, found, models, model_format)
    place = model_place(models, manifest, model_format)
    paths, untried = _checked_files(preset, progress)
    # Beside the cached model, which has room for models; /tmp is often small or in memory.
    cache_root().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache_root(), prefix="pack-") as name:
        folder = Path(name)
        if model_format == "tar.gz" and isinstance(manifest, ModelManifest):
            archive = write_archive(manifest, paths, folder / ARCHIVE_FILE, progress)
            publish(client, archive, place, manifest.sha256, progress)
            return _archived(preset, archive, place, untried)
        written = _write_manifest(manifest, folder)
        publish_files(client, place, manifest, paths=paths, manifest_file=written, progress=progress)
        return _unpacked(preset, place, untried)


def model_place(models: S3Uri, manifest: FilesManifest, model_format: ModelFormat) -> S3Uri:
    """Where the archive of `manifest` lies under `models`, or the prefix of its files."""
    return models.child(manifest.sha256, ARCHIVE_FILE if model_format == "tar.gz" else FILES_FOLDER)


def _checked_files(preset: AnyPreset, progress: Progress) -> tuple[tuple[Path, ...], str | None]:
    """The files of the manifest's members, in its order; and why llama.cpp was not tried on a GGUF."""
    if isinstance(preset, CheckpointPreset):
        return fetch_checkpoint(preset, progress), None
    assert isinstance(preset, Preset)
    gguf = fetch(preset, progress)
    check_gguf(gguf, preset.prompt)
    untried = rehearse_model(gguf)
    calibration = preset.calibration_path
    return ((gguf, calibration) if calibration else (gguf,)), untried


def _write_manifest(manifest: FilesManifest, folder: Path) -> HashedFile:
    text = manifest.canonical_bytes()
    with replacing(folder / MANIFEST_FILE) as out:
        out.write(text)
    return HashedFile(folder / MANIFEST_FILE, len(text), hashlib.sha256(text).hexdigest())


def _archived(
    preset: AnyPreset,
    archive: HashedFile | Published,
    place: Path | S3Uri,
    untried_because: str | None = None,
    *,
    reused: bool = False,
) -> BuiltModel:
    sha256 = preset.manifest().sha256
    return BuiltModel(
        preset.name, sha256, "tar.gz", archive.sha256, archive.bytes, place, reused, untried_because
    )


def _unpacked(
    preset: AnyPreset, place: Path | S3Uri, untried_because: str | None = None, *, reused: bool = False
) -> BuiltModel:
    sha256 = preset.manifest().sha256
    return BuiltModel(preset.name, sha256, "prefix", None, None, place, reused, untried_because)
