"""The adapter's settings: one described, bounded type, read once from `SEMIF_*` variables.

`Settings.from_env()` is what the container does at start, `Settings.to_env()` what the construct writes into
the SageMaker Model: both sides agree because there is one list.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.wire import (
    MAX_BODY_BYTES,
    MAX_DECISIONS,
    Layout,
    Readout,
    ReplyStyle,
    TemplateName,
)

PREFIX = "SEMIF_"
TRANSFORM_VARIABLE = "SAGEMAKER_BATCH"
"""SageMaker sets it to true in the containers of transform jobs ("Custom Inference Code with Batch
Transform" in its developer guide)."""
MOST_QUEUED_TOKENS = 16_777_216
SECRET = frozenset({"api_key", "api_key_next"})
"""Settings whose value no message may show."""
_OWN_TOKENIZER = "has no counterpart, the GGUF's own tokenizer is used; remove it"
ELSEWHERE = {
    "n_gpu_layers": "is called SEMIF_GPU_LAYERS here",
    "max_tokens": "is called SEMIF_CONTEXT_TOKENS here",
    "max_shared_decisions": "is called SEMIF_MAX_DECISIONS here",
    "max_request_tokens": "has no counterpart: each prompt may have SEMIF_CONTEXT_TOKENS, all that waits "
    "SEMIF_MAX_QUEUED_TOKENS; remove it",
    "gguf_path": "is called SEMIF_GGUF here",
    "llama_cpp_lib_dir": "is called SEMIF_LIBRARY_DIR here",
    "tokenizer_source": _OWN_TOKENIZER,
    "tokenizer_revision": _OWN_TOKENIZER,
}
"""The variables of AWS's sample that ours are not called (server.py of 03-features/semif-decision-model in
aws-samples/sagemaker-genai-hosting-examples, read on 2026-11-30); both projects share the prefix."""


class Settings(BaseModel):
    """Everything an operator may set. The variable of a field is `SEMIF_` and its name in upper case."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model_dir: Path = Field(Path("/opt/ml/model"), description="folder of the unpacked model archive")
    manifest_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None,
        description="SHA-256 that the model folder's manifest must have, as the lock pins it; unset: any",
    )
    gguf: Path | None = Field(None, description="a GGUF to serve instead of the model folder's")
    calibration: Path | None = Field(
        None, description="a calibration file to apply instead of the model folder's"
    )
    library_dir: Path = Field(
        Path("/opt/llama.cpp/bin"), description="folder of libllama.so and its backends"
    )
    readout: Readout | None = Field(None, description="readout to use instead of the manifest's")
    template: TemplateName | None = Field(None, description="template to use instead of the manifest's")
    layout: Layout | None = Field(
        None, description="what a prompt begins with, for all requests; unset: by the form of the request"
    )
    host: Annotated[str, Field(pattern=r"^[!-~]{1,253}$")] = Field(
        "0.0.0.0",  # noqa: S104 - SageMaker reaches the container from outside
        description="address to listen on",
    )
    port: Annotated[int, Field(ge=1, le=65535)] = Field(8080, description="port to listen on")
    threads: Annotated[int, Field(ge=1, le=512)] | None = Field(
        None, description="compute threads; unset: the CPUs this process may use"
    )
    gpu_layers: Annotated[int, Field(ge=-1, le=1000)] = Field(0, description="layers to offload; -1: all")
    context_tokens: Annotated[int, Field(ge=256, le=262_144)] = Field(
        4096, description="longest prompt of one decision, in tokens"
    )
    streams: Annotated[int, Field(ge=2, le=64)] = Field(
        4,
        description="beginnings of prompts kept computed in memory, each of up to SEMIF_CONTEXT_TOKENS; "
        "joined mode keeps one, and saves the others",
    )
    mode: Literal["auto", "invariant", "joined", "batched"] = Field(
        "auto",
        description="what goes into one forward pass: one question (invariant: the same bits whatever the "
        "load), all questions of a request (joined: the same bits for the same request), or several requests "
        "(batched); auto: batched where layers are on a GPU, invariant elsewhere",
    )
    turn_tokens: Annotated[int, Field(ge=1, le=16_777_216)] = Field(
        256,
        description="tokens that a long prompt computes before short ones, of no more tokens, go in between",
    )
    max_body_bytes: Annotated[int, Field(ge=1024, le=MAX_BODY_BYTES)] = Field(
        4_194_304, description="largest request body, in bytes"
    )
    max_decisions: Annotated[int, Field(ge=1, le=MAX_DECISIONS)] = Field(
        64, description="most decisions of one request"
    )
    max_in_flight: Annotated[int, Field(ge=1, le=1024)] = Field(
        16, description="requests admitted at once, the running one included"
    )
    max_queued_tokens: Annotated[int, Field(ge=256, le=MOST_QUEUED_TOKENS)] = Field(
        262_144, description="tokens that the admitted requests may have to compute together"
    )
    deadline_seconds: Annotated[float, Field(ge=1, le=3600)] = Field(
        55.0, description="longest time from a request's arrival to its answer; SageMaker cuts at 60"
    )
    body_seconds: Annotated[float, Field(ge=0.1, le=3600)] = Field(
        10.0, description="longest time for a request's body to arrive"
    )
    drain_seconds: Annotated[float, Field(ge=0.1, le=3600)] = Field(
        25.0, description="how long a stop waits for admitted requests; SageMaker kills after 30"
    )
    stall_seconds: Annotated[float, Field(ge=0.1, le=3600)] | None = Field(
        None,
        description="longest step of the engine before /ping fails; "
        "unset: four times what its largest forward pass takes, at least 30",
    )
    batch: bool = Field(
        False,
        description="in the container of a transform job, where SAGEMAKER_BATCH sets it: refusals that would "
        "come again are answers with status 200",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="lowest level of log lines"
    )
    metrics: Literal["emf", "off"] = Field(
        "emf", description="figures on standard output in CloudWatch's embedded metric format, or none there"
    )
    endpoint_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,63}$")] | None = Field(
        None, description="the figures' dimension Endpoint; unset: they have no dimension"
    )
    api_key: SecretStr | None = Field(
        None,
        description="key that callers of /v1/... and /invocations must send as a Bearer token; unset: none",
    )
    api_key_next: SecretStr | None = Field(
        None, description="a second key that is taken as well, while callers change from one to the other"
    )
    model_aliases: bool = Field(
        True,
        description="whether the names of other decision models (jev-, kev-, laya-, strands-decider-...; "
        "gpt-6-luna) mean the model that is served",
    )
    reply: ReplyStyle = Field(
        "semif",
        description="whose names the replies to decisions have: ours, or those of AWS's sample",
    )
    confidence: Literal["reference", "peak"] = Field(
        "reference",
        description="how sure a System One score is: by its levels' spread, or by the likeliest alone",
    )

    @field_validator("api_key", "api_key_next")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and not re.fullmatch(r"[\x21-\x7e]{1,256}", key.get_secret_value()):
            raise ValueError("must be 1 to 256 characters of visible ASCII without spaces")
        return key

    @property
    def api_keys(self) -> tuple[SecretStr, ...]:
        """One of which callers must send; none at all: they need none."""
        return tuple(key for key in (self.api_key, self.api_key_next) if key is not None)

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read `SEMIF_*` from `environ`, and whether this is a transform job; an empty value counts as unset.

        Raises StartupError with one line that names every wrong or unknown variable.
        """
        values = {
            # What is no Unicode in a name can be no key of a model.
            name[len(PREFIX) :].lower().encode(errors="backslashreplace").decode(): value
            for name, value in environ.items()
            if name.startswith(PREFIX) and value != ""
        }
        if environ.get(TRANSFORM_VARIABLE) == "true":
            values.setdefault("batch", "true")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise StartupError("; ".join(_describe(error))) from None

    def to_env(self) -> dict[str, str]:
        """The variables that make `from_env` return these settings; fields at their default are left out."""
        changed = self.model_dump(exclude_defaults=True)
        return {PREFIX + name.upper(): _plain(value) for name, value in sorted(changed.items())}


def _plain(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def _describe(error: ValidationError) -> Iterator[str]:
    """What is wrong, a part for each variable; the list of all settings once, at the end."""
    unknown = False
    for problem in error.errors():
        name = str(problem["loc"][0])
        variable = PREFIX + name.upper()
        if name in ELSEWHERE:
            yield f"{variable} {ELSEWHERE[name]}"
        elif name not in Settings.model_fields:
            unknown = True
            yield f"{variable} is not a setting"
        else:
            message = problem["msg"][0].lower() + problem["msg"][1:]
            shown = variable if name in SECRET else f"{variable}={problem['input']}"
            yield f"{shown} is not allowed: {message} ({Settings.model_fields[name].description})"
    if unknown:
        yield f"settings are {', '.join(PREFIX + field.upper() for field in Settings.model_fields)}"
