"""Strings in a GGUF's metadata that llama.cpp could not load: why it could not may stand there."""

import os
from pathlib import Path

from semif_adapter.llama.functions import GgufParams
from semif_adapter.llama.libllama import Library

_STRING = 8  # enum gguf_type


def gguf_string(library: Library, path: Path, key: str) -> str | None:
    """The string under `key` in the GGUF at `path`; None where there is none, or no GGUF."""
    file = library.gguf_init_from_file(os.fsencode(path), GgufParams(True, None))
    if not file:
        return None
    try:
        index = library.gguf_find_key(file, key.encode())
        if index < 0 or library.gguf_get_kv_type(file, index) != _STRING:
            return None
        return (library.gguf_get_val_str(file, index) or b"").decode(errors="replace")
    finally:
        library.gguf_free(file)
