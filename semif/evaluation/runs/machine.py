"""The machine that a run was made on, and the toolkit that made it."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from semif.errors import SemifError
from semif.evaluation.runs.run_file import Machine
from semif.project.root import project_root
from semif_adapter.machine.cpu import usable_cpus


def describe_machine() -> Machine:
    """This machine, and its load now."""
    one, five, fifteen = (round(value, 2) for value in os.getloadavg())
    return Machine(
        cpu=_cpu(),
        cpus=usable_cpus(),
        load_average=(one, five, fifteen),
        system=platform.platform(),
        python=platform.python_version(),
        semif=version("semif"),
        commit=_commit(),
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )


def _commit() -> str:
    """The commit, with a mark where files differ from it; "unknown" outside a checkout.

    Without git's lock, which `git describe --dirty` takes: where the disk is full it would stay behind.
    """
    try:
        status = subprocess.run(
            ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no"],
            cwd=project_root(),
            capture_output=True,
            text=True,
            check=True,
        )
    except (SemifError, OSError, subprocess.CalledProcessError):
        return "unknown"
    commit, *others = status.stdout.removeprefix("# branch.oid ").splitlines()
    return commit[:12] + ("-dirty" if any(not line.startswith("#") for line in others) else "")
