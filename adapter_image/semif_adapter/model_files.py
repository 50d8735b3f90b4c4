"""Which GGUF to serve, and proof that it is the one that was packed."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from semif_adapter.errors import StartupError
from semif_adapter.manifest import MANIFEST_FILE, ModelManifest
from semif_adapter.settings import Settings

MAX_MANIFEST_BYTES = 1_000_000


@dataclass(frozen=True)
class ModelFile:
    """A GGUF on this machine. `manifest` is there only where the file was found through it."""

    path: Path
    sha256: str
    manifest: ModelManifest | None


def find_model(settings: Settings) -> ModelFile:
    """The GGUF that `settings` name: `gguf` itself, the manifest's member, or the model folder's only one.

    Raises StartupError where there is none, more than one, or not the bytes that the manifest promises.
    """
    if settings.gguf is not None:
        if not settings.gguf.is_file():
            raise StartupError(f"SEMIF_GGUF={settings.gguf} is not a file; give the path of a GGUF")
        return ModelFile(settings.gguf, _sha256(settings.gguf), None)
    if (settings.model_dir / MANIFEST_FILE).is_file():
        return _from_manifest(settings.model_dir)
    return _only_one(settings.model_dir)


def _from_manifest(folder: Path) -> ModelFile:
    manifest = _read_manifest(folder / MANIFEST_FILE)
    member = manifest.gguf
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
    digest = _sha256(path)
    if digest != member.sha256:
        raise StartupError(
            f"{member.file} has SHA-256 {digest}, {MANIFEST_FILE} promises {member.sha256}; "
            "build the model again"
        )
    return ModelFile(path, digest, manifest)


def _read_manifest(path: Path) -> ModelManifest:
    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise StartupError(f"{path} is larger than {MAX_MANIFEST_BYTES} bytes; build the model again")
        return ModelManifest.model_validate(json.loads(path.read_bytes()))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'manifest'}: {e['msg']}" for e in error.errors()
        )
        raise StartupError(f"{path} is not a model manifest: {problems}; build the model again") from None
    except (OSError, ValueError) as error:
        raise StartupError(f"{path} cannot be read as JSON: {error}; build the model again") from None


def _only_one(folder: Path) -> ModelFile:
    candidates = sorted(folder.glob("*.gguf")) if folder.is_dir() else []
    if len(candidates) == 1:
        return ModelFile(candidates[0], _sha256(candidates[0]), None)
    found = ", ".join(path.name for path in candidates) or "none"
    raise StartupError(
        f"SEMIF_MODEL_DIR={folder} must hold a {MANIFEST_FILE} or exactly one .gguf, found {found}; "
        "set SEMIF_GGUF to the one to serve"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
