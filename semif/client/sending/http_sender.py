"""HTTP from an event loop, by httpx2's transport: no cookies, redirects or repeats, one kind of failure."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semif.errors import SemifError, printable

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 5.0
IDLE_SECONDS = 60.0
"""How long a connection that nobody uses is kept."""
MAX_REPLY_BYTES = 67_108_864
"""Far more than any answer of the wire; a bound on what a wrong address may send."""


class Requests:
    """Whether requests may leave this process: `semif.testing` forbids them."""

    allowed = True


REQUESTS = Requests()


class NoReplyError(Exception):
    """There is no whole reply: the connection was not made, or broke off. `words` say why, for people."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words
        self.url = ""
        """What was asked."""


class ProxyAuthError(NoReplyError):
    """The proxy wants a name and password, or others."""


class OversizeReplyError(NoReplyError):
    """The reply is longer than any answer."""


@dataclass(frozen=True)
class HttpReply:
    """A whole reply, its body decoded."""

    status: int
    headers: Mapping[str, str]
    """By name in any case."""
    body: bytes


class HttpSender:
    """Posts to one server. Everything but its making happens on one event loop."""

    def __init__(
        self,
        *,
        proxy: str | None,
        tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
        connections: int,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        """`tls` is called for the first connection: reading a system's certificates takes a while."""
        self._proxy = proxy
        self._tls = tls
        self._connections = connections
        self._timeout = {"connect": connect_seconds}
        self._opening = asyncio.Lock()
        self._transport: httpx2.AsyncHTTPTransport | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """The reply to `body`. Raises NoReplyError where there is none.

        It waits as long as its caller does; a caller that is cancelled takes the connection along.
        """
        if not REQUESTS.allowed:
            raise SemifError(f"a request to {url} was not sent: semif.testing forbids requests here")
        transport = await self._opened()
        import httpx2  # noqa: PLC0415 - loaded by now

        try:
            request = httpx2.Request(
                "POST", url, headers=dict(headers), content=body, extensions={"timeout": self._timeout}
            )
            reply = await transport.handle_async_request(request)
            try:
                content = await _whole(reply)
            finally:
                await reply.aclose()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            failure = self._failure(error)
            failure.url = url
            raise failure from None
        return HttpReply(reply.status_code, reply.headers, content)

    async def close(self) -> None:
        """Let the connections go."""
        if self._transport is not None:
            await self._transport.aclose()

    async def _opened(self) -> "httpx2.AsyncHTTPTransport":
        """The transport. The first request loads httpx2 and the certificates, on a thread: it takes 0.2 s."""
        async with self._opening:
            if self._transport is None:
                self._transport = await asyncio.to_thread(self._open)
            return self._transport

    def _open(self) -> "httpx2.AsyncHTTPTransport":
        import httpx2  # noqa: PLC0415

        context = self._tls()
        through = None
        if self._proxy is not None:
            secure = self._proxy.startswith("https://")
            through = httpx2.Proxy(self._proxy, ssl_context=context if secure else None)
        # Places are the transport's own to give (`Transport`): here none is waited for.
        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=self._connections, keepalive_expiry=IDLE_SECONDS
        )
        return httpx2.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits, proxy=through)

    def _failure(self, error: "httpx2.HTTPError | httpx2.InvalidURL") -> NoReplyError:
        """A failed exchange in words, without objects and error numbers."""
        import httpx2  # noqa: PLC0415

        causes = tuple(_causes(error))
        unconnected = isinstance(error, httpx2.ConnectError)
        tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
        number = next((c.errno for c in causes if isinstance(c, OSError) and c.errno), None)
        if isinstance(error, httpx2.ProxyError) and str(error).startswith("407"):
            return ProxyAuthError("cannot be reached: the proxy wants a name and password")
        if isinstance(error, httpx2.DecodingError):
            words = "sends bytes that are not in the encoding it names"
        elif isinstance(error, httpx2.TimeoutException):
            words = "cannot be reached: it took too long to answer"
        elif tls is not None:
            words = f"cannot be reached over TLS: {printable(str(tls))[:200]}"
        elif isinstance(error, httpx2.ProxyError) or (unconnected and self._proxy is not None):
            words = "cannot be reached: the proxy does not let us through"
        elif any(isinstance(cause, socket.gaierror) for cause in causes):
            words = "cannot be reached: no such host is known"
        elif unconnected and number is not None:
            words = f"cannot be reached: {os.strerror(number).lower()}"
        else:
            words = "broke the connection off"
        return NoReplyError(words)


async def _whole(reply: "httpx2.Response") -> bytes:
    pieces = bytearray()
    async for piece in reply.aiter_bytes():
        pieces += piece
        if len(pieces) > MAX_REPLY_BYTES:
            raise OversizeReplyError(f"answers with more than {MAX_REPLY_BYTES:,} bytes")
    return bytes(pieces)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what led to it: several at once where a name had several addresses."""
    yield error
    for cause in (error.__cause__ or error.__context__, *getattr(error, "exceptions", ())):
        if cause is not None:
            yield from _causes(cause)
