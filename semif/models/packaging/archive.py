"""`model.tar.gz`: read, hashed, framed and written in one pass; same bytes in, same archive out.

Quantized weights hardly compress: on a Q4_K_M GGUF gzip saves 6 % and costs most of the time, when packing
and again when the endpoint unpacks. So the archive is a gzip stream of stored blocks (level 0), which the
standard library writes as fast as any other; `bench/toolkit/packing.py` measures it.
"""

import hashlib
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from semif.models.packaging.hashed_file import HashedFile
from semif.models.sources.verify import BLOCK, MismatchError
from semif.progress import Progress, silent
from semif.project.whole_files import replacing
from semif_adapter.archive.manifest import MANIFEST_FILE, Member, ModelManifest

ARCHIVE_FILE = "model.tar.gz"

USTAR_LIMIT = 8 << 30
"""A USTAR header holds sizes below 8 GiB; a larger member gets the GNU form, which every tar here reads."""

_GZIP = 31
"""zlib's name for a gzip frame: with no time and no file name in its header."""


def write_archive(
    manifest: ModelManifest, paths: Sequence[Path], target: Path, progress: Progress = silent
) -> HashedFile:
    """Write the manifest and its members, in that order and nothing else, to `target`.

    `paths` are the members' files, in the manifest's order. The bytes packed are hashed as they pass: unless
    they are the manifest's, MismatchError is raised. Then, and on any other failure or interruption, `target`
    is as it was before.
    """
    with replacing(target) as out:
        packer = _Packer(out)
        text = manifest.canonical_bytes()
        packer.add(tar_header(MANIFEST_FILE, len(text)))
        packer.add(_padded(text))
        for member, path in zip(manifest.members, paths, strict=True):
            packer.add(tar_header(member.file, member.bytes))
            _add_member(packer, path, member, progress if member.role == "gguf" else silent)
            packer.add(_padded(b"", member.bytes))
        packer.add(b"\0" * (2 * tarfile.BLOCKSIZE))
        packer.finish()
    return HashedFile(target, packer.bytes, packer.sha256)


def tar_header(name: str, size: int) -> bytes:
    """The header of a regular file: mode 0644, owner 0, time 0, no names of people."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o644, 0
    return info.tobuf(tarfile.USTAR_FORMAT if size < USTAR_LIMIT else tarfile.GNU_FORMAT)


class _Packer:
    """Frames, hashes and writes what it is given.

    One thread does it all: a second one for framing and its hash was no faster on two busy cores.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._gzip = zlib.compressobj(0, zlib.DEFLATED, _GZIP)
        self._digest = hashlib.sha256()
        self.bytes = 0

    def add(self, block: bytes) -> None:
        """Append `block`."""
        self._write(self._gzip.compress(block))

    def finish(self) -> None:
        """End the gzip stream."""
        self._write(self._gzip.flush())

    @property
    def sha256(self) -> str:
        """Of everything written."""
        return self._digest.hexdigest()

    def _write(self, framed: bytes) -> None:
        self._digest.update(framed)
        self._out.write(framed)
        self.bytes += len(framed)


def _add_member(packer: _Packer, path: Path, member: Member, progress: Progress) -> None:
    digest, done = hashlib.sha256(), 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK):
            packer.add(block)
            digest.update(block)
            done += len(block)
            if done > member.bytes:
                break
            progress("pack", done, member.bytes)
    sha256 = digest.hexdigest()
    if (done, sha256) != (member.bytes, member.sha256):
        raise MismatchError(
            f"{path} changed while it was packed: got {done:,} bytes with SHA-256 {sha256}, pinned are"
            f" {member.bytes:,} bytes with SHA-256 {member.sha256}; build again"
        )


def _padded(text: bytes, size: int | None = None) -> bytes:
    """`text` and the zeros that fill up the last tar block of `size` bytes."""
    return text + b"\0" * (-(len(text) if size is None else size) % tarfile.BLOCKSIZE)
