"""Signals that wait while something is begun that only its beginner can end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_put_off() -> Iterator[Callable[[], None]]:
    """Put off the signals whose handlers would break off the start of a process: it would go on unseen.

    What it yields lets them come, those first that came meanwhile: call it first thing in the `try` whose
    end is the process's too. Leaving the block lets them come as well.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():  # the only one that handlers run in
        handlers = {number: signal.getsignal(number) for number in _STOPS}
        before = {number: handler for number, handler in handlers.items() if callable(handler)}
    came: list[int] = []

    def let_come() -> None:
        while before:
            number, handler = next(iter(before.items()))
            signal.signal(number, handler)
            before.pop(number, None)
        while came:
            signal.raise_signal(came.pop(0))

    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield let_come
    finally:
        let_come()
