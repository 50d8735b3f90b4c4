"""Where and with what a run was made."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.models.quantised import weight_types
from semif.evaluation.runs.machine import describe_machine
from semif.serve.local_adapter import adapter_variables
from semif_adapter.contract.wire import ModelInfo

_NOT_TOLD = {"SEMIF_MODE", "SEMIF_API_KEY", "SEMIF_API_KEY_NEXT"}  # told already, or secret


def describe_setup(model: ModelInfo, gguf: Path, *, hybrid: bool) -> dict[str, Any]:
    """What two runs must have in common so that their samples are of one kind."""
    machine, set_here = describe_machine(), adapter_variables(os.environ)
    return {
        "commit": machine.commit,
        "cpu": machine.cpu,
        "cpus": machine.cpus,
        "system": machine.system,
        "python": machine.python,
        "llama_cpp": model.llama_cpp_build,
        "devices": list(model.devices),
        "gpu_layers": model.gpu_layers,
        "threads": model.threads,
        "context_tokens": model.context_tokens,
        "mode": model.mode,
        "variables": {
            name: value
            for name, value in sorted(set_here.items())
            if name.startswith("SEMIF_") and name not in _NOT_TOLD
        },
        "model": {
            "name": model.name,
            "file": model.file,
            "quantization": model.quantization,
            "weights": weight_types(gguf),
        },
        "hybrid": hybrid,
    }


def describe_run() -> dict[str, Any]:
    """When this is, and how busy the machine is already."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average_at_start": list(describe_machine().load_average),
        "seconds": 0.0,
    }
