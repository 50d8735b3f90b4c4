"""`models/checkpoints/*.toml`: a checkpoint of Strands Decider and its base model, each file of both pinned.

The checkpoint holds an adapter, a head and a tokenizer; the weights are those of the base model, in another
repository at the commit that the checkpoint was trained on (strands-labs/strands-decider, inference.md,
"Model artifact", and `StrandsDeciderModel.load` in modeling.py, read on 2026-11-30).
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from semif.errors import PinError, SemifError, shown
from semif.models.presets import AnyPreset
from semif.project.root import presets_root
from semif.project.toml_file import read_toml
from semif_adapter.archive.manifest import Sha256
from semif_adapter.contract.described import DescribedModel

FOLDER = "models/checkpoints"
CONFIG_FILES = ("strands_decider_config.json", "hobson_config.json")
"""The checkpoint's configuration; the second name is hobson-v19's."""
HASHES_FILE = "MANIFEST.sha256"
"""What the publisher says of the checkpoint's files, as `sha256sum` writes it."""
NEEDED_FILES = (
    "head.safetensors",
    "lora/adapter_config.json",
    "lora/adapter_model.safetensors",
    "tokenizer.json",
    HASHES_FILE,
)
FURTHER_FILES = ("chat_template.jinja", "LICENSE.md", "provenance.json", "tokenizer_config.json")
"""What is taken too where it is there. Nothing else is: the server reads no other file."""
HUB_CACHE = "hf-cache"
"""The folder of the model data that is the container's cache of the hub."""

FilePath = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$", max_length=200),
]


class _Part(DescribedModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FilePin(_Part):
    """One file of a repository."""

    file: FilePath
    """Its path there."""
    bytes: Annotated[int, Field(gt=0, le=1 << 40)]
    """Its size."""
    sha256: Sha256
    """SHA-256 of its bytes."""


class HubFiles(_Part):
    """Files of one repository of the hub at one commit."""

    repository: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200),
    ]
    """`OWNER/NAME` on Hugging Face."""
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    """The commit; a branch or tag can move."""
    files: Annotated[tuple[FilePin, ...], Field(min_length=1, max_length=200)]

    @property
    def names(self) -> tuple[str, ...]:
        """The files' paths."""
        return tuple(pin.file for pin in self.files)


@dataclass(frozen=True)
class PinnedHubFile:
    """A file to download."""

    source: str
    revision: str
    file: str
    bytes: int
    sha256: str


class CheckpointMember(_Part):
    """One file of the model data."""

    file: FilePath
    role: Literal["checkpoint", "base"]
    bytes: int
    sha256: Sha256


class CheckpointManifest(_Part):
    """Everything that makes the model what it is."""

    model_config = ConfigDict(populate_by_name=True)

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    preset: str
    checkpoint: str
    """Repository and commit, `OWNER/NAME@COMMIT`."""
    base: str
    members: tuple[CheckpointMember, ...]

    def canonical_bytes(self) -> bytes:
        """The manifest's one byte form: sorted keys, two-space indent, a final newline."""
        return (json.dumps(self.model_dump(by_alias=True), sort_keys=True, indent=2) + "\n").encode()

    @property
    def sha256(self) -> str:
        """Of the canonical bytes: the model's identity and S3 key."""
        return hashlib.sha256(self.canonical_bytes()).hexdigest()


class CheckpointPreset(AnyPreset):
    """A checkpoint and its base model, as the published container for Strands Decider serves them."""

    checkpoint: HubFiles
    base: HubFiles

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if problems := list(self._problems()):
            raise PinError("; ".join(problems))
        return self

    def _problems(self) -> Iterator[str]:
        """What is wrong with the files that are pinned."""
        names, base = self.checkpoint.names, self.base.names
        for part, listed in (("checkpoint", names), ("base", base)):
            if len(set(listed)) != len(listed):
                yield f"{part}.files names a file twice"
        if missing := [name for name in NEEDED_FILES if name not in names]:
            yield f"checkpoint.files lacks {', '.join(missing)}"
        if sum(name in names for name in CONFIG_FILES) != 1:
            yield f"checkpoint.files must name one of {' and '.join(CONFIG_FILES)}"
        if foreign := sorted(set(names) - {*NEEDED_FILES, *FURTHER_FILES, *CONFIG_FILES}):
            yield f"checkpoint.files names {shown(foreign[0])}, which the server does not read"
        if "config.json" not in base or not any(name.endswith(".safetensors") for name in base):
            yield "base.files must name config.json and the weights, *.safetensors"
        for name in base:
            if "/" in name or not name.endswith((".json", ".safetensors")):
                yield f"base.files names {shown(name)}, allowed are *.json and *.safetensors at the root"

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(pin.bytes for part in (self.checkpoint, self.base) for pin in part.files)

    @property
    def folder(self) -> str:
        """The checkpoint's folder in the model data. The server's replies name the model by it."""
        return self.checkpoint.repository.rpartition("/")[2]

    @property
    def downloads(self) -> tuple[PinnedHubFile, ...]:
        """Every file at its source, in the manifest's order."""
        return tuple(
            PinnedHubFile(f"hf://{part.repository}", part.revision, pin.file, pin.bytes, pin.sha256)
            for part in (self.checkpoint, self.base)
            for pin in part.files
        )

    def manifest(self) -> CheckpointManifest:
        """What the model data holds.

        The base model lies as in the hub's own cache, by its commit, so that the checkpoint's configuration
        finds it there without a byte of it changed (aws-samples/sagemaker-genai-hosting-examples,
        strands-decider-2B/package_offline.py, does the same; read on 2026-11-30).
        """
        base = f"{HUB_CACHE}/models--{self.base.repository.replace('/', '--')}/snapshots/{self.base.revision}"
        return CheckpointManifest(
            preset=self.name,
            checkpoint=f"{self.checkpoint.repository}@{self.checkpoint.revision}",
            base=f"{self.base.repository}@{self.base.revision}",
            members=(
                *_members(self.checkpoint, "checkpoint", self.folder),
                *_members(self.base, "base", base),
            ),
        )

    def pins(self) -> dict[str, object]:
        """Where the files are from."""
        return {
            "source": f"hf://{self.checkpoint.repository}",
            "revision": self.checkpoint.revision,
            "base": f"hf://{self.base.repository}",
            "base_revision": self.base.revision,
            "files": len(self.downloads),
            "bytes": self.bytes,
        }


def _members(part: HubFiles, role: Literal["checkpoint", "base"], folder: str) -> Iterator[CheckpointMember]:
    for pin in part.files:
        yield CheckpointMember(file=f"{folder}/{pin.file}", role=role, bytes=pin.bytes, sha256=pin.sha256)


def checkpoint_names() -> tuple[str, ...]:
    """Names of the project's pinned checkpoints, sorted."""
    return tuple(sorted(path.stem for path in (presets_root() / FOLDER).glob("*.toml")))


def load_checkpoint(name: str) -> CheckpointPreset:
    """The preset `models/checkpoints/<name>.toml`. Raises SemifError for an unknown name or a wrong file."""
    known = checkpoint_names()
    if name not in known:
        raise SemifError(f"there is no checkpoint {shown(name)}, known are {', '.join(known) or 'none'}")
    return read_toml(presets_root() / FOLDER / f"{name}.toml", CheckpointPreset, {"name": name})
