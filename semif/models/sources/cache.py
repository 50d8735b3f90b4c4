"""The user's cache of verified models, by content: `models/<sha256>/<file>`."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from semif.errors import SemifError
from semif.models.pinned_file import PinnedFile


def cache_root() -> Path:
    """`$XDG_CACHE_HOME/semif`, by default `~/.cache/semif`; the XDG rules ignore a relative value."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if Path(named).is_absolute() else Path.home() / ".cache") / "semif"


def cached_file(pin: PinnedFile) -> Path:
    """Where the pinned file lies, or will."""
    return cache_root() / "models" / pin.sha256 / pin.file


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Make `folder` and keep other processes from filling it; waits for one that does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise SemifError(
            f"the cache folder {folder} failed: {(error.strerror or str(error)).lower()}; "
            "set XDG_CACHE_HOME to another place"
        ) from error
