"""Model presets: the TOML files in `models/`, one model each, pinned."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field, StringConstraints, ValidationError

from semif.errors import ProblemsError, SemifError, shown
from semif.models.model_pin import ModelPin
from semif.models.pinned_file import FilesManifest
from semif.project.root import presets_root
from semif.project.toml_file import parse_toml, read_toml
from semif_adapter.archive.calibration import load_calibration
from semif_adapter.archive.manifest import Member, ModelManifest, PromptSpec
from semif_adapter.archive.prompt_version import prompt_version
from semif_adapter.contract.described import DescribedModel
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.wire import Layout

ModelFormat = Literal["tar.gz", "prefix"]
"""How a preset's model is published: as an archive, which SageMaker unpacks, or as files, which it copies."""
PresetName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,62}$")]
Line = Annotated[str, StringConstraints(pattern=r"^\S[^\x00-\x1f\x7f-\x9f]*$", max_length=300)]


class CalibrationTable(DescribedModel):
    """`[calibration]`: temperatures that are packed with the model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\.calibration\.json$", max_length=100)
    ]
    """A file beside the preset, NAME.calibration.json, as `semif calibrate fit` writes it."""


class Published(DescribedModel):
    """`[[published]]`: what somebody says of the model's quality. Nothing of it was measured here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: Line
    """What was found, in one line; of which file or weights, and on how many tasks."""
    source: Annotated[str, StringConstraints(pattern=r"^https://[!-~]+$", max_length=300)]
    """Where it stands."""
    on: date
    """The day on which it was published there, or read."""


class AnyPreset(DescribedModel, ABC):
    """One model as the project knows it, of whatever files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: PresetName
    """The TOML file's name without its ending."""
    description: Line
    """What it is and what for, in one line."""
    license: Line
    """The name of the model's licence, or where it stands."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Size of the weights, and of what is published with them."""

    @abstractmethod
    def manifest(self) -> FilesManifest:
        """What is published of the model: known before any download. Raises SemifError."""

    @abstractmethod
    def pins(self) -> dict[str, object]:
        """Where its files are from, for people and scripts."""


class Preset(AnyPreset):
    """One GGUF: which bytes, under which licence, and how it is asked."""

    quantization: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+$", max_length=20)]
    """The GGUF's file type, such as Q4_K_M."""
    model: ModelPin
    prompt: PromptSpec
    calibration: CalibrationTable | None = None
    context_bytes_per_token: Annotated[int, Field(ge=1, le=16_777_216)] | None = None
    """Keys and values of one token, in 16-bit floats: layers with full attention x KV heads x (key length +
    value length) x 2. Says whether a context fits an instance; None: that is not checked."""
    recurrent_bytes: Annotated[int, Field(ge=0, le=4_294_967_296)] = 0
    """State of one prompt in a hybrid model's layers without full attention, in 32-bit floats: these layers x
    (inner size x state size + (convolution kernel - 1) x (inner size + 2 x groups x state size)) x 4."""
    published: tuple[Published, ...] = ()

    @property
    def bytes(self) -> int:
        """Size of the GGUF."""
        return self.model.bytes

    def pins(self) -> dict[str, object]:
        """The GGUF's pin."""
        return self.model.model_dump(mode="json", exclude_defaults=True)

    def manifest(self) -> ModelManifest:
        """The archive's manifest, from the preset and its calibration: known before any download.

        Raises SemifError where the calibration cannot be read, or is not one of this model and prompt.
        """
        pin = self.model
        return ModelManifest(
            preset=self.name,
            # A local path says something about a machine and nothing about the model.
            source=f"file:{pin.member}" if pin.scheme == "file" else pin.source,
            revision=pin.revision,
            quantization=self.quantization,
            prompt=self.prompt,
            members=(
                Member(file=pin.member, role="gguf", bytes=pin.bytes, sha256=pin.sha256),
                *self._calibration_member(),
            ),
        )

    @property
    def calibration_path(self) -> Path | None:
        """Where the calibration lies, None where the model has none."""
        return presets_root() / "models" / self.calibration.file if self.calibration else None

    def _calibration_member(self) -> tuple[Member, ...]:
        path = self.calibration_path
        if path is None:
            return ()
        try:
            loaded = load_calibration(path)
            loaded.check_model(self.model.sha256)
            prompt = self.prompt
            known = {
                layout: prompt_version(prompt.template, prompt.readout, layout) for layout in get_args(Layout)
            }
            loaded.check_prompts(known, layout=None)
        except StartupError as error:
            raise SemifError(f"{error} (file in [calibration] of the preset {self.name})") from None
        return (Member(file=path.name, role="calibration", bytes=loaded.bytes, sha256=loaded.sha256),)


def preset_names() -> tuple[str, ...]:
    """Names of the project's presets, sorted."""
    return tuple(sorted(path.stem for path in (presets_root() / "models").glob("*.toml")))


def load_preset(name: str) -> Preset:
    """The preset `models/<name>.toml`. Raises SemifError for an unknown name, a wrong file or calibration."""
    known = preset_names()
    if name not in known:
        raise SemifError(f"there is no preset {shown(name)}, known are {', '.join(known)}")
    path = presets_root() / "models" / f"{name}.toml"
    try:
        preset = read_toml(path, Preset, {"name": name})
    except ProblemsError as error:
        raise ProblemsError(path, [*error.problems, *_calibration_problems(path, name)]) from None
    preset.manifest()  # a calibration that does not fit is told now, and not behind a download
    return preset


def _calibration_problems(path: Path, name: str) -> Iterator[str]:
    """What is wrong with the calibration of a preset in which other keys are wrong."""
    content = parse_toml(path)
    others = {"name": name, "description": "-", "license": "-", "quantization": "none"}
    read = {key: content[key] for key in ("model", "prompt", "calibration") if key in content}
    try:
        Preset.model_validate(others | read).manifest()
    except ValidationError:  # told already
        return
    except SemifError as error:
        yield str(error)
