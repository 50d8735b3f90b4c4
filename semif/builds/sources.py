"""What a build starts from: a zip of just the needed files, the same bytes for the same files.

A build's source hash names the image it makes, so a file that cannot change the image must not be in it.
"""

import hashlib
import io
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

import semif
import semif_adapter
from semif.aws.clients import aws_errors
from semif.errors import SemifError
from semif.models.checkpoint.checkpoint_preset import FOLDER
from semif.models.presets import AnyPreset, Preset
from semif.project.root import TOOLKIT_FILES, toolkit_root

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

IMAGE_SOURCES = (
    "buildspec.yml",
    "adapter_image/Dockerfile",
    "adapter_image/bill_of_materials.py",
    "adapter_image/dlc.toml",
    "adapter_image/requirements.txt",
    "adapter_image/semif_adapter/**/*.py",
    "adapter_image/semif_adapter/py.typed",
)
MODEL_SOURCES = (
    "buildspec.model.yml",
    "models/*.toml",
    "requirements/model-build.txt",
    "semif/**/*.py",
    "semif/py.typed",
    "adapter_image/semif_adapter/**/*.py",
    "adapter_image/semif_adapter/py.typed",
)
"""Globs, each of which must find something. Named files rather than whole folders keep caches, secrets and
scratch files out."""
_OF_PROJECT = ("models/", "adapter_image/dlc.toml")
_PACKAGES = {
    "semif/": Path(semif.__file__).parent,
    "adapter_image/semif_adapter/": Path(semif_adapter.__file__).parent,
}
"""Where a checkout has them: the folders in which they are installed."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16


@dataclass(frozen=True)
class SourceZip:
    """The zip's bytes and their SHA-256."""

    data: bytes
    sha256: str

    @property
    def key(self) -> str:
        """Where it lies in the model bucket."""
        return f"sources/{self.sha256}.zip"


def model_sources(preset: AnyPreset) -> tuple[str, ...]:
    """The globs for the build of `preset`'s model."""
    if not isinstance(preset, Preset):
        return (*MODEL_SOURCES, f"{FOLDER}/{preset.name}.toml")
    calibration = preset.calibration
    return (*MODEL_SOURCES, f"models/{calibration.file}") if calibration else MODEL_SOURCES


def pack_sources(root: Path, globs: Sequence[str]) -> SourceZip:
    """Zip what `globs` find for the project at `root`: sorted names, fixed times and modes, uncompressed.

    A project that is no checkout of the toolkit has its presets and pins; all else comes from the installed
    toolkit, and the zip is that of a checkout. Stored because deflate's bytes differ between zlib
    builds, and some hundred kilobytes hardly matter. Raises SemifError naming every glob that finds nothing.
    """
    find = _in_checkout if (root / "adapter_image" / "semif_adapter").is_dir() else _in_installed
    found = {pattern: find(root, pattern) for pattern in globs}
    if missing := [pattern for pattern, files in found.items() if not files]:
        raise SemifError(
            f"{root} lacks what the build needs: {', '.join(missing)}; use a whole checkout, or a project "
            "of `semif init`"
        )
    files = {name: path for of_pattern in found.values() for name, path in of_pattern.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, date_time=_EPOCH)
            info.create_system = 3
            info.external_attr = _MODE
            archive.writestr(info, files[name].read_bytes())
    data = buffer.getvalue()
    return SourceZip(data, hashlib.sha256(data).hexdigest())


def _in_checkout(root: Path, pattern: str) -> dict[str, Path]:
    """The files under `root`, by their names in the zip."""
    return {path.relative_to(root).as_posix(): path for path in root.glob(pattern) if path.is_file()}


def _in_installed(root: Path, pattern: str) -> dict[str, Path]:
    if pattern.startswith(_OF_PROJECT):
        return _in_checkout(root, pattern)
    for prefix, folder in _PACKAGES.items():
        if pattern.startswith(prefix):
            inside = _in_checkout(folder, pattern.removeprefix(prefix))
            return {
                prefix + name: path for name, path in inside.items() if not name.startswith(TOOLKIT_FILES)
            }
    return _in_checkout(toolkit_root(), pattern) or _in_checkout(root, pattern)


def source_revision(root: Path) -> str:
    """The commit of the files under `root`, with `-changed` where they are not quite it; else `unrecorded`.

    For people who look at an image: what it was made of is its source's hash.
    """
    try:
        commit = _git(root, "rev-parse", "--verify", "HEAD")
        return f"{commit}-changed" if _git(root, "status", "--porcelain", "--", ".") else commit
    except (OSError, subprocess.SubprocessError):  # no git, or no repository
        return "unrecorded"


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", root, *arguments], check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout.strip()


def upload_sources(s3: "S3Client", bucket: str, source: SourceZip) -> None:
    """Put the zip under its hash; what is there already is not sent again."""
    with aws_errors():
        if not _exists(s3, bucket, source.key):
            s3.put_object(Bucket=bucket, Key=source.key, Body=source.data, ContentType="application/zip")


def _exists(s3: "S3Client", bucket: str, key: str) -> bool:
    try:
        s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in {"404", "NoSuchKey", "NotFound"}:
            return False
        raise
    return True
