"""HTTP for look-ups and downloads: the user's proxy, bounded bodies, credentials only where they belong."""

from collections.abc import Mapping
from dataclasses import dataclass

import urllib3

from semif.errors import SemifError
from semif.web import connections

TIMEOUT = urllib3.Timeout(connect=10, read=60)
LOOKUP_RETRIES = urllib3.Retry(
    total=3,
    redirect=3,
    backoff_factor=0.2,
    status_forcelist=(429, 500, 502, 503, 504),
    raise_on_status=False,
    respect_retry_after_header=False,  # a server must not hold a command for an hour
)


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
        with pool.request("GET", url, headers=wanted, preload_content=False, redirect=redirect) as reply:
            body = reply.read(limit + 1)
            answer = LookupReply(reply.status, reply.headers, body)
    except urllib3.exceptions.MaxRetryError as error:
        raise unreachable(url, error) from None
    except urllib3.exceptions.HTTPError as error:
        raise SemifError(f"{url} {connections.what_happened(error)}; try again") from None
    if len(body) > limit:
        raise SemifError(f"{url} gives more than {limit:,} bytes, which no such answer needs")
    return answer


def unreachable(url: str, error: urllib3.exceptions.MaxRetryError) -> SemifError:
    """What to tell people where a server does not answer at all."""
    return SemifError(f"{url} {connections.what_happened(error)}; check network and proxy")
