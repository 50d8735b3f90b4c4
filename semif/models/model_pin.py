"""Pins: what makes an input immutable. An image is pinned by digest, a model by SHA-256."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, field_validator, model_validator
from pydantic_core import CoreSchema, core_schema

from semif.errors import SemifError, shown
from semif.models.gguf_file import files_of_split
from semif_adapter.archive.manifest import MemberName, Sha256

MAX_IMAGE_REF = 1024
ALLOWED_IMAGE = "allowed is repository@sha256:<64 lower-case hexadecimal digits>"

# The grammar of the OCI distribution specification: registry host and port, then path components.
_HOST = re.compile(r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:))(?::[0-9]{1,5})?")
_PATH = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class PinError(SemifError, ValueError):
    """A reference that does not pin what it names."""


@dataclass(frozen=True, order=True)
class ImageRef:
    """A container image that cannot change: a repository and a SHA-256 digest, never a tag.

    Build one with `ImageRef.parse(text)`; `str(ref)` gives the text back. As a pydantic field it takes and
    gives that text.
    """

    repository: str
    digest: str
    """`sha256:` and 64 lower-case hexadecimal digits."""

    def __post_init__(self) -> None:
        _check_image(f"{self.repository}@{self.digest}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The image that `text` names. Raises PinError, saying what is wrong and what is allowed."""
        _check_image(text)
        repository, _, digest = text.partition("@")
        return cls(repository, digest)

    @property
    def registry(self) -> str:
        """Host (and port) of the registry; `docker.io` where the repository names none, as in Docker."""
        host, slash, _ = self.repository.partition("/")
        return host if slash and _HOST.fullmatch(host) else "docker.io"

    def __str__(self) -> str:
        return f"{self.repository}@{self.digest}"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls.parse(value),
            serialization=core_schema.to_string_ser_schema(),
        )


def _check_image(text: Any) -> None:
    """Raise PinError for the first thing that keeps `text` from being a pinned image."""

    def refuse(problem: str) -> PinError:
        return PinError(f"the image reference {shown(text)} {problem}; {ALLOWED_IMAGE}")

    if not isinstance(text, str):
        raise refuse("is not text in quotes")
    if len(text) > MAX_IMAGE_REF:
        raise refuse(f"has {len(text):,} characters, more than {MAX_IMAGE_REF:,}")
    if any(character.isspace() for character in text):
        raise refuse("holds white space")
    repository, at, digest = text.partition("@")
    if not at:
        tagged = ":" in repository.rpartition("/")[2]
        raise refuse("names a tag, which can move, and no digest" if tagged else "has no digest")
    if ":" in repository.rpartition("/")[2]:
        raise refuse("has a tag beside its digest; remove the tag")
    _check_digest(digest, refuse)
    host, slash, path = repository.partition("/")
    if not (slash and _HOST.fullmatch(host)):
        path = repository
    if not _PATH.fullmatch(path):
        raise refuse("has a repository name that no registry accepts")


def _check_digest(digest: str, refuse: Callable[[str], PinError]) -> None:
    algorithm, colon, hexadecimal = digest.partition(":")
    if not colon or algorithm != "sha256":
        raise refuse(f"has the digest algorithm {shown(algorithm)}, not sha256")
    if _DIGEST.fullmatch(hexadecimal):
        return
    if _DIGEST.fullmatch(hexadecimal.lower()):
        raise refuse("has upper-case digits in its digest")
    if len(hexadecimal) != 64:
        raise refuse(f"has a digest of {len(hexadecimal)} digits, not 64")
    raise refuse("has a digest with characters that are not hexadecimal digits")


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


class ModelPin(BaseModel):
    """One GGUF that cannot change: where it is, and the size and hash that decide whether it is the one."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    source: Annotated[str, Field(max_length=1024)]
    """`hf://owner/repository`, `pypi://package`, `s3://bucket/key` or `file:path` (from the project)."""
    revision: Annotated[str, Field(max_length=200)] | None = None
    """Commit (hf), version (pypi) or object version (s3)."""
    file: MemberName
    """Name of the file at its source (hf, pypi) and in the model archive."""
    bytes: Annotated[int, Field(gt=0, le=1 << 40)]
    """Its size."""
    sha256: Sha256
    """SHA-256 of its bytes."""
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
        if not file.endswith(".gguf"):
            raise PinError(f"{shown(file)} must end in .gguf")
        if (count := files_of_split(file)) != 1:
            raise PinError(
                f"{shown(file)} is one of {count} files of a split model, which are not packed; "
                "merge them with llama-gguf-split and pin the result"
            )
        return file

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        _, pattern, allowed = _SOURCES[self.scheme]
        given = self.revision
        missing = given is None and self.scheme in REVISION_REQUIRED
        wrong = given is not None and (pattern is None or not pattern.fullmatch(given))
        if missing or wrong:
            moves = "; a branch or tag can move" if self.scheme == "hf" else ""
            raise PinError(
                f"the revision of a {self.scheme} source must be {allowed}, got {shown(given)}{moves}"
            )
        if self.parts and self.scheme != "pypi":
            raise PinError(f"parts are packages of a pypi source, got a {self.scheme} source; remove them")
        return self

    @property
    def scheme(self) -> str:
        """`hf`, `pypi`, `s3` or `file`."""
        return _scheme(self.source)


def _scheme(source: str) -> str:
    return source.partition(":")[0]
