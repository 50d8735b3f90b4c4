"""Pins: what makes an input immutable. An image is pinned by digest, a model by SHA-256."""

import re
from datetime import date
from typing import Annotated

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from semif.errors import PinError, shown
from semif.models.gguf_file import ENDING, files_of_split, named_gguf, stem_of
from semif_adapter.archive.manifest import MemberName, Sha256
from semif_adapter.contract.described import DescribedModel

_SOURCES = {
    "hf": (
        re.compile(r"hf://[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*"),
        re.compile(r"[0-9a-f]{40}"),
        "the 40 hexadecimal digits of a commit",
    ),
    "pypi": (
        re.compile(r"pypi://[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
        re.compile(r"[0-9][0-9A-Za-z.!+-]*"),
        "an exact version",
    ),
    "s3": (
        re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[!-~]+"),
        re.compile(r"[A-Za-z0-9._-]+"),
        "an object version, or left out",
    ),
    "file": (re.compile(r"file:[^\x00-\x1f]+"), None, "left out: a local file has none"),
}
ALLOWED_SOURCES = "hf://owner/repository, pypi://package, s3://bucket/key, file:path"
REVISION_REQUIRED = ("hf", "pypi")


class ModelPin(DescribedModel):
    """One GGUF that cannot change: where it is, and the size and hash that decide whether it is the one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Annotated[str, Field(max_length=1024)]
    """`hf://owner/repository`, `pypi://package`, `s3://bucket/key` or `file:path` (from the project)."""
    revision: Annotated[Annotated[str, Field(max_length=200)] | None, Field(validate_default=True)] = None
    """Commit (hf), version (pypi) or object version (s3)."""
    file: MemberName
    """Name of the file at its source (hf, pypi); in the model archive it ends in `.gguf`."""
    bytes: Annotated[int, Field(gt=0, le=1 << 40)]
    """Its size."""
    sha256: Sha256
    """SHA-256 of its bytes."""
    checked_on: date | None = None
    """The day on which the hub told these bytes and this SHA-256 of the commit (hf only); `semif model pin`
    writes it. None: nobody asked."""
    parts: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)], ...] = ()
    """Packages (pypi only, all of version `revision`) that hold the file in pieces, in order."""

    @field_validator("source")
    @classmethod
    def _known_source(cls, source: str) -> str:
        pattern = _SOURCES.get(_scheme(source))
        if pattern is None or not pattern[0].fullmatch(source):
            raise PinError(f"{shown(source)} is not a source, allowed are {ALLOWED_SOURCES}")
        return source

    @field_validator("file")
    @classmethod
    def _is_gguf(cls, file: str) -> str:
        if not named_gguf(file):
            raise PinError(f"{shown(file)} must end in .gguf")
        if (count := files_of_split(file)) != 1:
            raise PinError(
                f"{shown(file)} is one of {count} files of a split model, which are not packed; "
                "merge them with llama-gguf-split and pin the result"
            )
        return file

    # Key by key, so that all that does not go with the source is told at once.
    @field_validator("revision")
    @classmethod
    def _pinned(cls, revision: str | None, info: ValidationInfo) -> str | None:
        if (scheme := _scheme_in(info)) is None:
            return revision
        _, pattern, allowed = _SOURCES[scheme]
        missing = revision is None and scheme in REVISION_REQUIRED
        wrong = revision is not None and (pattern is None or not pattern.fullmatch(revision))
        if missing or wrong:
            moves = "; a branch or tag can move" if scheme == "hf" else ""
            raise PinError(
                f"the revision of a {scheme} source must be {allowed}, got {shown(revision)}{moves}"
            )
        return revision

    @field_validator("checked_on")
    @classmethod
    def _checked_at_the_hub(cls, checked_on: date | None, info: ValidationInfo) -> date | None:
        scheme = _scheme_in(info)
        if checked_on is not None and scheme not in {None, "hf"}:
            raise PinError(f"checked_on is of an hf source, got a {scheme} source; remove it")
        return checked_on

    @field_validator("parts")
    @classmethod
    def _parts_of_a_package(cls, parts: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        scheme = _scheme_in(info)
        if parts and scheme not in {None, "pypi"}:
            raise PinError(f"parts are packages of a pypi source, got a {scheme} source; remove them")
        return parts

    def is_as(self, other: "ModelPin") -> bool:
        """Whether both name the same bytes at the same place, whenever somebody asked about them."""
        return self.model_copy(update={"checked_on": other.checked_on}) == other

    @property
    def member(self) -> str:
        """The file's name in the model archive: the published container looks for `*.gguf`, in lower case."""
        return f"{stem_of(self.file)}{ENDING}"

    @property
    def scheme(self) -> str:
        """`hf`, `pypi`, `s3` or `file`."""
        return _scheme(self.source)


def _scheme_in(info: ValidationInfo) -> str | None:
    """Of a source that is right; None where it is not, of which another line tells."""
    return _scheme(info.data["source"]) if "source" in info.data else None


def _scheme(source: str) -> str:
    return source.partition(":")[0]
