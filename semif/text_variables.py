"""`[text]`: llama-server's settings in the published container, as the variables that its entrypoint reads.

The entrypoint makes `--foo-bar VALUE` of `SM_LLAMA_CPP_FOO_BAR=VALUE`, a bare flag of `true`, and nothing of
`false` (https://aws.github.io/deep-learning-containers/llama-cpp/configuration/). It reads variables line by
line. A SageMaker Model takes 100 of them, each of up to 1,024 bytes.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import BeforeValidator

from semif.toml_file import shown

MAX_VARIABLES = 90
"""What a file may set of SageMaker's 100."""
MAX_VALUE_BYTES = 1024

FIXED_VARIABLES = {
    "SM_LLAMA_CPP_MODEL": "the model is the one in the archive",
    "SM_LLAMA_CPP_MODEL_DIR": "SageMaker unpacks the archive where the container looks",
    "SM_LLAMA_CPP_PORT": "SageMaker asks port 8080",
    "SM_LLAMA_CPP_HF_REPO": "the container has no network, the model is the one in the archive",
    "SM_LLAMA_CPP_HF_FILE": "the container has no network, the model is the one in the archive",
}
"""Variables that a deployment fixes, each with the reason."""

ALL_GPU_LAYERS = {"SM_LLAMA_CPP_N_GPU_LAYERS": "999"}
"""All layers on the GPU, as the container's documentation (above) has it."""

_GPU_LAYERS = ("SM_LLAMA_CPP_N_GPU_LAYERS", "SM_LLAMA_CPP_GPU_LAYERS")
"""llama-server's two long names of the flag."""
_NAME = re.compile(r"SM_LLAMA_CPP_[A-Z0-9]+(?:_[A-Z0-9]+)*")


def _as_text(value: object) -> str:
    if value is True:
        return "true"
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number that llama-server takes")
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"{shown(value)} is no value of a variable, allowed are strings, numbers and true")
    text = str(value)
    if text.lower() == "false":
        raise ValueError(
            f"{shown(value)} is dropped by the container; use llama-server's opposite flag, or remove it"
        )
    if not text:
        raise ValueError("'' says nothing; use true for a flag that takes no value, or remove it")
    if not text.isprintable():
        raise ValueError(f"{shown(text)} holds a line break or another character that cannot be printed")
    if (size := len(text.encode())) > MAX_VALUE_BYTES:
        raise ValueError(f"{shown(text)} is {size:,} bytes long, SageMaker takes {MAX_VALUE_BYTES:,}")
    return text


VariableValue = Annotated[str, BeforeValidator(_as_text)]
"""A variable's value: text, or a number or `true` as the text that the container reads."""


def name_problems(table: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with the names of `[text]` and their number, one line for each problem."""
    for name in table:
        if name in FIXED_VARIABLES:
            yield f"text.{name} cannot be set: {FIXED_VARIABLES[name]}; remove it"
        elif not _NAME.fullmatch(name):
            yield (
                f"text: {shown(name)} is not a variable of the container, write SM_LLAMA_CPP_ and a flag of "
                "llama-server, as in SM_LLAMA_CPP_CTX_SIZE for --ctx-size"
            )
    if len(table) > MAX_VARIABLES:
        yield f"text holds {len(table)} variables, allowed are {MAX_VARIABLES}"


def with_gpu_layers(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` with all layers on the GPU, unless they say themselves how many."""
    says_so = any(name in variables for name in _GPU_LAYERS)
    return dict(variables) if says_so else {**ALL_GPU_LAYERS, **variables}
