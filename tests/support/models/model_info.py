"""What a model that is none says of itself."""

from typing import Any

from semif_adapter.contract.wire import ModelInfo


def model_info(**known: Any) -> ModelInfo:
    """A made-up model; `known` changes fields."""
    fields: dict[str, Any] = {
        "name": "made-up",
        "file": "made-up.gguf",
        "sha256": "0" * 64,
        "revision": None,
        "quantization": "F32",
        "llama_cpp_build": "b0",
        "backend": "CPU",
        "devices": (),
        "gpu_layers": 0,
        "context_tokens": 256,
        "threads": 1,
        "mode": "invariant",
        "invariant": True,
    }
    return ModelInfo(**fields | known)
