"""Writing a file whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` into `path`, replacing what is there; an interruption leaves the old file as it was."""
    with writing_whole(path) as file:
        file.write(content)


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` once the block ends without an exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            os.fchmod(file.fileno(), 0o644)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
