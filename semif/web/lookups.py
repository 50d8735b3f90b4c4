"""HTTP for look-ups and downloads: the user's proxy, bounded bodies, credentials only where they belong."""

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import urllib3

from semif.errors import SemifError
from semif.web import connections

_BLOCK = 1 << 16
"""Bytes; what a broken connection loses is at most this."""
TIMEOUT = urllib3.Timeout(connect=10, read=60)
HEAD_SECONDS = 300.0
"""An answer whose head is not whole then is given up: longer than all tries of a server that says nothing."""
LOOKUP_SECONDS = 120.0
"""An answer that still comes then, a few bytes at a time, is given up."""
SLOW_BYTES, SLOW_SECONDS = 60_000, 60.0
"""A download that brings fewer bytes in these seconds has no end: at that pace a model takes a month."""
LOOKUP_RETRIES = urllib3.Retry(
    total=3,
    redirect=3,
    backoff_factor=0.2,
    status_forcelist=(429, 500, 502, 503, 504),
    raise_on_status=False,
    respect_retry_after_header=False,  # a server must not hold a command for an hour
)


class TooSlowError(urllib3.exceptions.HTTPError):
    """A server that sends so little that there is no end to wait for."""


@dataclass(frozen=True)
class LookupReply:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def open_pool(url: str, retries: urllib3.Retry = LOOKUP_RETRIES) -> urllib3.PoolManager:
    """Connections towards `url` for look-ups and downloads."""
    return connections.open_pool(url, timeout=TIMEOUT, retries=retries)


def server_url(text: str, what: str) -> str:
    """`text` without a final slash, as the address of a server.

    Raises SemifError unless it is https://HOST, with plain http allowed on this machine alone: tokens go
    there, and digests that nothing else proves come from there. `what` names the setting.
    """
    try:
        parsed = urllib3.util.parse_url(text)
    except urllib3.exceptions.LocationParseError:
        parsed = urllib3.util.Url()
    plain = parsed.scheme == "http" and parsed.host in connections.LOOPBACK
    if not parsed.host or parsed.auth or parsed.query or not (plain or parsed.scheme == "https"):
        # Not the value itself: a password may be in it.
        raise SemifError(
            f"{what} must be https://HOST, without a password or a query (http only for this machine)"
        )
    return text.rstrip("/")


def get(
    pool: urllib3.PoolManager, url: str, headers: Mapping[str, str], *, limit: int, redirect: bool = False
) -> LookupReply:
    """Fetch `url`, at most `limit` bytes of it. A redirect that is followed loses `Authorization` where it
    leads to another host. Raises SemifError where nothing answers or the answer is too long.
    """
    wanted = {"Accept-Encoding": "identity", **headers}
    try:
        with ask(pool, url, wanted, redirect=redirect) as reply:
            body = _body(reply, limit)
            answer = LookupReply(reply.status, reply.headers, body)
    except urllib3.exceptions.MaxRetryError as error:
        raise unreachable(url, error) from None
    except TooSlowError:
        raise SemifError(f"{url} took too long to answer, a few bytes at a time; try again") from None
    except urllib3.exceptions.HTTPError as error:
        raise SemifError(f"{url} {connections.what_happened(error)}; try again") from None
    if len(body) > limit:
        raise SemifError(f"{url} gives more than {limit:,} bytes, which no such answer needs")
    return answer


def ask(
    pool: urllib3.PoolManager, url: str, headers: Mapping[str, str], *, redirect: bool = True
) -> urllib3.BaseHTTPResponse:
    """The answer to a GET, whose body is still to come. Raises urllib3's HTTPErrors, and TooSlowError.

    A connection's own time limit is for each piece that comes, so a head that comes byte by byte has none: it
    is waited for from outside, and who reads it is left behind.
    """
    answers: queue.SimpleQueue[urllib3.BaseHTTPResponse | Exception] = queue.SimpleQueue()

    def asking() -> None:
        try:
            reply = pool.request("GET", url, headers=headers, preload_content=False, redirect=redirect)
        except Exception as error:  # noqa: BLE001 - whoever waits raises it
            answers.put(error)
        else:
            answers.put(reply)

    threading.Thread(target=asking, daemon=True).start()
    try:
        answer = answers.get(timeout=HEAD_SECONDS)
    except queue.Empty:
        raise TooSlowError from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _body(reply: urllib3.BaseHTTPResponse, limit: int) -> bytes:
    """At most a block more than `limit` bytes of it."""
    until, body = time.monotonic() + LOOKUP_SECONDS, bytearray()
    while len(body) <= limit and (piece := reply.read1(_BLOCK)):
        body += piece
        if time.monotonic() > until:
            raise TooSlowError
    return bytes(body)


def pieces(reply: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """The body as it comes. Raises urllib3's HTTPErrors, and TooSlowError where hardly anything does."""
    began, came = time.monotonic(), 0
    while piece := reply.read1(_BLOCK):
        yield piece
        came += len(piece)
        if (now := time.monotonic()) - began >= SLOW_SECONDS:
            if came < SLOW_BYTES:
                raise TooSlowError
            began, came = now, 0


def unreachable(url: str, error: urllib3.exceptions.MaxRetryError) -> SemifError:
    """What to tell people where a server does not answer at all."""
    return SemifError(f"{url} {connections.what_happened(error)}; check network and proxy")
