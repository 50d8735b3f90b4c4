"""How many CPUs this process may use: a container's quota counts, the host's cores do not."""

import math
import os
from pathlib import Path

from semif_adapter.machine.cgroup import limit_files, numbers


def usable_cpus(root: Path = Path("/"), affinity: int | None = None) -> int:
    """CPUs to compute on: the smallest of the affinity mask and the cgroups' quotas, at least 1.

    A quota of 7.65 CPUs gives 7: one thread more would wait for the others at every barrier. `root` is where
    `proc` and `sys` lie; `affinity` is the size of the process's CPU mask, asked from the system if None.
    """
    allowed = len(os.sched_getaffinity(0)) if affinity is None else affinity
    quotas = [
        quota
        for file in limit_files(root, "cpu", "cpu.max", "cpu.cfs_quota_us")
        if (quota := _quota(file)) is not None
    ]
    return max(1, min([allowed, *map(math.floor, quotas)]))


def _quota(file: Path) -> float | None:
    """CPUs that one cgroup grants (v2: `quota period` in one file, v1: in two); None without a limit."""
    values = numbers(file) or []
    if file.name == "cpu.cfs_quota_us":
        values += numbers(file.with_name("cpu.cfs_period_us")) or []
    if len(values) != 2 or min(values) <= 0:
        return None
    return values[0] / values[1]
