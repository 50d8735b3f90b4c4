"""Lines to standard output and standard error, of which nobody knows who reads them.

Where the reader stalls its pipe fills up, and whoever writes to it waits for as long: on the event loop's
thread that would be every request and the ping. So each output has a thread of its own that writes.
"""

import logging
import os
import threading
from collections import deque

logger = logging.getLogger(__name__)

MOST_BYTES = 1 << 20
"""Of lines that wait for the reader; beyond it lines are dropped and counted."""
FLUSH_SECONDS = 1.0
"""How long an ending process waits for the reader."""


class LineWriter:
    """Writes lines to a descriptor and never keeps the caller waiting. Safe from any thread.

    Once a line was dropped, all are until the reader has what was kept: a gap, and an error in the log that
    tells how many lines it is. An output that fails (a full disk, a reader that is gone) is tried again with
    each line.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        """Of what waits and what is being written."""
        self._full = False
        self._failing = False
        self._lost = 0
        """Lines that were dropped or failed, and that the log does not tell of yet."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def write(self, line: str) -> None:
        """Have `line` written, or dropped where too much waits."""
        data = f"{line}\n".encode(errors="backslashreplace")
        with self._changed:
            if self._full or self._bytes + len(data) > MOST_BYTES:
                self._full = True
                self._lost += 1
                return
            self._waiting.append(data)
            self._bytes += len(data)
            self._changed.notify_all()
            self.start()

    def start(self) -> None:
        """Start the thread that writes, as `write` does too. Raises RuntimeError without room for it."""
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                thread.start()
                self._thread = thread

    def flush(self) -> None:
        """Wait until all is written and told, up to FLUSH_SECONDS."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._bytes or self._has_to_tell), FLUSH_SECONDS)

    @property
    def _has_to_tell(self) -> bool:
        return self._lost > 0 and not self._failing

    # On the writing thread.

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._has_to_tell)
                line = self._waiting.popleft() if self._waiting else None
            if line is None:
                self._tell_lost()
            else:
                self._write(line)

    def _write(self, line: bytes) -> None:
        failure = None
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            failure = error
        with self._changed:
            first = failure is not None and not self._failing
            self._failing = failure is not None
            self._lost += self._failing
            self._bytes -= len(line)
            self._full = self._full and bool(self._waiting)
            self._changed.notify_all()
        if failure is not None and first:
            logger.error("%s failed, its lines are lost: %s", self._name, failure.strerror)

    def _tell_lost(self) -> None:
        lost = self._lost
        # Outside of the lock: the log may be this very output.
        logger.error("%d lines for %s were lost", lost, self._name)
        with self._changed:
            self._lost -= lost
            self._changed.notify_all()


STANDARD_OUTPUT = LineWriter(1, "standard output")
STANDARD_ERROR = LineWriter(2, "standard error")


def start() -> None:
    """Start the threads of both, while there is room for them. Raises RuntimeError where there is none."""
    for output in (STANDARD_OUTPUT, STANDARD_ERROR):
        output.start()


def flush() -> None:
    """Let both outputs have what waits for them, for a short time: the process is about to end."""
    for output in (STANDARD_OUTPUT, STANDARD_ERROR):
        output.flush()


def open_standard_files() -> None:
    """Have the standard input, output and error that are closed (`serve 2>&-`) lead to nowhere.

    Otherwise the next socket would get a number of theirs, and a client what the libraries write there.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
