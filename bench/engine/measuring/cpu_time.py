"""CPU seconds of a process, this one or another."""

import ctypes
import time

_clock_getcpuclockid = ctypes.CDLL(None, use_errno=True).clock_getcpuclockid


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of `pid` so far. Raises OSError without such a process."""
    clock = ctypes.c_int()
    problem = _clock_getcpuclockid(pid, ctypes.byref(clock))
    if problem:
        raise OSError(problem, f"no CPU clock for process {pid}")
    return time.clock_gettime(clock.value)
