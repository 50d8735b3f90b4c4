"""llama.cpp on this machine: the library of a PyPI wheel."""

import importlib.util
from pathlib import Path

LIBRARY_PACKAGE = "xllamacpp"


def installed_library() -> Path | None:
    """The folder of the installed library; None where the wheel is not installed."""
    package = importlib.util.find_spec(LIBRARY_PACKAGE)
    places = package.submodule_search_locations if package else None
    return Path(places[0]) if places else None
