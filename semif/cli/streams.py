"""The three streams of a command as they may come: closed, with an alphabet that lacks letters, or full."""

import contextlib
import errno
import io
import os
import sys

import click

from semif.cli.output import Failed

_NOT_TAKEN = (errno.EBADF, errno.EIO, errno.ENOSPC)
"""How a write without a file's name fails: files that Semif writes itself are named."""


def prepare_streams() -> None:
    """Let no stream end a command that did its work.

    A letter that the terminal's encoding lacks is written as an escape. A stream that came closed is opened
    on /dev/null, or the next file or connection would get its number: standard input is then empty, standard
    error unheard, and standard output cannot be written, which fails as it does for other programs.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        _open_if_closed(number, mode)
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _open_if_closed(number: int, mode: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, mode)  # the lowest free number, which is this one


def finish_output() -> None:
    """Write what is still held back. Raises OSError where standard output does not take it."""
    sys.stdout.flush()


def failure_of(error: OSError) -> click.ClickException:
    """What to tell people of a failure of the system: which file, or that the output was not taken."""
    place = f"{error.filename}: " if error.filename else ""
    if not error.filename and error.errno in _NOT_TAKEN:
        place = "standard output: "
        _drop_output()
    return Failed(f"{place}{(error.strerror or str(error)).lower()}")


def _drop_output() -> None:
    """Let nothing of it be left for the interpreter, which at its end would tell in its own words."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
