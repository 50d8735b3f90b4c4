"""An adapter asked directly, at its address: on this machine, or behind a load balancer of one's own."""

import re
import time

import urllib3

from semif.client.endpoint_transport import MEDIA_TYPE
from semif.client.errors import (
    AnswerTimeoutError,
    DecisionError,
    RequestRefusedError,
    UnknownReplyError,
    UnreachableError,
)
from semif.client.reply import container_error
from semif.errors import SemifError, shown
from semif.web.connections import check_url, open_pool, what_happened

TIMEOUT = urllib3.Timeout(connect=5, read=70)
"""As long as for an endpoint: the adapter's own deadline is 55 s."""
REPLY_SECONDS = 70.0
"""A reply that still comes then, a few bytes at a time, is given up."""
MAX_REPLY_BYTES = 67_108_864
"""Far more than any answer of the wire; a bound on what a wrong address may send."""


class UrlTransport:
    """Sends bodies to the adapter at one address."""

    def __init__(
        self, url: str, *, path: str = "/invocations", api_key: str | None = None, connections: int = 10
    ) -> None:
        """`url` is the server's base, or the address of its `path`.

        Raises SemifError for others, and for a key that no header can hold.
        """
        check_url(url)
        self._target = url.rstrip("/").removesuffix(path) + path
        self._pool = open_pool(url, timeout=TIMEOUT, retries=False, connections=connections)
        self._headers = {"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE}
        if api_key is not None:
            if not re.fullmatch(r"[\x21-\x7e]+", api_key):  # not the key itself: it is a secret
                raise SemifError("the API key must be visible ASCII without spaces; see how it was read")
            self._headers["Authorization"] = f"Bearer {api_key}"

    def send(self, body: bytes) -> bytes:
        """The adapter's reply. Raises DecisionError."""
        until = time.monotonic() + REPLY_SECONDS
        try:
            with self._pool.request(
                "POST", self._target, body=body, headers=self._headers, preload_content=False, redirect=False
            ) as reply:
                raw = self._read(reply, until)
        except urllib3.exceptions.HTTPError as error:
            raise self._failed(error) from None
        if (elsewhere := reply.get_redirect_location()) is not False:
            where = (
                f"sends on to {shown(elsewhere)}, where nothing is sent" if elsewhere else "says not where to"
            )
            raise RequestRefusedError(
                f"{self._target} answered {reply.status} and {where}; give the address that answers itself",
                status=reply.status,
            )
        if reply.status != 200:
            hint = _seconds(reply.headers.get("Retry-After"))
            raise container_error(self._target, reply.status, raw, retry_after_seconds=hint)
        return raw

    def close(self) -> None:
        """Let the connections go."""
        self._pool.clear()

    def _read(self, reply: urllib3.BaseHTTPResponse, until: float) -> bytes:
        """The whole body. `read1` waits for one piece at a time, so that a slow one is noticed."""
        pieces = bytearray()
        while piece := reply.read1(65_536):
            pieces += piece
            if len(pieces) > MAX_REPLY_BYTES:
                raise UnknownReplyError(f"{self._target} answers with more than {MAX_REPLY_BYTES:,} bytes")
            if time.monotonic() > until:
                raise AnswerTimeoutError(f"{self._target} took too long to answer, a few bytes at a time")
        return bytes(pieces)

    def _failed(self, error: urllib3.exceptions.HTTPError) -> DecisionError:
        if isinstance(error, urllib3.exceptions.ReadTimeoutError):
            return AnswerTimeoutError(f"{self._target} {what_happened(error)}")
        return UnreachableError(f"{self._target} {what_happened(error)}; is the adapter running there?")


def _seconds(retry_after: str | None) -> float | None:
    """The header's seconds; None for a date, which no server of ours sends."""
    return float(retry_after) if retry_after and re.fullmatch(r"[0-9]{1,9}", retry_after) else None
