"""Moving the pins of adapter_image/dlc.toml: what a published container's tag means today."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from semif.aws.clients import Aws, aws_errors
from semif.errors import SemifError, shown
from semif.images.base_images import CUDA_MAJORS, BaseImage, BaseImages, Container, Tag
from semif.images.image_ref import ImageRef
from semif.images.regional_images import regional_repository
from semif.images.registry import FoundImage, Registry
from semif.project.toml_edit import with_keys
from semif.project.toml_file import read_toml
from semif.project.whole_files import write_whole
from semif_adapter.archive.decision_head import FIRST_RELEASE, knows_heads

PLATFORMS: dict[Container, str] = {
    "cpu": "linux/amd64",
    "cuda": "linux/amd64",
    "decider": "linux/amd64",
    "graviton": "linux/arm64",
}

_BUILD = re.compile(r"\bb[0-9]{4,6}\b")
_RELEASE = re.compile(r"\bv[0-9]+\.[0-9]+\.[0-9]+\b")
VERSION_TAG = re.compile(r"(?P<stem>.+-v)(?P<version>[0-9]+(?:\.[0-9]+){0,2})")
"""AWS's tags: `server-sagemaker-cpu-v1` floats over `-v1.0`, that over the full versions `-v1.0.0`, `-v1.0.1`
(sagemaker-core 2.27.0 lists all of them; a test compares)."""
_MOST_VERSIONS = 20
"""So many are looked at for decision heads, each by three requests."""
_CUDA = re.compile(r"(1[1-9]|[2-9][0-9])\.[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True)
class ImagePin:
    """An entry of dlc.toml, and what its tag means in a registry now."""

    container: Container
    pinned: BaseImage
    tag: str
    repository: str
    """Where it was found."""
    current: FoundImage
    versions: tuple[str, ...] = ()
    """Tags of the full versions that the registry lists, the newest first; none where it lists none."""

    @property
    def moved(self) -> bool:
        """Whether the tag means another image than the pinned one."""
        return self.current.digest != self.pinned.digest

    @property
    def llama_cpp_build(self) -> str | None:
        """The build (`b10964`) or the release (`v0.4.1`) that a label of the image names, else None."""
        if self.container == "decider":  # has none, whatever its labels look like
            return None
        labels = self.current.labels
        named = [_BUILD.search(labels[key]) for key in sorted(labels) if re.search("version|llama", key)]
        # A version alone may be the container's own, so that the label must speak of llama.cpp.
        named += [_RELEASE.search(labels[key]) for key in sorted(labels) if "llama" in key]
        return next((match[0] for match in named if match), None)

    @property
    def cuda_major(self) -> int | None:
        """CUDA's major version by the image's `CUDA_VERSION`, which NVIDIA's base images set; else None."""
        match = _CUDA.fullmatch(self.current.variables.get("CUDA_VERSION", ""))
        return int(match[1]) if match else None


def find_pin(
    path: Path,
    container: Container,
    *,
    tag: str | None = None,
    heads: bool = False,
    registry_url: str | None = None,
) -> ImagePin:
    """What the tag of `container` means in its public registry, or in a mirror of it.

    With `heads` the newest version of any major one whose llama.cpp is known to have decision heads. Raises
    ProblemsError for a dlc.toml with problems, SemifError as `Registry.find_image` and where none has heads.
    """
    pinned = _pinned(path, container, tag)
    host, _, name = pinned.repository.partition("/")
    repository = pinned.repository if registry_url is None else f"{registry_url.rstrip('/')}/{name}"
    with Registry(registry_url or f"https://{host}") as registry:
        return _find(registry, name, container, pinned, tag, heads=heads, repository=repository)


def find_regional_pin(
    path: Path,
    container: Container,
    aws: Aws,
    *,
    tag: str | None = None,
    heads: bool = False,
    registry_url: str | None = None,
) -> ImagePin:
    """The same in AWS's private registry of the region of `aws`, with the caller's ECR authorisation.

    `registry_url` is for a registry that does not answer at its own name. Raises SemifError also where the
    credentials do not work or the container is not published in the region.
    """
    pinned = _pinned(path, container, tag)
    repository = regional_repository(pinned.repository, aws.region)
    host, _, name = repository.partition("/")
    with aws_errors():
        (granted,) = aws.ecr.get_authorization_token()["authorizationData"]
    with Registry(registry_url or f"https://{host}", basic=granted["authorizationToken"]) as registry:
        return _find(registry, name, container, pinned, tag, heads=heads, repository=repository)


def _find(
    registry: Registry,
    name: str,
    container: Container,
    pinned: BaseImage,
    wanted: str | None,
    *,
    heads: bool,
    repository: str,
) -> ImagePin:
    """The image of `wanted`, else of the newest full version of the pinned tag's major one: it is what AWS
    publishes, and does not move. A registry that lists no tags, as mirrors may, is asked for the pinned one.
    """
    tag = wanted or pinned.tag
    versions = _versions(registry, name, tag, any_major=heads)
    tags = [wanted] if wanted else list(versions[:_MOST_VERSIONS]) or [tag]
    newest: ImagePin | None = None
    for candidate in tags:
        image = registry.find_image(name, candidate, PLATFORMS[container])
        pin = ImagePin(container, pinned, candidate, repository, image, versions)
        if not heads or knows_heads(pin.llama_cpp_build):
            return pin
        newest = newest or pin
    assert newest is not None
    has = f"has {newest.llama_cpp_build}" if newest.llama_cpp_build else "names no build"
    raise SemifError(
        f"none is published in {repository} that is known to have decision heads, which need llama.cpp "
        f"{FIRST_RELEASE} or newer: of {len(tags)} looked at, the newest ({newest.tag}) {has}; ask models "
        "with such a head on this machine (semif serve) until one is there"
    )


def _versions(registry: Registry, name: str, tag: str, *, any_major: bool) -> tuple[str, ...]:
    """The full versions that the registry has beside `tag`, the newest first; of its major one, or of any."""
    match = VERSION_TAG.fullmatch(tag)
    if match is None:
        return ()
    try:
        listed = registry.tags(name)
    except SemifError:
        return ()
    major = "[0-9]+" if any_major else match["version"].partition(".")[0]
    full = re.compile(rf"{re.escape(match['stem'])}{major}\.[0-9]+\.[0-9]+")
    return tuple(sorted(filter(full.fullmatch, listed), key=_version, reverse=True))


def _version(tag: str) -> tuple[int, ...]:
    return tuple(map(int, tag.rpartition("-v")[2].split(".")))


def write_pin(path: Path, pin: ImagePin, today: date) -> None:
    """Write what was found into dlc.toml; the comments and the other entries stay.

    A build that the image does not name is taken out: the old one would be of another image.
    """
    ImageRef(pin.pinned.repository, pin.current.digest)  # refuses a repository that no pin can name
    values: dict[str, str | int | date | None] = {
        "tag": pin.tag,
        "digest": pin.current.digest,
        "resolved_on": today,
        "llama_cpp_build": pin.llama_cpp_build or (None if pin.moved else pin.pinned.llama_cpp_build),
    }
    if pin.container in CUDA_MAJORS and pin.cuda_major is not None:
        values["cuda_major"] = pin.cuda_major
    write_whole(path, with_keys(path.read_text(encoding="utf-8"), pin.container, values).encode())


def _pinned(path: Path, container: Container, tag: str | None) -> BaseImage:
    """The entry as it is now; refuses a `tag` that it could not hold."""
    image: BaseImage = getattr(read_toml(path, BaseImages), container)
    if "/" not in image.repository:
        raise SemifError(
            f"{path}: {container}.repository = {image.repository!r} names no registry; add its host"
        )
    try:
        TypeAdapter(Tag | None).validate_python(tag)
    except ValidationError:
        raise SemifError(
            f"{shown(tag)} is no tag; allowed are up to 128 letters, digits, _, . and -, with no . or - first"
        ) from None
    return image


def pin_as_json(name: str, pin: ImagePin) -> Mapping[str, object]:
    """The pin as scripts read it."""
    return {
        "base": name,
        "repository": pin.repository,
        "tag": pin.tag,
        "versions": list(pin.versions),
        "platform": pin.current.platform,
        "digest": pin.current.digest,
        "media_type": pin.current.media_type,
        "created": pin.current.created,
        "llama_cpp_build": pin.llama_cpp_build,
        "knows_heads": knows_heads(pin.llama_cpp_build),
        "cuda_major": pin.cuda_major,
        "pinned_digest": pin.pinned.digest,
        "moved": pin.moved,
    }
