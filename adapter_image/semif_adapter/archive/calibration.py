"""How far a model's probabilities may be believed: temperatures fitted on labelled decisions, and their file.

A temperature divides the option logits before the softmax: above 1 it makes probabilities more even, below 1
more extreme, and it changes neither the logits nor which option is the most probable. Fitted for one model,
one readout and one prompt, it is wrong for any other: a file that does not fit stops the start.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from semif_adapter.archive.manifest import Sha256
from semif_adapter.archive.prompt_version import is_read_by
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.wire import AppliedCalibration, Layout, QuestionKind, Readout

MAX_CALIBRATION_BYTES = 65_536
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0
"""Beyond these the options' logits say nothing, or everything."""

Temperature = Annotated[float, Field(ge=MIN_TEMPERATURE, le=MAX_TEMPERATURE)]
Measure = Annotated[float, Field(ge=0, le=1000)]


class _CalibrationModel(BaseModel):
    """Immutable, nothing coerced, nothing unknown, no NaN and no infinity."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )


class Figures(_CalibrationModel):
    """How well probabilities were calibrated; less is better in all three."""

    ece: Measure
    """Expected calibration error of the chosen option's probability, 0 to 1."""
    brier: Measure
    """Mean squared distance of the probabilities from the truth, 0 to 2."""
    log_loss: Measure
    """Mean negative logarithm of the right option's probability, in nats."""


class Fitted(_CalibrationModel):
    """A temperature, what it was fitted on, and what it changes."""

    temperature: Temperature
    tasks: Annotated[int, Field(ge=1)]
    groups: Annotated[int, Field(ge=1)]
    """Tasks that resemble each other count as one group, and are never on both sides of a fold."""
    before: Figures
    after: Figures
    """Out of fold: each task's probabilities by a temperature fitted without its group."""


class PromptCalibration(Fitted):
    """The temperatures of one prompt, as `prompt_version` of the results names it.

    Its own is for a decision, which has no kind, and for kinds that have none of their own.
    """

    prompt_version: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,80}$")]
    kinds: dict[QuestionKind, Fitted] = {}
    """For the kinds of System One's questions that had data enough and gained by it."""


class Calibration(_CalibrationModel):
    """The content of a calibration file."""

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    model_sha256: Sha256
    """Of the GGUF, all parts of a split one."""
    readout: Readout
    data_sha256: Annotated[tuple[Sha256, ...], Field(min_length=1)]
    """Of the files of labelled tasks."""
    prompts: Annotated[tuple[PromptCalibration, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_readout(self) -> "Calibration":
        versions = [prompt.prompt_version for prompt in self.prompts]
        if len(set(versions)) != len(versions):
            raise ValueError(f"prompts must have distinct versions, got {versions}")
        if other := [version for version in versions if not is_read_by(version, self.readout)]:
            raise ValueError(f"the readout is {self.readout}, {', '.join(other)} is of another")
        return self

    def canonical_bytes(self) -> bytes:
        """The file's one byte form: sorted keys, two-space indent, a final newline."""
        text = json.dumps(self.model_dump(by_alias=True), sort_keys=True, indent=2, ensure_ascii=True)
        return (text + "\n").encode()


@dataclass(frozen=True)
class LoadedCalibration:
    """A calibration and the SHA-256 of its file's bytes, by which results name it."""

    name: str
    bytes: int
    sha256: str
    content: Calibration

    def check_model(self, model_sha256: str) -> None:
        """Raise StartupError unless it was fitted for the GGUF with this SHA-256."""
        if self.content.model_sha256 != model_sha256:
            raise StartupError(
                f"{self.name} is the calibration of the model with SHA-256 {self.content.model_sha256}, this "
                f"one has {model_sha256}; fit it for this model (semif calibrate fit), or leave it out"
            )

    def check_prompts(self, known: dict[Layout, str], layout: Layout | None) -> None:
        """Raise StartupError unless it was fitted for prompts that are asked: `known` by layout.

        Where `layout` is fixed, the other one's temperatures alone would never be used.
        """
        fitted = [prompt.prompt_version for prompt in self.content.prompts]
        asked = [known[layout]] if layout else list(known.values())
        if not set(fitted) <= set(known.values()) or not set(fitted) & set(asked):
            raise StartupError(
                f"{self.name} is the calibration of the prompt {', '.join(fitted)}, asked is with "
                f"{', '.join(asked)}; fit it for this prompt (semif calibrate fit), or leave it out"
            )

    def applied(self, prompt_version: str, kind: QuestionKind | None) -> AppliedCalibration | None:
        """The temperature for an answer; None where it was not fitted for its prompt."""
        for prompt in self.content.prompts:
            if prompt.prompt_version == prompt_version:
                fitted = prompt.kinds.get(kind, prompt) if kind else prompt
                return AppliedCalibration(sha256=self.sha256, temperature=fitted.temperature)
        return None

    def summary(self) -> dict[str, object]:
        """What the log says of it at start."""
        temperatures = {prompt.prompt_version: prompt.temperature for prompt in self.content.prompts}
        return {"file": Path(self.name).name, "sha256": self.sha256, "temperatures": temperatures}


def load_calibration(path: Path) -> LoadedCalibration:
    """Read a calibration file; raises StartupError with all its problems."""
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise StartupError(f"cannot read {path}: it is not a file; fit the calibration again")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CALIBRATION_BYTES + 1)
    except OSError as error:
        raise StartupError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    return parse_calibration(data, str(path))


def parse_calibration(data: bytes, name: str) -> LoadedCalibration:
    """The calibration that the bytes of a file called `name` hold; raises StartupError with all problems."""
    if len(data) > MAX_CALIBRATION_BYTES:
        raise StartupError(f"{name} is larger than {MAX_CALIBRATION_BYTES} bytes; fit the calibration again")
    try:
        content = Calibration.model_validate_json(data)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'calibration'}: {e['msg']}" for e in error.errors()
        )
        raise StartupError(f"{name} is not a calibration file: {problems}; fit it again") from None
    if content.canonical_bytes() != data:
        raise StartupError(
            f"{name} is not in the form that `semif calibrate fit` writes (a key twice, other spaces or "
            "numbers); fit it again"
        )
    return LoadedCalibration(name, len(data), hashlib.sha256(data).hexdigest(), content)
