"""Bodies that come compressed: undone within the body limit, so that no small body becomes a large one."""

import sys
import zlib
from typing import Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from semif_adapter.contract.errors import BodyTooLargeError, InvalidRequestError, UnsupportedMediaTypeError

ENCODINGS = ("zstd", "gzip", "identity")
ZSTD_WINDOW_LOG = 23
"""Largest window that a frame may ask for, 8 MiB: what RFC 8878 asks every decoder to take."""
_GZIP_WINDOW = 31  # zlib's code for a gzip header around the largest window


class _Decompressor(Protocol):
    """The way back of one compressed stream, as the standard library has it for every format."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def is_encoded(encoding: str) -> bool:
    """Whether a body with this content encoding, a header's value, is not as it was."""
    return encoding.strip().lower() not in ("identity", "")


def decode_body(body: bytes, encoding: str, limit: int) -> bytes:
    """An encoded `body` without its content encoding, a header's value; both sides are at most `limit` bytes.

    No more than that is ever decoded. Raises UnsupportedMediaTypeError for other encodings, BodyTooLargeError
    beyond the limit and InvalidRequestError for what is not one whole stream.
    """
    decompressor: _Decompressor
    match encoding.strip().lower():
        case "zstd":
            options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG}
            decompressor = zstd.ZstdDecompressor(options=options)
        case "gzip":
            decompressor = zlib.decompressobj(_GZIP_WINDOW)
        case _:
            raise UnsupportedMediaTypeError(f"the content encoding must be one of {', '.join(ENCODINGS)}")
    try:
        decoded = decompressor.decompress(body, limit + 1)
    except (zlib.error, zstd.ZstdError):
        raise InvalidRequestError("the body is not in its content encoding") from None
    if len(decoded) > limit:
        raise BodyTooLargeError(f"the decoded body is larger than the limit of {limit} bytes")
    # A second stream would be legal, and a million empty ones a way to keep a thread busy.
    if not decompressor.eof or decompressor.unused_data:
        raise InvalidRequestError("the body must be one compressed stream, whole and with nothing behind it")
    return decoded
