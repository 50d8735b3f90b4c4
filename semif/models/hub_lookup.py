"""Hugging Face's hub: what a file of a model repository is at one commit, asked from the hub's API.

`GET /api/models/REPO/revision/REV?blobs=true` names the commit behind a branch or tag and, for each file kept
in Git LFS, its size and SHA-256; `huggingface_hub.HfApi.model_info(files_metadata=True)` asks the same.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from semif.errors import SemifError, shown
from semif.models.gguf_file import files_of_split, named_gguf, stem_of
from semif.web.lookups import LookupReply, get, open_pool, server_url
from semif_adapter.archive.manifest import Sha256

HUB = "https://huggingface.co"
HUB_VARIABLE = "HF_ENDPOINT"
"""Another address of the hub, a mirror; `huggingface_hub` reads the same variable."""
TOKEN_VARIABLE = "HF_TOKEN"  # noqa: S105 - the name of the variable, not a token

MAX_REPLY_BYTES = 16 << 20
MAX_FILES_SHOWN = 12
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TOKEN = re.compile(r"[!-~]{1,1024}")


@dataclass(frozen=True)
class HubFile:
    """One file at one commit, as the hub publishes it."""

    repository: str
    """`owner/repository`."""
    commit: str
    """40 hexadecimal digits."""
    file: str
    bytes: int
    sha256: str
    license: str | None
    """As the model card names it; None where it names none."""


@dataclass(frozen=True)
class HubListing:
    """What a repository holds at one commit."""

    repository: str
    commit: str
    files: Mapping[str, tuple[int | None, str | None]]
    """Path to size in bytes and SHA-256; the hub knows the latter of files in Git LFS alone."""
    license: str | None


class _Lfs(BaseModel):
    sha256: Sha256
    size: Annotated[int, Field(gt=0)]


class _File(BaseModel):
    rfilename: str
    size: Annotated[int, Field(ge=0)] | None = None
    lfs: _Lfs | None = None


class _Repository(BaseModel):
    sha: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    siblings: list[_File]
    cardData: dict[str, object] | None = None  # noqa: N815 - the hub's name
    tags: list[str] = []


def hub_url() -> str:
    """The hub, or the mirror that `HF_ENDPOINT` names. Raises SemifError for one that is not https."""
    return server_url(os.environ.get(HUB_VARIABLE) or HUB, HUB_VARIABLE)


def authorization() -> dict[str, str]:
    """The header with the user's token, none without one; it is for the host of `hub_url()` alone."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token and not _TOKEN.fullmatch(token):
        raise SemifError(f"{TOKEN_VARIABLE} is set to something that is no token; correct or unset it")
    return {"Authorization": f"Bearer {token}"} if token else {}


def list_files(repository: str, revision: str) -> HubListing:
    """Everything in `repository` at the commit that `revision` means now. Raises as `find_file`."""
    found = _look_up(repository, revision)
    files = {
        file.rfilename: (file.lfs.size, file.lfs.sha256) if file.lfs else (file.size, None)
        for file in found.siblings
    }
    return HubListing(repository, found.sha, files, _license(found))


def small_file(listing: HubListing, name: str, limit: int) -> bytes:
    """The bytes of `name` in `listing`, at most `limit` of them. Raises SemifError."""
    url = f"{hub_url()}/{listing.repository}/resolve/{listing.commit}/{quote(name)}"
    with open_pool(url) as pool:
        reply = get(pool, url, authorization(), limit=limit, redirect=True)
    if reply.status != 200:
        raise SemifError(f"{url} gives HTTP {reply.status}; correct the pin, or try again later")
    return reply.body


def find_file(repository: str, revision: str, name: str) -> HubFile:
    """What `name` is in `repository` at the commit that `revision` (branch, tag or commit) means now.

    Raises SemifError where the hub knows none of them, where the file is not in Git LFS (its SHA-256 is then
    published nowhere), and for a file of a split model.
    """
    repository_info = _look_up(repository, revision)
    lfs = _lfs_of(repository_info, repository, name)
    return HubFile(repository, repository_info.sha, name, lfs.size, lfs.sha256, _license(repository_info))


def _look_up(repository: str, revision: str) -> _Repository:
    url = f"{hub_url()}/api/models/{repository}/revision/{quote(revision, safe='')}?blobs=true"
    with open_pool(url) as pool:
        reply = get(pool, url, authorization(), limit=MAX_REPLY_BYTES)
    _check(reply, repository, revision)
    try:
        repository_info = _Repository.model_validate_json(reply.body)
    except ValidationError:
        raise SemifError(
            f"{url} does not answer as the hub does; a proxy or a sign-in page may stand in between"
        ) from None
    if _COMMIT.fullmatch(revision) and repository_info.sha != revision:
        raise SemifError(f"{url} answers for commit {repository_info.sha}; name another revision")
    return repository_info


def _check(reply: LookupReply, repository: str, revision: str) -> None:
    match reply.status:
        case 200:
            return
        case 301 | 302 | 307 | 308:
            # Not followed: the pin should carry the repository's present name, and the token stays here.
            where = shown(reply.headers.get("Location", ""))
            problem = f"has moved to {where}; name the repository that it is now"
        case 401:
            problem = f"does not exist, or asks for a sign-in: correct it, or set {TOKEN_VARIABLE}"
        case 403:
            problem = f"refuses access; accept the model's terms there and set {TOKEN_VARIABLE}"
        case 404 if reply.headers.get("X-Error-Code") == "RevisionNotFound":
            problem = f"has no revision {shown(revision)}; name a branch, a tag or a commit of it"
        case 404:
            problem = "does not exist; correct the repository's name"
        case status:
            problem = f"cannot be looked up now: the hub gives HTTP {status}; try again later"
    raise SemifError(f"{repository} {problem}")


def _lfs_of(repository_info: _Repository, repository: str, name: str) -> _Lfs:
    files = {file.rfilename: file.lfs for file in repository_info.siblings}
    if "/" in name and name in files:
        raise SemifError(f"{name} lies in a folder of {repository}; presets name files at its root")
    if (count := files_of_split(name)) != 1:
        stem, ending = stem_of(name), name.rpartition(".")[2]
        parts = [f"{stem}-{number:05}-of-{count:05}.{ending}" for number in range(1, min(count, 1_000) + 1)]
        absent = [part for part in parts if part not in files]
        state = f"not all are there, {_some(absent)}" if absent else _some(parts)
        raise SemifError(
            f"{name} is one of the {count} files of a split model ({state}); split models are not packed: "
            "name a file that is whole, or merge them with llama-gguf-split and pin the result from S3"
        )
    if name not in files:
        there = _some(sorted(file for file in files if named_gguf(file)))
        raise SemifError(
            f"{repository} has no file {shown(name)} at {repository_info.sha[:12]}; its GGUF files: {there}"
        )
    lfs = files[name]
    if lfs is None:
        raise SemifError(
            f"{repository} keeps {name} outside Git LFS, so the hub publishes no SHA-256 of it; name another "
            "file"
        )
    return lfs


def _some(names: list[str]) -> str:
    """The first names, as a message may show them."""
    more = f" and {len(names) - MAX_FILES_SHOWN} more" if len(names) > MAX_FILES_SHOWN else ""
    return (", ".join(shown(name) for name in names[:MAX_FILES_SHOWN]) or "none") + more


def _license(repository_info: _Repository) -> str | None:
    card = repository_info.cardData or {}
    names = [card.get("license_name") if card.get("license") == "other" else None, card.get("license")]
    names += [tag.removeprefix("license:") for tag in repository_info.tags if tag.startswith("license:")]
    return next((name for name in names if isinstance(name, str) and name), None)
