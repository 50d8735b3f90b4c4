"""Where a request ends: heads that others could read in another way are refused."""

from collections.abc import Sequence

from semif_adapter.contract.errors import InvalidRequestError

VERSIONS = ("1.0", "1.1")


def check_framing(version: str, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Raise InvalidRequestError where somebody in between could read this head in another way.

    RFC 9112: a request of HTTP/1.1 has one Host header (section 3.2); a server that does not know a
    transfer coding must not guess where the body ends, and HTTP/1.0 has none (section 6.1). The parser
    takes `gzip, chunked` for `chunked`, and versions 0.9 and 2.0. `headers` have names in lower case.
    """
    if version not in VERSIONS:
        raise InvalidRequestError(f"the version of HTTP must be {' or '.join(VERSIONS)}")
    is_1_0 = version == "1.0"
    hosts = sum(name == b"host" for name, _ in headers)
    if hosts != 1 and not (is_1_0 and hosts == 0):
        raise InvalidRequestError(f"the request must have one Host header, got {hosts}")
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    if codings and (is_1_0 or codings != [b"chunked"]):
        raise InvalidRequestError("the only transfer coding is chunked, by itself and over HTTP/1.1")
