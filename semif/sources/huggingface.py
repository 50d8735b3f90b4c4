"""A file of a Hugging Face repository at a pinned commit."""

import os
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from semif.errors import SemifError
from semif.pins import ModelPin
from semif.progress import Progress

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager

HUB = "https://huggingface.co"
TOKEN_VARIABLE = "HF_TOKEN"  # noqa: S105 - the name of the variable, not a token
CONNECT_TIMEOUT_SECONDS = 10
READ_TIMEOUT_SECONDS = 60
BLOCK = 1 << 20
MAX_BROKEN_READS = 5


def download(pin: ModelPin, target: Path, progress: Progress, *, hub: str = HUB) -> None:
    """Write the file to `target`, continuing where an earlier, interrupted call left it.

    A broken connection is taken up again as long as bytes arrive. Raises SemifError; `target` then keeps what
    came, except where the reply itself was not the file.
    """
    import urllib3  # noqa: PLC0415 - only this source speaks HTTP itself

    url = f"{hub}/{pin.source.removeprefix('hf://')}/resolve/{pin.revision}/{pin.file}"
    pool, broken = _pool(url), 0
    while True:
        have = target.stat().st_size if target.exists() else 0
        if have == pin.bytes:
            return
        try:
            _continue(pool, url, pin, target, min(have, pin.bytes), progress)
        except urllib3.exceptions.MaxRetryError as error:
            raise SemifError(
                f"{url} cannot be reached: {_reason(error)}; check the network and the proxy"
            ) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if isinstance(error, OSError):
                raise SemifError(f"cannot write {target}: {error.strerror}") from error
            broken = 0 if target.exists() and target.stat().st_size > have else broken + 1
            if broken == MAX_BROKEN_READS:
                raise SemifError(
                    f"{url} broke off {broken} times in a row: {_reason(error)}; try again later"
                ) from None


def _continue(
    pool: "PoolManager", url: str, pin: ModelPin, target: Path, have: int, progress: Progress
) -> None:
    """One request: append what comes to `target`, from byte `have` on, never beyond the pinned size."""
    # Compression would make a range of bytes mean something else.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    if token := os.environ.get(TOKEN_VARIABLE):
        # urllib3 drops it when the hub redirects to the host that stores the file.
        headers["Authorization"] = f"Bearer {token}"
    reply = pool.request("GET", url, headers=headers, preload_content=False)
    try:
        _check(reply, url, pin, target)
        start = have if reply.status == 206 else 0
        with target.open("r+b" if target.exists() else "wb") as out:
            out.truncate(start)
            out.seek(start)
            for block in reply.stream(BLOCK):
                if out.tell() + len(block) > pin.bytes:
                    raise SemifError(
                        f"{url} gives more than the pinned {pin.bytes:,} bytes; correct the pin or the source"
                    )
                out.write(block)
                progress(f"download {pin.file}", out.tell(), pin.bytes)
            if out.tell() < pin.bytes and not reply.length_remaining:
                raise SemifError(
                    f"{url} ended after {out.tell():,} bytes, pinned are {pin.bytes:,}; correct the pin"
                )
    finally:
        reply.release_conn()
        reply.close()


def _check(reply: "BaseHTTPResponse", url: str, pin: ModelPin, target: Path) -> None:
    known = "with" if os.environ.get(TOKEN_VARIABLE) else "without"
    problem = {
        401: f"asks for a sign-in ({known} {TOKEN_VARIABLE}); set {TOKEN_VARIABLE} to a token that may read it",
        403: f"refuses access ({known} {TOKEN_VARIABLE}); accept the model's terms there, and set {TOKEN_VARIABLE}",
        404: "does not exist; correct the source, revision or file of the pin",
        416: "is shorter than what is already here; the pin's size is wrong",
    }.get(reply.status)
    if problem is None and reply.status not in (200, 206):
        problem = "failed; try again later"
    kind = reply.headers.get("Content-Type", "")
    if problem is None and kind.partition(";")[0].strip() in ("text/html", "application/xhtml+xml"):
        problem = f"is a web page ({kind}), not a file; a proxy or sign-in page may stand in between"
    if problem:
        if reply.status == 416:
            target.unlink(missing_ok=True)
        raise SemifError(f"{url} gives HTTP {reply.status}: the file {pin.file} {problem}")


def _pool(url: str) -> "PoolManager":
    import urllib3  # noqa: PLC0415 - see download

    settings = {
        "timeout": urllib3.Timeout(connect=CONNECT_TIMEOUT_SECONDS, read=READ_TIMEOUT_SECONDS),
        "retries": urllib3.Retry(
            total=5, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504), raise_on_status=False
        ),
    }
    parsed = urllib3.util.parse_url(url)
    proxy = urllib.request.getproxies().get(parsed.scheme or "https")
    if proxy and not urllib.request.proxy_bypass(parsed.host or ""):
        return urllib3.ProxyManager(proxy, **settings)
    return urllib3.PoolManager(**settings)


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error)[:200]
