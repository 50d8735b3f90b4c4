"""A model is tried before it is published: llama.cpp loads it and tokenises texts of every kind with it.

As the container does at its start, in a process of its own; here with the library of the PyPI wheel.
"""

import importlib.util
from pathlib import Path

from semif.models.gguf_header import NotAModelError
from semif.models.llama_cpp_wheel import LIBRARY_PACKAGE, installed_library
from semif_adapter.contract.errors import StartupError


def rehearse_model(gguf: Path) -> str | None:
    """Load `gguf` and tokenise with it; return why that cannot be done here, None where it was done.

    On x86-64 the weights stay in the file, mapped: beside them it takes some 100 MB, for the vocabulary.
    Raises NotAModelError where llama.cpp refuses the file, or ends over it.
    """
    library = installed_library()
    if library is None or importlib.util.find_spec("numpy") is None:
        return f"{'numpy' if library else LIBRARY_PACKAGE} is not installed here"
    from semif_adapter.engine.rehearsal import rehearse  # noqa: PLC0415 - numpy, which may be missing

    try:
        rehearse(library, gguf, gpu_layers=0)
    except StartupError as error:
        raise NotAModelError(str(error)) from None
    return None
