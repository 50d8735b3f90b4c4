"""Where and with what a run was made."""

from datetime import UTC, datetime
from typing import Any

from semif.evaluation.runs.machine import describe_machine
from semif_adapter.contract.wire import ModelInfo


def describe(model: ModelInfo) -> dict[str, Any]:
    """The machine, its load now, the library, the model and the commit."""
    machine = describe_machine()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": machine.cpu,
        "cpus": machine.cpus,
        "load_average_at_start": list(machine.load_average),
        "system": machine.system,
        "python": machine.python,
        "llama_cpp": model.llama_cpp_build,
        "devices": list(model.devices),
        "threads": model.threads,
        "context_tokens": model.context_tokens,
        "mode": model.mode,
        "model": {"name": model.name, "file": model.file, "quantization": model.quantization},
        "commit": machine.commit,
    }
