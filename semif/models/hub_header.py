"""The header of a GGUF on the hub, read in parts: what the model is, before anybody downloads it."""

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import urllib3

from semif.errors import SemifError
from semif.models.gguf_header import MAGIC, GgufHeader, NotAModelError, read_header_of
from semif.models.hub_lookup import HubFile, authorization, hub_url
from semif.web.lookups import get, open_pool

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PART_BYTES = 1 << 20
MAX_PARTS = 64
"""Of one header: 250,000 tokens and as many merges come to about a dozen."""


def read_hub_header(hub_file: HubFile) -> GgufHeader:
    """The header of `hub_file`, by HTTP's ranges; none of its tensor data.

    Raises SemifError where the hub does not give it, NotAModelError where it is no GGUF's.
    """
    url = f"{hub_url()}/{hub_file.repository}/resolve/{hub_file.commit}/{hub_file.file}"
    with open_pool(url) as pool:
        parts = _Parts(pool, url, authorization(), hub_file.bytes)
        file = io.BufferedReader(parts, PART_BYTES)
        if file.peek(len(MAGIC))[: len(MAGIC)] != MAGIC:
            raise NotAModelError(f"{url} is no GGUF by its first bytes; name another file")
        return read_header_of(file, hub_file.file, hub_file.bytes)


class _Parts(io.RawIOBase):
    """A file at `url` of `size` bytes, of which only what is read is fetched."""

    def __init__(self, pool: urllib3.PoolManager, url: str, headers: Mapping[str, str], size: int) -> None:
        super().__init__()
        self._pool, self._url, self._headers, self._size = pool, url, headers, size
        self._at = 0
        self._left = MAX_PARTS

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = start + offset
        return self._at

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        end = min(self._at + len(view), self._size)
        if self._at >= end:
            return 0
        self._left -= 1
        if self._left < 0:
            raise NotAModelError(f"{self._url} has a header of over {MAX_PARTS * PART_BYTES:,} bytes")
        part = self._fetch(self._at, end)
        view[: len(part)] = part
        self._at += len(part)
        return len(part)

    def _fetch(self, start: int, end: int) -> bytes:
        headers = {**self._headers, "Range": f"bytes={start}-{end - 1}"}
        # Followed: the hub keeps files at another host, which urllib3 sends no token.
        reply = get(self._pool, self._url, headers, limit=end - start, redirect=True)
        if reply.status != 206 or len(reply.body) != end - start:
            raise SemifError(
                f"{self._url} gives HTTP {reply.status} and {len(reply.body):,} bytes, of the file's header "
                f"{end - start:,} were asked for; accept the model's terms there, or try again later"
            )
        return reply.body
