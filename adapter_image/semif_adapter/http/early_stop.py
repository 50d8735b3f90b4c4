"""Signals before the server takes them: nothing was admitted, so a stop is a clean end at once."""

import os
import signal
from types import FrameType

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What ends the server. Under nohup nobody is to hear of a terminal that closes."""
EXIT_CLEAN = 0
"""Stopped as asked, everything admitted was answered."""


def stop_before_serving() -> None:
    """Have each of STOPS that is not ignored end the process with EXIT_CLEAN, until the server takes it."""
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def _end(_number: int, _frame: FrameType | None) -> None:
    # At once: what is being imported would be torn down in the middle, with a traceback.
    os._exit(EXIT_CLEAN)
