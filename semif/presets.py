"""Model presets: the TOML files in `models/`, one model each, pinned."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from semif.errors import SemifError, shown
from semif.pins import ModelPin
from semif.project import project_root
from semif.toml_file import read_toml
from semif_adapter.manifest import Member, ModelManifest, PromptSpec

DEFAULT_PRESET = "qwen3.5-4b"

ModelFormat = Literal["tar.gz", "prefix"]
"""How a preset's model is published: as an archive, which SageMaker unpacks, or as files, which it copies."""
PresetName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,62}$")]
Line = Annotated[str, StringConstraints(pattern=r"^\S[^\n]*$", max_length=300)]


class Preset(BaseModel):
    """One model as the project knows it: which bytes, under which licence, and how it is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: PresetName
    """The TOML file's name without its ending."""
    description: Line
    """What it is and what for, in one line."""
    license: Line
    """The name of the model's licence, or where it stands."""
    quantization: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+$", max_length=20)]
    """The GGUF's file type, such as Q4_K_M."""
    model: ModelPin
    prompt: PromptSpec
    context_bytes_per_token: Annotated[int, Field(ge=1, le=16_777_216)] | None = None
    """Keys and values of one token, in 16-bit floats: layers with full attention x KV heads x (key length +
    value length) x 2. Says whether a context fits an instance; None: that is not checked."""

    def manifest(self) -> ModelManifest:
        """The archive's manifest, from the preset alone: its SHA-256 is known before any download."""
        pin = self.model
        return ModelManifest(
            preset=self.name,
            # A local path says something about a machine and nothing about the model.
            source=f"file:{pin.file}" if pin.scheme == "file" else pin.source,
            revision=pin.revision,
            quantization=self.quantization,
            prompt=self.prompt,
            members=(Member(file=pin.file, role="gguf", bytes=pin.bytes, sha256=pin.sha256),),
        )


def preset_names() -> tuple[str, ...]:
    """Names of the project's presets, sorted."""
    return tuple(sorted(path.stem for path in (project_root() / "models").glob("*.toml")))


def load_preset(name: str) -> Preset:
    """The preset `models/<name>.toml`. Raises SemifError for an unknown name or a wrong file."""
    known = preset_names()
    if name not in known:
        raise SemifError(f"there is no preset {shown(name)}, known are {', '.join(known)}")
    return read_toml(project_root() / "models" / f"{name}.toml", Preset, {"name": name})
