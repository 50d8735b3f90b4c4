"""Which models a System One client may name here, and what it is told of them."""

from datetime import date

from semif_adapter.contract.errors import ModelNotFoundError
from semif_adapter.contract.wire import ModelInfo
from semif_adapter.forms.systemone.types import ModelList, ModelMetadata

ALIAS = "jev"
"""The vendor's models are named jev-latest, jev-preview, jev-1.13.0 and so on."""


def check_model(name: str, served: ModelInfo, *, aliases: bool) -> None:
    """Raise ModelNotFoundError unless `name` means the model that is served."""
    alias = name == ALIAS or name.startswith(f"{ALIAS}-")
    if name != served.name and not (aliases and alias):
        also = f", which also answers to {ALIAS}-latest" if aliases else ""
        raise ModelNotFoundError(
            f"the only model here is {served.name}{also}; see GET /v1/models", path="model"
        )


def model_list(served: ModelInfo, since: date) -> ModelList:
    """The one model, offered `since` this process loaded it: a GGUF does not tell its day of release."""
    description = (
        f"{served.file}, {served.quantization}, sha256 {served.sha256}, "
        f"{served.context_tokens} tokens of context, llama.cpp {served.llama_cpp_build} on {served.backend}"
    )
    return ModelList(
        models=(ModelMetadata(name=served.name, description=description, release_date=since.isoformat()),)
    )
