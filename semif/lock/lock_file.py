"""`environments/<name>.lock.json`: the pins that the builds of an environment produced.

The lock is the only thing a deployment knows about its image and its model. It is canonical JSON, made to be
committed and reviewed: the same pins give the same bytes. Synth reads it and never looks anything up.
"""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from semif.environment.environment import environment_names, environments_folder
from semif.environment.kinds import KINDS
from semif.environment.tables.names import KindName
from semif.environment.tables.values import AccountId, EnvironmentName, Region
from semif.errors import ProblemsError, SemifError, problems_of, shown
from semif.images.image_ref import ImageRef
from semif.images.regional_images import registry_of
from semif.lock.locked_model import ARCHIVED, HUB, UNPACKED, LockedModel, LockPart
from semif.project.whole_files import read_whole, write_whole
from semif_adapter.archive.manifest import Sha256

LOCAL_ACCOUNT = "000000000000"
"""The account of the AWS on this machine: no real account has this number."""

MAX_LOCK_BYTES = 65_536

TEMPLATE_METADATA = "Semif::Lock"
"""Under this key of its template's `Metadata` the Endpoint stack carries the lock that it was made from."""


class BuiltImage(LockPart):
    """An image that a build pushed and whose digest it read back."""

    uri: ImageRef
    source_sha256: Sha256
    """Of the zip that the build was given."""
    base: ImageRef
    """The Deep Learning Container that the image extends."""

    @property
    def tag(self) -> str:
        """What buildspec.yml tags it with: source and base, so that another of either is another tag."""
        return f"{self.source_sha256}-{self.base.digest.removeprefix('sha256:')[:32]}"


class UnbuiltImage(LockPart):
    """Stands for an image on the AWS of this machine, which builds none; nothing else may hold it."""

    built: Literal[False]
    source_sha256: Sha256


class PublishedImage(LockPart):
    """A Deep Learning Container that runs as it is published: what `text` has instead of a built image."""

    uri: ImageRef
    """In AWS's private registry of the lock's region."""
    base: ImageRef
    """The same image in the public registry, where its digest was found."""


_BUILT, _UNBUILT, _PUBLISHED = "a built image", "an unbuilt image", "a published image"
FORMS = (_BUILT, _UNBUILT, _PUBLISHED, ARCHIVED, UNPACKED, HUB)
"""Names that pydantic puts into the places of problems and no file has."""


def _image_kind(value: Any) -> str:
    """Which of the three `value` is or, by its keys, is meant to be."""
    keys = value if isinstance(value, dict) else getattr(type(value), "model_fields", {})
    if "built" in keys:
        return _UNBUILT
    return _BUILT if "source_sha256" in keys else _PUBLISHED


LockedImage = Annotated[
    Annotated[BuiltImage, Tag(_BUILT)]
    | Annotated[UnbuiltImage, Tag(_UNBUILT)]
    | Annotated[PublishedImage, Tag(_PUBLISHED)],
    Discriminator(_image_kind),
]


class Origin(LockPart):
    """Where image and model were built, in a lock that `semif promote` wrote."""

    environment: EnvironmentName
    account: AccountId
    region: Region


class Lock(LockPart):
    """Everything that a deployment pins."""

    model_config = ConfigDict(populate_by_name=True)

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    environment: EnvironmentName
    kind: KindName
    account: AccountId
    region: Region
    image: LockedImage
    fallback_image: LockedImage | None = None
    """Of the CPU types that end a pool of GPU types; None, and not in the file, where there are none."""
    model: LockedModel
    built_in: Origin | None = None
    """None, and not in the file, where they were built in the lock's own environment. A Semif that does not
    know promotion refuses the key: its `semif deploy` would build anew."""
    example: bool = False
    """True for the locks of synth checks: `semif deploy` refuses them."""

    @model_validator(mode="after")
    def _image_is_of_the_kind(self) -> "Lock":
        for key, image in self.images.items():
            self._check_kind(key, image)
        return self

    def _check_kind(self, key: str, image: LockedImage) -> None:
        published = isinstance(image, PublishedImage)
        if KINDS[self.kind].runs_adapter and published:
            raise ValueError(
                f"{key}: kind '{self.kind}' runs an image that was built, source_sha256 is missing; "
                f"run `semif build {self.environment}`"
            )
        if not KINDS[self.kind].runs_adapter and not published:
            raise ValueError(
                f"{key}: kind '{self.kind}' runs the published image, of which a lock holds uri and base "
                f"only; run `semif build {self.environment}`"
            )

    @model_validator(mode="after")
    def _image_is_there(self) -> "Lock":
        unbuilt = any(isinstance(image, UnbuiltImage) for image in self.images.values())
        if unbuilt and self.account != LOCAL_ACCOUNT:
            raise ValueError(
                f"the image is not built, only the AWS on this machine allows that ({LOCAL_ACCOUNT}), "
                f"got account {self.account}; run `semif build {self.environment}`"
            )
        return self

    @property
    def images(self) -> dict[str, LockedImage]:
        """Each image by its key in the file."""
        images: dict[str, LockedImage] = {"image": self.image}
        if self.fallback_image is not None:
            images["fallback_image"] = self.fallback_image
        return images

    @property
    def image_uris(self) -> dict[str, str]:
        """What the SageMaker Models name, by the images' keys in the file.

        An unbuilt image names itself honestly: no registry has it.
        """
        nowhere = f"{registry_of(self.account, self.region)}/unbuilt@sha256:"
        return {
            key: f"{nowhere}{image.source_sha256}" if isinstance(image, UnbuiltImage) else str(image.uri)
            for key, image in self.images.items()
        }

    @property
    def image_uri(self) -> str:
        """Of the Model for the preferred types."""
        return self.image_uris["image"]

    @property
    def fallback_image_uri(self) -> str | None:
        """Of the Model for the CPU types that end a pool."""
        return self.image_uris.get("fallback_image")

    @property
    def origin(self) -> Origin:
        """Where image and model were built."""
        return self.built_in or Origin(environment=self.environment, account=self.account, region=self.region)

    def pins_same_as(self, other: "Lock") -> bool:
        """Whether both deploy the same images and the same model, however they were built."""
        return (self.image_uris, self.model.address) == (other.image_uris, other.model.address)

    def canonical_bytes(self) -> bytes:
        """The lock's one byte form: sorted keys, two-space indent, a final newline."""
        return (json.dumps(self.content(), sort_keys=True, indent=2) + "\n").encode()

    def content(self) -> dict[str, Any]:
        """The lock as its file has it."""
        content = self.model_dump(by_alias=True, mode="json")
        if not self.example:
            del content["example"]
        for key in ("built_in", "fallback_image"):
            if content[key] is None:
                del content[key]
        return content


def lock_path(environment_name: str) -> Path:
    """Where an environment's own lock lies."""
    return environments_folder() / f"{environment_name}.lock.json"


def read_lock(path: Path) -> Lock:
    """The lock of one file. Raises SemifError if it cannot be read, ProblemsError with all its problems."""
    name = path.name.partition(".")[0]
    if not path.exists():
        known = name in environment_names()
        change = f"run `semif build {name}`, which writes it" if known else "correct its path"
        raise SemifError(f"there is no lock {path}; {change}")
    content = read_whole(path, MAX_LOCK_BYTES)
    anew = f"run `semif build {name}` to write it anew"
    if re.search(rb"^(<{7}|>{7}) ", content, re.MULTILINE):
        raise SemifError(
            f"{path} holds the marks of a merge conflict; take one of the two sides whole, or {anew}"
        )
    try:
        lock = Lock.model_validate(json.loads(content, object_pairs_hook=_distinct_keys))
    except ValidationError as error:
        raise ProblemsError(path, problems_of(error, hidden=FORMS)) from None
    except RecursionError:
        raise SemifError(f"{path} is not a lock: it is nested too deeply; {anew}") from None
    except ValueError as error:
        raise SemifError(f"{path} is not a lock: {error}; {anew}") from None
    if content != lock.canonical_bytes():
        raise SemifError(
            f"{path} holds a lock, but not in its canonical form (it was edited or reformatted); {anew}"
        )
    return lock


def write_lock(path: Path, lock: Lock) -> None:
    """Write `lock` to `path`, whole or not at all."""
    write_whole(path, lock.canonical_bytes())


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"the key {shown(key)} stands twice")
        content[key] = value
    return content
