"""A file, and what proves that it is the one."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class HashedFile:
    """Size in bytes, and SHA-256 of the whole file."""

    path: Path
    bytes: int
    sha256: str
