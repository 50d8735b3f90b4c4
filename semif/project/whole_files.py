"""Reading a file whole; writing one whole or not at all."""

import os
import secrets
import stat
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from semif.errors import SemifError

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
"""Opening a pipe waits for who writes to it otherwise."""


def read_whole(path: Path, limit: int) -> bytes:
    """What is in `path`, at most `limit` bytes: a pipe or a device may never end.

    A pipe that nobody writes to is empty, and not waited for. Raises SemifError, which names it, where it
    cannot be read or is longer.
    """
    try:
        handle = os.open(path, _READ)
        with os.fdopen(handle, "rb") as file:
            os.set_blocking(handle, True)
            return read_bounded(file, limit, path)
    except OSError as error:
        raise cannot_read(path, error) from None


def open_file(path: Path) -> BinaryIO:
    """`path`, open for reading, where it is a file that has an end and can be read again.

    A pipe is not waited for. Raises SemifError, which names it, where it is something else or cannot be read.
    """
    try:
        handle = os.open(path, _READ)
    except OSError as error:
        raise cannot_read(path, error) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise cannot_read(path, "it is a folder, a pipe or a device, a file is needed")
    return os.fdopen(handle, "rb")


def read_bounded(file: BinaryIO, limit: int, name: object) -> bytes:
    """The rest of `file`. Raises SemifError, which names `name`, where it is more than `limit` bytes."""
    content = file.read(limit + 1)
    if len(content) > limit:
        raise SemifError(f"{name} is longer than {limit:,} bytes, which no such file needs")
    return content


def utf8(content: bytes, name: object) -> bytes:
    """`content`, which a person wrote, without the mark that editors on Windows put before UTF-8.

    Raises SemifError, which names `name`, for UTF-16, in which Windows' older programs save, and for a zip
    archive, which Excel's workbooks are.
    """
    if content.startswith(b"PK\x03\x04"):
        raise SemifError(f"{name} is a workbook of Excel, or another zip archive; save it as CSV UTF-8")
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise SemifError(f"{name} is in UTF-16; save it as UTF-8")
    return content.removeprefix(BOM_UTF8)


def cannot_read(path: Path, why: OSError | str) -> SemifError:
    """What the system says of reading `path`, or what is known without asking it."""
    return SemifError(f"cannot read {path}: {_words(why) if isinstance(why, OSError) else why}")


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` into `path`, replacing what is there; an interruption leaves the old file as it was.

    Raises as `replacing`.
    """
    with replacing(path) as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def check_writable(target: Path) -> None:
    """Raise as `replacing` would now; for work that takes long before there is anything to write."""
    handle, path = _beside(Path(os.path.realpath(target)))
    os.close(handle)
    path.unlink()


def make_folder_of(target: Path) -> None:
    """The folder that `target` shall lie in. Raises SemifError where a file is in its way, OSError else."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise SemifError(f"{target.parent} is a file or lies in one, a folder is needed") from None


def cannot_write(target: Path, error: OSError) -> SemifError:
    """What the system says of writing `target`."""
    return SemifError(f"cannot write {target}: {_words(error)}")


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """A new file that takes `target`'s place when the block ends well, and is gone when it does not.

    Who may read it is what the user's umask says, or what was so of the file that it replaces.
    Where `target` is a link, what it leads to is replaced. Raises SemifError, which names that, where the
    system does not let it be written, and where it is a folder, a device or the like.
    """
    target = Path(os.path.realpath(target))
    handle, path = _beside(target)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
        path.replace(target)
    except OSError as error:
        path.unlink(missing_ok=True)
        if error.filename is not None and Path(error.filename) != path:  # another file, which the block read
            raise
        raise cannot_write(target, error) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _beside(target: Path) -> tuple[int, Path]:
    """A new file in `target`'s folder, open for writing, and where it is. Raises as `replacing`."""
    try:
        if target.exists() and not target.is_file():
            raise SemifError(f"cannot write {target}: it is there, and is no file that could be replaced")
        make_folder_of(target)
        path = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
        mode = stat.S_IMODE(target.stat().st_mode) & 0o777 if target.exists() else None
        # Not mkstemp, whose files nobody else may read, whatever the umask.
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode or 0o666)
        if mode is not None:
            os.fchmod(handle, mode)
    except OSError as error:
        raise cannot_write(target, error) from error
    return handle, path
