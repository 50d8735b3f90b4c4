"""Size and SHA-256 of a file against its pin."""

import hashlib
from pathlib import Path

from semif.errors import SemifError
from semif.models.gguf_file import named_gguf, not_a_gguf
from semif.models.pinned_file import PinnedFile
from semif.progress import Progress, silent

BLOCK = 1 << 20


class MismatchError(SemifError):
    """The bytes are not the pinned ones."""


def file_sha256(path: Path, progress: Progress = silent, step: str = "hash") -> str:
    """SHA-256 of the whole file, as 64 lower-case hexadecimal digits."""
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK):
            digest.update(block)
            done += len(block)
            progress(step, done, total)
    return digest.hexdigest()


def verify(path: Path, pin: PinnedFile, progress: Progress = silent) -> None:
    """Raise MismatchError, with both sizes and both hashes, unless `path` holds exactly the pinned bytes."""
    size = path.stat().st_size
    sha256 = file_sha256(path, progress, "verify")
    if (size, sha256) == (pin.bytes, pin.sha256):
        return
    guess = not_a_gguf(path) if named_gguf(pin.file) else None
    only_size = "; only the sizes differ: correct the pin's" if sha256 == pin.sha256 else ""
    raise MismatchError(
        f"{pin.source} did not give the pinned file {pin.file}{f', but {guess}' if guess else ''}: got "
        f"{size:,} bytes with SHA-256 {sha256}, pinned are {pin.bytes:,} bytes with SHA-256 {pin.sha256}"
        f"{only_size or '; correct the pin only if you know why the file changed'}"
    )
