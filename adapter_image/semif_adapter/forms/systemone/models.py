"""What a System One client is told of the model that answers."""

from datetime import date

from semif_adapter.contract.wire import ModelInfo
from semif_adapter.forms.systemone.types import ModelList, ModelMetadata


def model_list(served: ModelInfo, since: date) -> ModelList:
    """The one model, offered `since` this process loaded it: a GGUF does not tell its day of release."""
    description = (
        f"{served.file}, {served.quantization}, sha256 {served.sha256}, "
        f"{served.context_tokens} tokens of context, llama.cpp {served.llama_cpp_build} on {served.backend}"
    )
    return ModelList(
        models=(ModelMetadata(name=served.name, description=description, release_date=since.isoformat()),)
    )
