"""Where and with what a run was made."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from semif.project import project_root
from semif_adapter.contract import ModelInfo
from semif_adapter.cpu import usable_cpus


def describe(model: ModelInfo) -> dict[str, Any]:
    """The machine, its load now, the library, the model and the commit."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "cpus": usable_cpus(),
        "load_average_at_start": [round(value, 2) for value in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "llama_cpp": model.llama_cpp_build,
        "devices": list(model.devices),
        "threads": model.threads,
        "context_tokens": model.context_tokens,
        "model": {"name": model.name, "file": model.file, "quantization": model.quantization},
        "commit": _commit(),
    }


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
    """The commit, with a mark where files differ from it; "unknown" outside a checkout."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"],
            cwd=project_root(),
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()
