"""HTTP connections of our own: the user's proxy, addresses, and what went wrong in words."""

import re
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import urllib3

from semif.errors import SemifError, shown


class _Redirects(urllib3.PoolManager):
    """A redirect to what is no address fails as other failures of a server do, and in no other way."""

    def urlopen(  # type: ignore[override]  # the same call; its types are spelled in the base
        self, method: str, url: str, redirect: bool = True, **settings: Any
    ) -> urllib3.BaseHTTPResponse:
        """As the base's."""
        try:
            return super().urlopen(method, url, redirect, **settings)
        except urllib3.exceptions.HTTPError:
            raise
        except ValueError as error:  # urllib.parse's, of the address
            raise urllib3.exceptions.LocationValueError(str(error)) from error


class _ThroughProxy(_Redirects, urllib3.ProxyManager):
    """The same, through a proxy."""


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def open_pool(
    url: str, *, timeout: urllib3.Timeout, retries: urllib3.Retry | bool, connections: int = 10
) -> urllib3.PoolManager:
    """Connections towards `url`, `connections` of which are kept.

    They go through the proxy that the system names for it; to this machine, never. Raises SemifError for a
    proxy that is none.
    """
    proxy = proxy_for(url)
    if proxy is None:
        return _Redirects(timeout=timeout, retries=retries, maxsize=connections)
    auth = urllib3.util.parse_url(proxy).auth
    headers = urllib3.make_headers(proxy_basic_auth=unquote(auth)) if auth else None
    return _ThroughProxy(proxy, proxy_headers=headers, timeout=timeout, retries=retries, maxsize=connections)


def proxy_for(url: str, proxies: Mapping[str, str] | None = None) -> str | None:
    """The proxy on the way to `url`, maybe with a name and password; None for none, and to this machine.

    It is one of `proxies`, by scheme, else the one that the system names. Raises SemifError for one that is
    none.
    """
    parsed = urllib3.util.parse_url(url)
    host = parsed.host or ""
    if host in LOOPBACK or (proxies is None and urllib.request.proxy_bypass(host)):
        return None
    known = urllib.request.getproxies() if proxies is None else proxies
    proxy = known.get(parsed.scheme or "https")
    if not proxy:
        return None
    whole = proxy if "://" in proxy else f"http://{proxy}"
    try:
        urllib3.ProxyManager(whole)
    except (urllib3.exceptions.HTTPError, ValueError):  # not the value: a password may be in it
        raise SemifError(
            "the proxy of this machine's settings (http_proxy, https_proxy, all_proxy) cannot be used; it is "
            "http:// or https://, a host and a port"
        ) from None
    return whole


def check_url(url: str) -> None:
    """Raise SemifError for what is no address of an adapter."""
    try:
        parts = urllib3.util.parse_url(url)
        whole = parts.scheme in {"http", "https"} and bool(parts.host)
        more = parts.query is not None or parts.fragment is not None or parts.auth is not None
    except urllib3.exceptions.LocationParseError:  # a port over 65535, a host with a space
        whole = more = False
    if not whole or more:
        harmless = shown(re.sub(r"//.*@", "//…@", url.partition("?")[0]))  # no passwords, no keys in a query
        raise SemifError(
            f"{harmless} cannot be asked: an address is http:// or https://, a host and maybe a port (1 to "
            "65535) and a path, as in http://127.0.0.1:8080"
        )


def what_happened(error: BaseException) -> str:
    """A failed connection in words, without urllib3's objects and error numbers."""
    if isinstance(error, urllib3.exceptions.MaxRetryError) and error.reason is not None:
        error = error.reason
    match error:
        case urllib3.exceptions.NameResolutionError():
            words = "cannot be reached: no such host is known"
        case urllib3.exceptions.ProxyError():
            words = "cannot be reached: the proxy does not let us through"
        case urllib3.exceptions.SSLError():
            words = f"cannot be reached over TLS: {str(error)[:200]}"
        case urllib3.exceptions.ResponseError():  # redirected without end
            words = f"cannot be reached: {error}"
        case urllib3.exceptions.LocationValueError() | urllib3.exceptions.URLSchemeUnknown():
            words = "sends on to something that is no address of a server"
        case urllib3.exceptions.DecodeError():
            words = "sends bytes that are not in the encoding it names"
        case _ if isinstance(error.__cause__, OSError) and error.__cause__.strerror:
            words = f"cannot be reached: {error.__cause__.strerror.lower()}"
        case urllib3.exceptions.TimeoutError():
            words = "took too long to answer"
        case _:
            words = "broke the connection off"
    return words
