"""The adapter's settings: one described, bounded type, read once from `SEMIF_*` variables.

`Settings.from_env()` is what the container does at start, `Settings.to_env()` what the construct writes into
the SageMaker Model: both sides agree because there is one list.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from semif_adapter.contract import Readout
from semif_adapter.errors import StartupError

PREFIX = "SEMIF_"


class Settings(BaseModel):
    """Everything an operator may set. The variable of a field is `SEMIF_` and its name in upper case."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model_dir: Path = Field(Path("/opt/ml/model"), description="folder of the unpacked model archive")
    gguf: Path | None = Field(None, description="a GGUF to serve instead of the model folder's")
    library_dir: Path = Field(
        Path("/opt/llama.cpp/bin"), description="folder of libllama.so and its backends"
    )
    readout: Readout | None = Field(None, description="readout to use instead of the manifest's")
    host: str = Field(
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
    streams: Annotated[int, Field(ge=2, le=64)] = Field(4, description="sequences kept in memory at once")
    max_body_bytes: Annotated[int, Field(ge=1024, le=6_291_456)] = Field(
        4_194_304, description="largest request body, in bytes"
    )
    max_decisions: Annotated[int, Field(ge=1, le=1024)] = Field(
        64, description="most decisions of one request"
    )
    max_in_flight: Annotated[int, Field(ge=1, le=1024)] = Field(
        16, description="requests admitted at once, the running one included"
    )

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read `SEMIF_*` from `environ`; an empty value counts as unset.

        Raises StartupError with one line that names every wrong or unknown variable.
        """
        given = {
            name[len(PREFIX) :].lower(): value
            for name, value in environ.items()
            if name.startswith(PREFIX) and value != ""
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            problems = "; ".join(
                _describe(problem["loc"][0], problem["msg"], problem["input"]) for problem in error.errors()
            )
            raise StartupError(problems) from None

    def to_env(self) -> dict[str, str]:
        """The variables that make `from_env` return these settings; fields at their default are left out."""
        changed = self.model_dump(exclude_defaults=True)
        return {PREFIX + name.upper(): str(value) for name, value in sorted(changed.items())}


def _describe(name: int | str, problem: str, value: object) -> str:
    variable = PREFIX + str(name).upper()
    if name not in Settings.model_fields:
        known = ", ".join(PREFIX + field.upper() for field in Settings.model_fields)
        return f"{variable} is not a setting, known are {known}"
    message = problem[0].lower() + problem[1:]
    return f"{variable}={value} is not allowed: {message} ({Settings.model_fields[str(name)].description})"
