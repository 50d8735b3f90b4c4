"""Reading a file whole; writing one whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import BinaryIO

from semif.errors import SemifError


def read_whole(path: Path) -> bytes:
    """What is in `path`. Raises SemifError, which names it, where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SemifError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` into `path`, replacing what is there; an interruption leaves the old file as it was.

    Raises as `replacing`.
    """
    with replacing(path) as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


@contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """A new file that takes `target`'s place when the block ends well, and is gone when it does not.

    Raises SemifError, which names `target`, where the system does not let it be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except (FileExistsError, NotADirectoryError):
        raise SemifError(f"{target.parent} is a file or lies in one, a folder is needed") from None
    except OSError as error:
        raise _cannot_write(target, error) from error
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
        path.chmod(0o644)
        path.replace(target)
    except OSError as error:
        path.unlink(missing_ok=True)
        if error.filename is not None and str(error.filename) != name:  # another file, which the block read
            raise
        raise _cannot_write(target, error) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _cannot_write(target: Path, error: OSError) -> SemifError:
    return SemifError(f"cannot write {target}: {(error.strerror or str(error)).lower()}")
