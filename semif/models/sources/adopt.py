"""The GGUF of somebody else's `model.tar.gz`, taken over in place of a download.

AWS's sample (03-features/semif-decision-model in aws-samples/sagemaker-genai-hosting-examples) packs the same
published files under a manifest of its own. What is taken is what a preset pins by SHA-256, and nothing else.
"""

import hashlib
import tarfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import IO

from semif.errors import SemifError, shown
from semif.models.presets import Preset
from semif.models.sources.cache import cache_root, cached_file, sole_writer
from semif.models.sources.verify import BLOCK
from semif.progress import Progress, silent


@dataclass(frozen=True)
class Adopted:
    """The preset that pins the file, and where the file lies in the cache of verified downloads."""

    preset: Preset
    path: Path


def adopt(archive: Path, presets: Sequence[Preset], progress: Progress = silent) -> Adopted:
    """Put the one GGUF of `archive` into the cache, under the pin of the preset whose SHA-256 it has.

    Raises SemifError for what is no such archive, and where no preset pins the file; the cache is then as it
    was.
    """
    folder = cache_root() / "models"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder, prefix="adopt-") as copy:
            name, sha256 = _copy_gguf(archive, copy, progress)
            preset = next((each for each in presets if each.model.sha256 == sha256), None)
            if preset is None:
                raise SemifError(
                    f"no preset pins {shown(name)} with SHA-256 {sha256}; pin it first: semif model pin "
                    f"hf:REPO@REVISION {name}, as its model-manifest.json names them"
                )
            target = cached_file(preset.model)
            with sole_writer(target.parent):
                copy.flush()
                target.unlink(missing_ok=True)
                target.hardlink_to(copy.name)
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise SemifError(f"{archive} is no whole archive: {str(error).lower()}") from None
    except OSError as error:
        raise SemifError(
            f"{archive} cannot be taken over: {(error.strerror or str(error)).lower()}"
        ) from None
    return Adopted(preset, target)


def _copy_gguf(archive: Path, copy: IO[bytes], progress: Progress) -> tuple[str, str]:
    """Copy the only GGUF of `archive`; its name without folders, and its SHA-256."""
    found: list[str] = []
    digest, done = hashlib.sha256(), 0
    # A stream, so that an archive of gigabytes is read once.
    with tarfile.open(archive, "r|gz") as members:
        for member in members:
            name = PurePosixPath(member.name).name
            if not member.isreg() or not name.lower().endswith(".gguf") or name.startswith("._"):
                continue
            found.append(name)
            if len(found) > 1:
                raise SemifError(f"{archive} holds more than one GGUF: {', '.join(map(shown, found))}")
            content = members.extractfile(member)
            assert content is not None  # of a regular file
            while block := content.read(BLOCK):
                copy.write(block)
                digest.update(block)
                done += len(block)
                progress("adopt", done, member.size)
    if not found:
        raise SemifError(f"{archive} holds no .gguf; give the model.tar.gz that an endpoint is created from")
    return found[0], digest.hexdigest()
