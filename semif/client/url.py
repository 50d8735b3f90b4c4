"""An adapter asked directly, at its address: on this machine, or behind a load balancer of one's own."""

import urllib3

from semif.client.endpoint import MEDIA_TYPE
from semif.client.errors import AnswerTimeoutError, DecisionError, UnknownReplyError, UnreachableError
from semif.client.reply import container_error
from semif.connections import check_url, open_pool, what_happened

TIMEOUT = urllib3.Timeout(connect=5, read=70)
"""As long as for an endpoint: the adapter's own deadline is 55 s."""
MAX_REPLY_BYTES = 67_108_864
"""Far more than any answer of the wire; a bound on what a wrong address may send."""


class UrlTransport:
    """Sends bodies to the adapter at one address."""

    def __init__(
        self, url: str, *, path: str = "/invocations", api_key: str | None = None, connections: int = 10
    ) -> None:
        """`url` is the server's base, or the address of its `path`. Raises SemifError for others."""
        check_url(url)
        self._target = url if url.endswith(path) else url.rstrip("/") + path
        self._pool = open_pool(url, timeout=TIMEOUT, retries=False, connections=connections)
        self._headers = {"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"

    def send(self, body: bytes) -> bytes:
        """The adapter's reply. Raises DecisionError."""
        try:
            with self._pool.request(
                "POST", self._target, body=body, headers=self._headers, preload_content=False, redirect=False
            ) as reply:
                raw = reply.read(MAX_REPLY_BYTES + 1)
        except urllib3.exceptions.HTTPError as error:
            raise self._failed(error) from None
        if len(raw) > MAX_REPLY_BYTES:
            raise UnknownReplyError(f"{self._target} answers with more than {MAX_REPLY_BYTES:,} bytes")
        if reply.status != 200:
            hint = _seconds(reply.headers.get("Retry-After"))
            raise container_error(self._target, reply.status, raw, retry_after_seconds=hint)
        return raw

    def close(self) -> None:
        """Let the connections go."""
        self._pool.clear()

    def _failed(self, error: urllib3.exceptions.HTTPError) -> DecisionError:
        if isinstance(error, urllib3.exceptions.ReadTimeoutError):
            return AnswerTimeoutError(f"{self._target} {what_happened(error)}")
        return UnreachableError(f"{self._target} {what_happened(error)}; is the adapter running there?")


def _seconds(retry_after: str | None) -> float | None:
    """The header's seconds; None for a date, which no server of ours sends."""
    return float(retry_after) if retry_after is not None and retry_after.isdecimal() else None
