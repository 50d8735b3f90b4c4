"""`model-manifest.json`: what a model archive holds, written by the packer, believed by nobody unchecked.

The manifest depends on pins alone, never on the machine or the day. Its SHA-256 is therefore known before
anything is downloaded, and serves as the model's key in S3.
"""

import hashlib
import json
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from semif_adapter.archive.prompt_version import DIRECT_OPTIONS
from semif_adapter.contract.described import DescribedModel
from semif_adapter.contract.wire import Readout, TemplateName

MANIFEST_FILE = "model-manifest.json"

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
MemberName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


class PromptSpec(DescribedModel):
    """How a model is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    readout: Readout
    """What is scored behind the prompt: the letters of the listed options, the options' own words, or what
    the model's decision head says of them."""
    template: TemplateName = "chat"
    """The GGUF's own chat template, ours for models that have none, or SemIf's prompt in the GGUF's own; a
    decision head brings another."""
    head: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,40}$")] | None = None
    """The GGUF's `decision.type`, where the readout is `head`."""

    @model_validator(mode="after")
    def _names_its_head(self) -> "PromptSpec":
        if (self.readout == "head") != (self.head is not None):
            raise ValueError(
                f"readout = 'head' and head go together, got readout = {self.readout!r}, head = {self.head!r}"
            )
        if self.template == DIRECT_OPTIONS and self.readout != "letters":
            raise ValueError(
                f"template = {DIRECT_OPTIONS!r} lists options behind letters: readout = 'letters'"
            )
        return self

    def problem_with(self, kind: str | None) -> str | None:
        """What is wrong with asking a GGUF of this `decision.type` so; None for nothing."""
        if kind == self.head:
            return None
        said = "no decision head" if self.head is None else f"the decision head {self.head!r}"
        told = "none" if kind is None else repr(kind)
        wanted = "remove head" if kind is None else f"write readout = 'head' and head = {kind!r}"
        return f"its preset's [prompt] names {said}, its metadata (decision.type) {told}; {wanted}"


class Member(DescribedModel):
    """One file of the archive, at its root."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: MemberName
    """Its name in the archive."""
    role: Literal["gguf", "calibration"]
    """What it is: the model, of which there is one, or its temperatures."""
    bytes: Annotated[int, Field(gt=0)]
    """Its size."""
    sha256: Sha256
    """SHA-256 of its bytes; another file stops the start."""


class ModelManifest(DescribedModel):
    """Everything that makes the model what it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    """The form of this file."""
    preset: str
    """The preset that it was packed from."""
    source: str
    """Where the GGUF came from, as a URI without machine-local parts (`hf://owner/repo`, `pypi://name`)."""
    revision: str | None
    """Commit, version or object version at the source."""
    quantization: str
    """The GGUF's file type, such as Q4_K_M."""
    prompt: PromptSpec
    members: Annotated[tuple[Member, ...], Field(min_length=1)]
    """Every file of the archive but this one."""

    @model_validator(mode="after")
    def _one_model(self) -> "ModelManifest":
        names = [member.file for member in self.members]
        if len(set(names)) != len(names):
            raise ValueError(f"members must have distinct names, got {names}")
        if sum(member.role == "gguf" for member in self.members) != 1:
            raise ValueError("exactly one member must have the role gguf")
        if sum(member.role == "calibration" for member in self.members) > 1:
            raise ValueError("at most one member may have the role calibration")
        return self

    @property
    def gguf(self) -> Member:
        """The model file itself."""
        return next(member for member in self.members if member.role == "gguf")

    @property
    def calibration(self) -> Member | None:
        """The file of temperatures, where the model has one."""
        return next((member for member in self.members if member.role == "calibration"), None)

    def canonical_bytes(self) -> bytes:
        """The manifest's one byte form: sorted keys, two-space indent, a final newline."""
        content = self.model_dump(by_alias=True)
        if self.prompt.head is None:
            del content["prompt"]["head"]  # the keys of models without one stay what they are
        text = json.dumps(content, sort_keys=True, indent=2, ensure_ascii=True)
        return (text + "\n").encode()

    @property
    def sha256(self) -> str:
        """SHA-256 of `canonical_bytes()`: the model's identity and S3 key."""
        return hashlib.sha256(self.canonical_bytes()).hexdigest()
