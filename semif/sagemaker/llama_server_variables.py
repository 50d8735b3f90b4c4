"""`[text]`: llama-server's settings in the published container, as the variables that its entrypoint reads.

The entrypoint makes `--foo-bar VALUE` of `SM_LLAMA_CPP_FOO_BAR=VALUE`, a bare flag of `true`, and nothing of
`false` (https://aws.github.io/deep-learning-containers/llama-cpp/configuration/). It reads variables line by
line. A SageMaker Model takes 100 of them, each of up to 1,024 bytes, and 32 KB in all.
"""

import difflib
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated

from pydantic import BeforeValidator

from semif.errors import MAX_SHOWN, shown
from semif.sagemaker.llama_server_flags import BARE_FLAGS, VALUE_FLAGS

PREFIX = "SM_LLAMA_CPP_"
MAX_VARIABLES = 100
MAX_VALUE_BYTES = 1024
MAX_BYTES = 32_768
"""Names and values together."""

_ONE_MODEL = "the model is the one that [model] names"
_FROM_HUB = "the container downloads what [model] names: write hf_repo, hf_file and revision, a commit, there"
_TWO_ROUTES = "SageMaker asks port 8080 of the container, and its /ping and /invocations"
_IAM = "IAM guards the endpoint, and SageMaker hands no key on"
FIXED_VARIABLES = {
    **dict.fromkeys(("MODEL", "MODEL_DIR", "MODEL_URL", "DOCKER_REPO"), _ONE_MODEL),
    **dict.fromkeys(("HF_REPO", "HF_FILE"), _FROM_HUB),
    **dict.fromkeys(("HOST", "PORT", "API_PREFIX", "SSL_KEY_FILE", "SSL_CERT_FILE"), _TWO_ROUTES),
    **dict.fromkeys(("API_KEY", "API_KEY_FILE"), _IAM),
    "HF_TOKEN": "a Model's variables are no place for secrets; pack a private model with a preset",
}
"""What a deployment fixes, without the prefix, each with the reason."""

DEFAULTS = {
    "SM_LLAMA_CPP_CTX_SIZE": "8192",
    "SM_LLAMA_CPP_PARALLEL": "2",
    "SM_LLAMA_CPP_CACHE_RAM": "1024",
}
"""What bounds llama-server's memory, set where the file does not: its own defaults are the model's whole
length, and 8 GiB of saved prompts. Tokens of all slots together, slots, and MiB."""
BOUNDS = {
    "SM_LLAMA_CPP_CTX_SIZE": (256, 1_048_576),
    "SM_LLAMA_CPP_PARALLEL": (1, 64),
    "SM_LLAMA_CPP_CACHE_RAM": (0, 1_048_576),
}
"""Whole numbers from which the memory is known; llama-server's 0 and -1 mean more than that."""
ALL_GPU_LAYERS = {"SM_LLAMA_CPP_N_GPU_LAYERS": "999"}
"""All layers on the GPU, as the container's documentation (above) has it."""

_NAME = re.compile(rf"{PREFIX}[A-Z0-9]+(?:_[A-Z0-9]+)*")


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number that llama-server takes")
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"{shown(value)} is no value of a variable, allowed are strings, numbers and true")
    text = str(value)
    if not text:
        raise ValueError("'' says nothing; use true for a flag that takes no value, or remove it")
    if not text.isprintable():
        raise ValueError(f"{shown(text)} holds a line break or another character that cannot be printed")
    if (size := len(text.encode())) > MAX_VALUE_BYTES:
        raise ValueError(f"{shown(text)} is {size:,} bytes long, SageMaker takes {MAX_VALUE_BYTES:,}")
    return text


VariableValue = Annotated[str, BeforeValidator(_as_text)]
"""A variable's value: text, or a number or `true` as the text that the container reads."""


def variable_of(flag: str) -> str:
    """The variable that the container's entrypoint turns into `flag` (without its dashes)."""
    return PREFIX + flag.upper().replace("-", "_")


def text_problems(table: Mapping[str, object], unlisted: Collection[str] = ()) -> Iterator[str]:
    """What is wrong with `[text]` beyond each value's own form, one line for each problem.

    Of the flags in `unlisted` nothing is known but that someone answers for them.
    """
    for name, value in table.items():
        if (reason := FIXED_VARIABLES.get(name.removeprefix(PREFIX))) and name.startswith(PREFIX):
            yield f"text.{name} cannot be set: {reason}; remove it"
        elif not _NAME.fullmatch(name) or len(name) > MAX_SHOWN:
            yield (
                f"text: {shown(name)} is not a variable of the container, write {PREFIX} and a flag of "
                f"llama-server, as in {PREFIX}CTX_SIZE for --ctx-size"
            )
        else:
            yield from (f"text.{name}: {problem}" for problem in _flag_problems(name, value, unlisted))
    whole = {**DEFAULTS, **table}
    if len(whole) > MAX_VARIABLES:
        yield f"text comes to {len(whole)} variables, SageMaker takes {MAX_VARIABLES}; set fewer"
    if (size := sum(len(f"{name}{value}".encode()) for name, value in whole.items())) > MAX_BYTES:
        yield f"text comes to {size:,} bytes, SageMaker takes {MAX_BYTES:,}; set fewer or shorter ones"


def _flag_problems(name: str, value: object, unlisted: Collection[str]) -> Iterator[str]:
    flag = name.removeprefix(PREFIX).lower().replace("_", "-")
    said = str(value).lower()
    if flag not in VALUE_FLAGS | BARE_FLAGS | set(unlisted):
        near = difflib.get_close_matches(flag, sorted(VALUE_FLAGS | BARE_FLAGS), n=1)
        hint = (
            f"did you mean {variable_of(near[0])}?"
            if near
            else "semif/sagemaker/llama_server_flags.py lists what may be set, and unlisted_flags in "
            "[endpoint] allows another by its name"
        )
        yield f"llama-server has no flag --{flag} that a deployment may set; {hint}"
    elif said == "false":
        yield f"{shown(value)} is dropped by the container; {_instead_of_false(flag)}"
    elif flag in BARE_FLAGS and said != "true":
        yield f"{shown(value)} goes with no flag, --{flag} stands alone; write true, or remove it"
    elif flag in VALUE_FLAGS and said == "true":
        yield f"--{flag} needs a value, llama-server would take the next flag for it"
    elif name in BOUNDS and not _is_within(said, BOUNDS[name]):
        low, high = BOUNDS[name]
        yield f"{shown(value)}: allowed are whole numbers from {low:,} to {high:,}"


def _instead_of_false(flag: str) -> str:
    opposite = flag.removeprefix("no-") if flag.startswith("no-") else f"no-{flag}"
    if opposite in BARE_FLAGS:
        return f"write {variable_of(opposite)} = true"
    return "write off" if flag == "flash-attn" else "remove it"


def _is_within(text: str, bounds: tuple[int, int]) -> bool:
    return re.fullmatch(r"[0-9]{1,7}", text) is not None and bounds[0] <= int(text) <= bounds[1]


def with_defaults(variables: Mapping[str, str], *, on_gpu: bool) -> dict[str, str]:
    """`variables`, and what bounds the memory and puts all layers on a GPU where they do not say so."""
    return {**DEFAULTS, **(ALL_GPU_LAYERS if on_gpu else {}), **variables}
