"""Container registries, read: what a tag means on one platform, by the OCI distribution specification.

Every body is hashed and compared with the digest that named it. A tag can name an index of several platforms
(https://github.com/opencontainers/image-spec, image-index.md); the digest of an image is that of one entry's
manifest, never the index's own.
"""

import hashlib
import re
from dataclasses import dataclass
from types import TracebackType
from typing import Annotated, Self, TypeVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from semif.errors import SemifError, shown
from semif.web.lookups import LookupReply, get, open_pool, server_url

INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
IMAGE_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
CONFIG_TYPES = (
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
)
ATTESTATION = "vnd.docker.reference.type"
"""Annotation of the entries with which BuildKit keeps provenance beside the images."""

MAX_MANIFEST_BYTES = 4 << 20
"""What the distribution specification asks registries to accept."""
MAX_TOKEN_BYTES = 64 << 10
_TAGS_A_PAGE, _MAX_PAGES = 1000, 20
_CHALLENGE = re.compile(r'([a-z]+)="([^"]*)"')
_TOKEN = re.compile(r"[!-~]+")

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
ManifestBytes = Annotated[int, Field(ge=0, le=MAX_MANIFEST_BYTES)]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,40}$")]
RegistryDocument = TypeVar("RegistryDocument", bound=BaseModel)


class _Platform(BaseModel):
    os: Word
    architecture: Word

    def __str__(self) -> str:
        return f"{self.os}/{self.architecture}"


class _Descriptor(BaseModel):
    mediaType: str  # noqa: N815 - the specification's name
    digest: Digest
    size: ManifestBytes
    platform: _Platform | None = None
    annotations: dict[str, str] | None = None


class _Index(BaseModel):
    manifests: list[_Descriptor]


class _Manifest(BaseModel):
    config: _Descriptor


class _Settings(BaseModel):
    Labels: dict[str, str] | None = None
    Env: list[str] | None = None


class _Config(_Platform):
    created: str | None = None
    config: _Settings | None = None


class _Tags(BaseModel):
    tags: list[Annotated[str, StringConstraints(max_length=128)]] | None = None


class _Token(BaseModel):
    token: str | None = None
    access_token: str | None = None


@dataclass(frozen=True)
class FoundImage:
    """The image of one platform that a tag means now."""

    digest: str
    """Of the image's manifest: `sha256:` and 64 hexadecimal digits."""
    media_type: str
    platform: str
    """`os/architecture`."""
    created: str | None
    labels: dict[str, str]
    variables: dict[str, str]
    """The container's environment."""


class Registry:
    """One registry, anonymous with the tokens that it hands out, or with HTTP basic credentials.

    `basic` is `user:password` in base64, as ECR's GetAuthorizationToken gives it. Use it in a `with`.
    """

    def __init__(self, url: str, *, basic: str | None = None) -> None:
        self._url = server_url(url, "the registry")
        self._authorization = f"Basic {basic}" if basic else None
        self._anonymous = basic is None
        self._pool = open_pool(self._url)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.clear()

    def find_image(self, repository: str, tag: str, platform: str) -> FoundImage:
        """The image that `tag` means on `platform` (`linux/amd64`), with what its configuration says.

        Raises SemifError for an unknown repository or tag, a tag without that platform, anything that is no
        image, bytes that do not match their digest, and a registry that cannot be read.
        """
        name = f"{self._url.partition('://')[2]}/{repository}:{tag}"
        kind, body = self._manifest(name, repository, tag)
        if kind in INDEX_TYPES:
            entry = _entry(name, _read(name, _Index, body), platform)
            kind, body = self._manifest(name, repository, entry.digest)
            if kind not in IMAGE_TYPES:
                raise _wrong_type(name, kind, IMAGE_TYPES)
        descriptor = _read(name, _Manifest, body).config
        if descriptor.mediaType not in CONFIG_TYPES:
            raise _wrong_type(name, descriptor.mediaType, CONFIG_TYPES)
        config = _read(name, _Config, self._blob(name, repository, descriptor))
        if str(config) != platform:
            raise SemifError(f"{name} is an image for {config}, wanted is {platform}; name another tag")
        settings = config.config or _Settings()
        variables = dict(entry.split("=", 1) for entry in settings.Env or () if "=" in entry)
        return FoundImage(_digest(body), kind, platform, config.created, settings.Labels or {}, variables)

    def tags(self, repository: str) -> list[str]:
        """Every tag of `repository`. Raises SemifError where they cannot be listed."""
        name = f"{self._url.partition('://')[2]}/{repository}"
        path: str | None = f"{repository}/tags/list?n={_TAGS_A_PAGE}"
        tags: list[str] = []
        for _ in range(_MAX_PAGES):
            if path is None:
                return tags
            reply = self._get(name, path, "application/json")
            tags += _read(name, _Tags, reply.body).tags or []
            path = _next_page(reply.headers.get("Link", ""))
        raise SemifError(f"{name} has more than {len(tags)} tags; name one with --tag")

    def _manifest(self, name: str, repository: str, reference: str) -> tuple[str, bytes]:
        """Media type and bytes of a manifest or index, named by tag or by digest."""
        path = f"{repository}/manifests/{reference}"
        reply = self._get(name, path, ", ".join(INDEX_TYPES + IMAGE_TYPES))
        kind = reply.headers.get("Content-Type", "").partition(";")[0].strip()
        if kind not in INDEX_TYPES + IMAGE_TYPES:
            raise _wrong_type(name, kind, INDEX_TYPES + IMAGE_TYPES)
        by_digest = reference if reference.startswith("sha256:") else None
        for expected in (by_digest, reply.headers.get("Docker-Content-Digest")):
            _check_digest(name, reply.body, expected)
        return kind, reply.body

    def _blob(self, name: str, repository: str, descriptor: _Descriptor) -> bytes:
        # Registries keep blobs elsewhere and redirect there; the digest proves what comes.
        reply = self._get(name, f"{repository}/blobs/{descriptor.digest}", "*/*", redirect=True)
        _check_digest(name, reply.body, descriptor.digest)
        return reply.body

    def _get(self, name: str, path: str, accept: str, *, redirect: bool = False) -> LookupReply:
        url = f"{self._url}/v2/{quote(path, safe='/:?=&%')}"
        reply = self._request(url, accept, redirect)
        if reply.status == 401 and self._anonymous and self._authorization is None:
            self._authorization = self._token(name, reply.headers.get("WWW-Authenticate", ""), path)
            reply = self._request(url, accept, redirect)
        match reply.status:
            case 200:
                return reply
            case 301 | 302 | 303 | 307 | 308:
                problem = "is redirected to another place, which is not asked: nothing would prove its answer"
            case 401 | 403:
                problem = f"is refused with HTTP {reply.status}; these credentials may not read it"
            case 404:
                problem = "does not exist; correct the repository or the tag"
            case 429:
                problem = "cannot be read now: too many requests from this address; try again later"
            case status:
                problem = f"cannot be read: the registry gives HTTP {status}; try again later"
        raise SemifError(f"{name} {problem}")

    def _request(self, url: str, accept: str, redirect: bool) -> LookupReply:
        headers = {"Accept": accept}
        if self._authorization:
            headers["Authorization"] = self._authorization
        return get(self._pool, url, headers, limit=MAX_MANIFEST_BYTES, redirect=redirect)

    def _token(self, name: str, challenge: str, path: str) -> str:
        """The header with an anonymous token, from where the registry's challenge says."""
        scheme, _, rest = challenge.partition(" ")
        said = dict(_CHALLENGE.findall(rest))
        if scheme.lower() != "bearer" or "realm" not in said:
            raise SemifError(
                f"{name} asks for a sign-in that is not known here, {shown(scheme)}; name a mirror"
            )
        server_url(said["realm"], f"the token service of {name}")
        repository = re.split("/manifests/|/blobs/|/tags/", path)[0]
        asked = {"service": said.get("service", ""), "scope": f"repository:{repository}:pull"}
        reply = get(self._pool, f"{said['realm']}?{urlencode(asked)}", {}, limit=MAX_TOKEN_BYTES)
        token = None
        if reply.status == 200:
            answer = _read(f"the token service of {name}", _Token, reply.body)
            token = answer.token or answer.access_token
        if token is None or not _TOKEN.fullmatch(token):
            raise SemifError(
                f"the token service of {name} gives no token, but HTTP {reply.status}; try again later"
            )
        return f"Bearer {token}"


def _next_page(link: str) -> str | None:
    """The path of the next page below /v2/, from the header `Link` (RFC 8288); None: this was the last."""
    match = re.match(r"<[^>]*?/v2/([^>]+)>\s*;\s*rel=\"?next", link)
    return match[1] if match else None


def _entry(name: str, index: _Index, platform: str) -> _Descriptor:
    """The one image of the index for `platform`; attestations and anything else are no images."""
    images = {
        descriptor.digest: descriptor
        for descriptor in index.manifests
        if descriptor.mediaType in IMAGE_TYPES
        and ATTESTATION not in (descriptor.annotations or {})
        and descriptor.platform is not None
    }
    fitting = [image for image in images.values() if str(image.platform) == platform]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise SemifError(f"{name} has {len(fitting)} images for {platform}; name a tag that has one")
    there = ", ".join(sorted({str(image.platform) for image in images.values()})) or "no image at all"
    raise SemifError(f"{name} has no image for {platform}, it has {there}; name another tag")


def _read(name: str, kind: type[RegistryDocument], body: bytes) -> RegistryDocument:
    try:
        return kind.model_validate_json(body)
    except ValidationError:
        what = kind.__name__.lstrip("_").lower()
        raise SemifError(f"{name} gives something that is no {what}; a proxy may stand in between") from None


def _digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _check_digest(name: str, body: bytes, expected: str | None) -> None:
    if expected is not None and expected != (actual := _digest(body)):
        raise SemifError(
            f"{name} gives bytes with the digest {actual}, named was {shown(expected)}; try again"
        )


def _wrong_type(name: str, kind: str, allowed: tuple[str, ...]) -> SemifError:
    return SemifError(f"{name} is of the media type {shown(kind)}, allowed are {', '.join(allowed)}")
