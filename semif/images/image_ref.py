"""References to container images that cannot change."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from semif.errors import PinError, shown

MAX_IMAGE_REF = 1024
ALLOWED_IMAGE = "allowed is repository@sha256:<64 lower-case hexadecimal digits>"

# The grammar of the OCI distribution specification: registry host and port, then path components.
_HOST = re.compile(r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:))(?::[0-9]{1,5})?")
_PATH = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_DIGEST = re.compile(r"[0-9a-f]{64}")


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
