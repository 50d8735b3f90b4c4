"""Which GGUF to serve, and proof that it is the one that was packed."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from semif_adapter.archive.calibration import LoadedCalibration, load_calibration
from semif_adapter.archive.manifest import MANIFEST_FILE, Member, ModelManifest
from semif_adapter.archive.samples_manifest import SamplesManifest
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.settings import Settings

MAX_MANIFEST_BYTES = 1_000_000
PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<ending>\.gguf)", re.IGNORECASE)
"""A file of a split GGUF, as `llama-gguf-split` names them; llama.cpp loads all from the first."""
NO_MODEL = re.compile(r"\._.*|.*mmproj.*", re.IGNORECASE)
"""What may lie beside a model and is none: a Mac's side-car files, projectors for images and sound."""


@dataclass(frozen=True)
class ModelFile:
    """A GGUF on this machine. `manifest` is there only where the file was found through it."""

    path: Path
    """What llama.cpp loads; the first part of a split GGUF."""
    sha256: str
    """Of all bytes, the parts of a split GGUF one after another."""
    size: int
    """Bytes of all parts."""
    manifest: ModelManifest | None


def find_model(settings: Settings) -> ModelFile:
    """The GGUF that `settings` name: `gguf` itself, the manifest's member, or the model folder's only one.

    Raises StartupError where there is none, more than one, a part is missing, the bytes are not those that
    the manifest promises, or the manifest is not the one that `settings` pin.
    """
    if settings.gguf is not None:
        if not settings.gguf.is_file():
            raise StartupError(f"SEMIF_GGUF={settings.gguf} is not a file; give the path of a GGUF")
        return _whole(settings.gguf)
    if settings.manifest_sha256 is not None or (settings.model_dir / MANIFEST_FILE).is_file():
        return _from_manifest(settings.model_dir, settings.manifest_sha256)
    return _only_one(settings.model_dir)


def find_calibration(settings: Settings, model: ModelFile) -> LoadedCalibration | None:
    """The calibration of `model`: the file that `settings` name, else the manifest's, None where is neither.

    Raises StartupError where it is missing, damaged, or of another model.
    """
    path = settings.calibration
    if path is None:
        member = model.manifest.calibration if model.manifest else None
        if member is None:
            return None
        path = _check_member(settings.model_dir, member)
    calibration = load_calibration(path)
    calibration.check_model(model.sha256)
    return calibration


def _from_manifest(folder: Path, pinned: str | None) -> ModelFile:
    manifest = _read_manifest(folder / MANIFEST_FILE, pinned)
    if isinstance(manifest, SamplesManifest):
        return _from_samples(folder, manifest)
    path = _check_member(folder, manifest.gguf)
    return ModelFile(path, manifest.gguf.sha256, manifest.gguf.bytes, manifest)


def _from_samples(folder: Path, manifest: SamplesManifest) -> ModelFile:
    """The GGUF of an archive of AWS's sample, which says no sizes and not how the model is asked."""
    model = _only_one(folder)
    if (model.path.name, model.sha256) != (manifest.gguf.file, manifest.gguf.sha256):
        raise StartupError(
            f"{model.path.name} has SHA-256 {model.sha256}, {MANIFEST_FILE} promises {manifest.gguf.file} "
            f"with {manifest.gguf.sha256}; build the model again"
        )
    return model


def _check_member(folder: Path, member: Member) -> Path:
    """Where a member of the manifest lies. Raises StartupError unless its bytes are those promised."""
    path = folder / member.file
    if not path.is_file():
        raise StartupError(
            f"{MANIFEST_FILE} promises {member.file}, which is not in {folder}; build the model again"
        )
    size = path.stat().st_size
    if size != member.bytes:
        raise StartupError(
            f"{member.file} has {size} bytes, {MANIFEST_FILE} promises {member.bytes}; build the model again"
        )
    digest = _sha256([path])
    if digest != member.sha256:
        raise StartupError(
            f"{member.file} has SHA-256 {digest}, {MANIFEST_FILE} promises {member.sha256}; "
            "build the model again"
        )
    return path


def _read_manifest(path: Path, pinned: str | None) -> ModelManifest | SamplesManifest:
    if not path.is_file():  # a pipe would be waited for
        raise StartupError(f"{path} cannot be read: it is not a file; build the model again")
    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise StartupError(f"{path} is larger than {MAX_MANIFEST_BYTES} bytes; build the model again")
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if pinned not in (None, digest):
            # Whoever may write to the bucket could otherwise swap the model under a running endpoint's key.
            raise StartupError(
                f"{path} has SHA-256 {digest}, SEMIF_MANIFEST_SHA256 pins {pinned}: "
                "this is not the model of the lock; deploy again"
            )
        document = json.loads(content)
        if isinstance(document, dict) and "gguf" in document and "schema" not in document:
            return SamplesManifest.model_validate(document)
        return ModelManifest.model_validate(document)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'manifest'}: {e['msg']}" for e in error.errors()
        )
        raise StartupError(f"{path} is not a model manifest: {problems}; build the model again") from None
    except (OSError, ValueError, RecursionError) as error:
        raise StartupError(f"{path} cannot be read as JSON: {error}; build the model again") from None


def _only_one(folder: Path) -> ModelFile:
    files = [path for path in folder.iterdir() if path.suffix.lower() == ".gguf"] if folder.is_dir() else []
    files.sort()
    models = [path for path in files if not NO_MODEL.fullmatch(path.name)]
    candidates = {_first_part(path): path for path in reversed(models)}
    if len(candidates) == 1:
        return _whole(next(iter(candidates.values())))
    names = ", ".join(path.name for path in models) or "none"
    ignored = ", ".join(path.name for path in files if path not in models)
    raise StartupError(
        f"SEMIF_MODEL_DIR={folder} must hold a {MANIFEST_FILE} or exactly one .gguf, found {names}"
        f"{f' beside {ignored}' if ignored else ''}; set SEMIF_GGUF to the one to serve"
    )


def _first_part(path: Path) -> Path:
    """The first part's path for a part of a split GGUF, any other path as it is."""
    part = PART.fullmatch(path.name)
    return path.with_name(f"{part['stem']}-00001-of-{part['count']}{part['ending']}") if part else path


def _whole(path: Path) -> ModelFile:
    """The GGUF at `path` with all of its parts; raises StartupError where one is missing."""
    parts = [path]
    if part := PART.fullmatch(path.name):
        parts = [
            path.with_name(f"{part['stem']}-{number:05}-of-{part['count']}{part['ending']}")
            for number in range(1, int(part["count"]) + 1)
        ]
        missing = next((needed for needed in parts if not needed.is_file()), None)
        if missing is not None or not parts:
            lacks = missing.name if missing else "the first"
            raise StartupError(
                f"{path.name} is one of {len(parts)} parts of a model, {lacks} is not beside it; "
                "put all parts into one folder"
            )
    return ModelFile(parts[0], _sha256(parts), sum(part.stat().st_size for part in parts), None)


def _sha256(parts: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        with part.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
