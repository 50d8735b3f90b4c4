"""Every process that the local AWS starts: adapters and build shells, in own groups, all ended with it."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")
"""What a started program may know of the user's environment. Credentials and SEMIF_* variables stay out."""


def base_environment() -> dict[str, str]:
    """The variables that every started program gets, with this interpreter's folder first on PATH."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    folders = [str(Path(sys.executable).parent), environment.get("PATH", os.defpath)]
    return environment | {"PATH": os.pathsep.join(folders), "PYTHONUNBUFFERED": "1"}


class StoppingError(Exception):
    """Nothing more is started."""


class Processes:
    """Starts and stops process groups.

    All are started from one thread that lives as long as this object: the kernel ties a child to the thread
    that started it, not to the process (prctl(2), PR_SET_PDEATHSIG).
    """

    def __init__(self) -> None:
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starter")
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def start(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        stdin: int = subprocess.DEVNULL,
        stderr: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start `command` in a session of its own, stdout in a pipe; StoppingError after `stop_all`."""
        child = [
            sys.executable,
            "-I",
            "-S",
            str(Path(__file__).with_name("child.py")),
            str(os.getpid()),
            *command,
        ]

        def start() -> subprocess.Popen[bytes]:
            with self._lock:
                if self._closed:
                    raise StoppingError("the local AWS is stopping")
                process = subprocess.Popen(
                    child,
                    env=dict(environment),
                    cwd=folder,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    start_new_session=True,
                )
                self._running.add(process)
                return process

        return self._starter.submit(start).result()

    def stop(self, process: subprocess.Popen[bytes], *, grace_seconds: float = 5.0) -> None:
        """End a process and its group: SIGTERM, then SIGKILL for what is left after the grace time."""
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace_seconds)
        _signal_group(process, signal.SIGKILL)
        process.wait()
        with self._lock:
            self._running.discard(process)

    def stop_all(self) -> None:
        """End everything and start nothing more."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        stoppers = [threading.Thread(target=self.stop, args=(process,)) for process in running]
        for stopper in stoppers:
            stopper.start()
        for stopper in stoppers:
            stopper.join()
        self._starter.shutdown()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(
        ProcessLookupError, PermissionError
    ):  # macOS answers EPERM for a group of zombies
        os.killpg(process.pid, number)
