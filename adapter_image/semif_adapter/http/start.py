"""The program of the container: from its arguments and variables to its exit status."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from semif_adapter.contract.errors import NoThreadError, StartupError
from semif_adapter.contract.settings import Settings
from semif_adapter.serving import line_writer

EXIT_FAILED = 1
EXIT_USAGE = 64
"""EX_USAGE of sysexits.h."""
MOST_SAID = 10_000
"""Characters of one message: a manifest may have a hundred thousand problems, and long lines are lost."""


def start(arguments: list[str], run: Callable[[Settings], int]) -> NoReturn:
    """Serve until stopped, then end the process: with EXIT_FAILED, EXIT_USAGE or what `run` returns."""
    line_writer.open_standard_files()
    try:
        line_writer.start()
    except (RuntimeError, MemoryError):
        _end_without_threads()
    status = _status(arguments, run)
    line_writer.flush()
    # Not sys.exit: the engine's thread may be inside libllama (a stop while the model loads), and the
    # interpreter's orderly end would destroy what that thread uses.
    os._exit(status)


def _status(arguments: list[str], run: Callable[[Settings], int]) -> int:
    if arguments not in ([], ["serve"]):
        _say(f"unknown arguments {arguments}, the only one is serve")
        return EXIT_USAGE
    try:
        return run(Settings.from_env(os.environ))
    except StartupError as error:
        _say(f"cannot start: {error}")
        return EXIT_FAILED


def _end_without_threads() -> NoReturn:
    with suppress(OSError):  # nobody may be reading
        os.write(2, f"{_line(f'cannot start: {NoThreadError()}')}\n".encode())
    os._exit(EXIT_FAILED)


def _say(message: str) -> None:
    line_writer.STANDARD_ERROR.write(_line(message))


def _line(message: str) -> str:
    """One line for the operator, whatever the message holds."""
    line = " ".join(message.split())
    cut = line if len(line) <= MOST_SAID else f"{line[:MOST_SAID]} and more"
    return f"semif_adapter: {cut}"
