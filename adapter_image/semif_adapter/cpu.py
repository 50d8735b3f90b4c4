"""How many CPUs this process may use: a container's quota counts, the host's cores do not."""

import math
import os
from pathlib import Path


def usable_cpus(root: Path = Path("/"), affinity: int | None = None) -> int:
    """CPUs to compute on: the smaller of the affinity mask and the cgroup's quota, at least 1.

    A quota of 7.65 CPUs gives 7: one thread more would wait for the others at every barrier. `root` is where
    `sys/fs/cgroup` lies; `affinity` is the size of the process's CPU mask, asked from the system if None.
    """
    allowed = len(os.sched_getaffinity(0)) if affinity is None else affinity
    quota = _quota(root / "sys/fs/cgroup")
    return max(1, allowed if quota is None else min(allowed, math.floor(quota)))


def _quota(cgroup: Path) -> float | None:
    """CPUs that cgroup v2 (`cpu.max`) or v1 (`cpu/cpu.cfs_*`) grants; None without a limit."""
    numbers = _numbers(cgroup / "cpu.max")
    if numbers is None:
        folder = cgroup / "cpu"
        quota, period = _numbers(folder / "cpu.cfs_quota_us"), _numbers(folder / "cpu.cfs_period_us")
        numbers = [*quota, *period] if quota and period else None
    if numbers is None or len(numbers) != 2 or min(numbers) <= 0:
        return None
    return numbers[0] / numbers[1]


def _numbers(file: Path) -> list[int] | None:
    """The whole numbers in `file`; None where it is missing or says `max`."""
    try:
        return [int(word) for word in file.read_text().split()]
    except (OSError, ValueError):
        return None
