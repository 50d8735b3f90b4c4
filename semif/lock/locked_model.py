"""The model's part of a lock: an archive or files in S3, or a file of a Hugging Face repository."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, StringConstraints, Tag

from semif.environment.tables.endpoint import hub_file_url
from semif.environment.tables.values import HubFilePath, HubRepository, HubRevision
from semif_adapter.archive.manifest import Sha256

_BUCKET = "s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
_OBJECT = f"^{_BUCKET}/[!-~]{{0,1023}}[!-.0-~]$"
_PREFIX = f"^{_BUCKET}/[!-~]{{1,1023}}/$"


class LockPart(BaseModel):
    """Base of the lock's objects: immutable, nothing coerced, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _ModelInS3(LockPart):
    preset: Annotated[str, StringConstraints(min_length=1)]
    manifest_sha256: Sha256
    """The model's identity: its manifest names every member with its hash. Part of the S3 key."""
    s3_uri: str

    @property
    def bucket(self) -> str:
        """The bucket of `s3_uri`."""
        return self.s3_uri.removeprefix("s3://").partition("/")[0]

    @property
    def key(self) -> str:
        """The object key of `s3_uri`, or the prefix."""
        return self.s3_uri.removeprefix("s3://").partition("/")[2]

    @property
    def address(self) -> str:
        """Where the endpoint has it from."""
        return self.s3_uri

    @property
    def name(self) -> str:
        """The model for people."""
        return self.preset


class ArchivedModel(_ModelInS3):
    """A model archive in S3."""

    s3_uri: Annotated[str, StringConstraints(pattern=_OBJECT)]
    archive_sha256: Sha256
    format: Literal["tar.gz"]


class UnpackedModel(_ModelInS3):
    """A model's files in S3, uncompressed, under a prefix that holds nothing else."""

    s3_uri: Annotated[str, StringConstraints(pattern=_PREFIX)]
    """Ends in a slash."""
    format: Literal["prefix"]


class HubModel(LockPart):
    """A file of a Hugging Face repository at a commit, which the container itself downloads."""

    hf_repo: HubRepository
    hf_file: HubFilePath
    revision: HubRevision

    @property
    def address(self) -> str:
        """Where the endpoint has it from."""
        return hub_file_url(self.hf_repo, self.hf_file, self.revision)

    @property
    def name(self) -> str:
        """The model for people."""
        return f"{self.hf_repo} {self.hf_file}"


ARCHIVED, UNPACKED, HUB = "a model archive", "a model's files", "a model of the hub"


def _form(value: Any) -> str:
    """Which of the three `value` is or, by its keys, is meant to be."""
    keys = value if isinstance(value, dict) else dict(value) if isinstance(value, BaseModel) else {}
    if "hf_repo" in keys and "preset" not in keys:
        return HUB
    return UNPACKED if keys.get("format") == "prefix" else ARCHIVED


LockedModel = Annotated[
    Annotated[ArchivedModel, Tag(ARCHIVED)]
    | Annotated[UnpackedModel, Tag(UNPACKED)]
    | Annotated[HubModel, Tag(HUB)],
    Discriminator(_form),
]
"""Told apart by the keys."""
