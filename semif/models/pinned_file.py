"""What is known of a pinned file wherever it is from, and of the files that a manifest lists."""

from collections.abc import Sequence
from typing import Protocol


class ListedFile(Protocol):
    """A file of a manifest, and what decides whether it is the one."""

    @property
    def file(self) -> str:
        """Its path in the model data; of a pinned file, at the source."""
        ...

    @property
    def bytes(self) -> int:
        """Its size."""
        ...

    @property
    def sha256(self) -> str:
        """SHA-256 of its bytes, in hexadecimal digits."""
        ...


class PinnedFile(ListedFile, Protocol):
    """A file that cannot change, and where it is."""

    @property
    def source(self) -> str:
        """`hf://owner/repository`, or another source of `ModelPin`."""
        ...

    @property
    def revision(self) -> str | None:
        """Commit (hf), version (pypi) or object version (s3)."""
        ...


class FilesManifest(Protocol):
    """What makes a model what it is, in one byte form whose SHA-256 is the model's key."""

    @property
    def members(self) -> Sequence[ListedFile]:
        """Every file of the model data but the manifest's own."""
        ...

    @property
    def sha256(self) -> str:
        """Of `canonical_bytes`."""
        ...

    def canonical_bytes(self) -> bytes:
        """The manifest as its file holds it."""
        ...
