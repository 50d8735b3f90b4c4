"""Which program runs on this machine in place of a Model's image."""

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_aws.core.context import HOST
from local_aws.sagemaker.hosts.errors import HostingError
from semif_adapter.contract.settings import Settings

_PUBLISHED = re.compile(r"[^/]+/(?:deep-learning-containers/)?llama-cpp(?:-arm64)?[@:].+")
"""The published llama.cpp container, of AWS's registry in any region."""
_DECIDER = re.compile(r"[^/]+/(?:deep-learning-containers/)?strands-decider[@:].+")
"""The published container for Strands Decider, likewise."""


@dataclass(frozen=True)
class Program:
    """A command, and the variables that it gets beside those of the Model."""

    command: tuple[str, ...]
    variables: dict[str, str]


def program_of(container: dict[str, Any], model_folder: Path, port: int) -> Program:
    """What runs for `container`: the stand-in for a published container, or this checkout's adapter.

    Raises HostingError where llama.cpp is not installed.
    """
    for image, module in ((_PUBLISHED, "llama_cpp_container"), (_DECIDER, "decider_container")):
        if image.fullmatch(container.get("Image", "")):
            stand_in = ["-m", f"local_aws.sagemaker.hosts.{module}", "--port", str(port)]
            return Program((sys.executable, *stand_in, "--model-folder", str(model_folder)), {})
    # Where the container's fixed places lie on this machine; all else is the Model's Environment.
    places = {"model_dir": model_folder, "library_dir": _library_folder(), "host": HOST, "port": port}
    adapter = (sys.executable, "-m", "semif_adapter", "serve")
    return Program(adapter, Settings.model_validate(places).to_env())


def _library_folder() -> Path:
    """The folder of the installed llama.cpp library, where the image has /opt/llama.cpp/bin."""
    package = importlib.util.find_spec("xllamacpp")
    if package is None or not package.submodule_search_locations:
        raise HostingError("the package xllamacpp is not installed; install the extra `demo`")
    return Path(package.submodule_search_locations[0])
