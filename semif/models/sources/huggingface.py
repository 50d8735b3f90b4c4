"""A file of a Hugging Face repository at a pinned commit."""

from pathlib import Path

import urllib3

from semif.errors import SemifError
from semif.models.hub_lookup import TOKEN_VARIABLE, authorization, hub_url
from semif.models.pinned_file import PinnedFile
from semif.progress import Progress
from semif.web.lookups import SLOW_BYTES, SLOW_SECONDS, TooSlowError, ask, open_pool, pieces, unreachable

RETRIES = urllib3.Retry(
    total=5,
    backoff_factor=0.5,
    status_forcelist=(429, 500, 502, 503, 504),
    raise_on_status=False,
    respect_retry_after_header=False,  # a server must not hold a build for a day
)
MAX_BROKEN_READS = 5

PROBLEMS = {
    401: f"asks for a sign-in; set {TOKEN_VARIABLE} to a token that may read it",
    403: f"refuses access; accept the model's terms there and set {TOKEN_VARIABLE}",
    404: "does not exist; correct the source, revision or file of the pin",
}


def download(pin: PinnedFile, target: Path, progress: Progress) -> None:
    """Write the file to `target`, continuing where an earlier, interrupted call left it.

    A broken connection is taken up again as long as bytes arrive, a slow one some times. Raises SemifError;
    `target` then keeps what came, unless it cannot be a part of the pinned file.
    """
    url = f"{hub_url()}/{pin.source.removeprefix('hf://')}/resolve/{pin.revision}/{pin.file}"
    broken = 0
    with open_pool(url, RETRIES) as pool:
        while (have := _size(target)) != pin.bytes:
            try:
                _continue(pool, url, pin, target, progress)
            except urllib3.exceptions.MaxRetryError as error:
                raise unreachable(url, error) from None
            except TooSlowError:
                broken += 1
                if broken == MAX_BROKEN_READS:
                    raise SemifError(
                        f"{url} sends less than {SLOW_BYTES / SLOW_SECONDS:,.0f} bytes a second, on "
                        f"{broken} connections; try again, what came is kept"
                    ) from None
            except urllib3.exceptions.HTTPError as error:
                broken = 0 if _size(target) > have else broken + 1
                if broken == MAX_BROKEN_READS:
                    raise SemifError(f"{url} broke off {broken} times in a row: {error}") from None


def _continue(pool: urllib3.PoolManager, url: str, pin: PinnedFile, target: Path, progress: Progress) -> None:
    """One request: append what comes to `target`, never beyond the pinned size."""
    have = _size(target)
    # Compression would make a range of bytes mean something else. The token does not come along where the hub
    # redirects to the host that stores the file: urllib3 drops it.
    headers = {"Accept-Encoding": "identity", **authorization()}
    if have:
        headers["Range"] = f"bytes={have}-"
    with ask(pool, url, headers) as reply:
        if have and reply.status == 416:  # a part longer than the file: not a part of it
            target.unlink()
            return
        _check(reply, url)
        with target.open("r+b" if have else "wb") as out:
            out.seek(have if reply.status == 206 else 0)
            out.truncate()
            for block in pieces(reply):
                out.write(block)
                progress(f"download {pin.file}", out.tell(), pin.bytes)
                if out.tell() > pin.bytes:
                    break
            end = out.tell()
    if end != pin.bytes:
        target.unlink()
        more = "more than " if end > pin.bytes else ""
        raise SemifError(
            f"{url} gives {more}{min(end, pin.bytes):,} bytes, pinned are {pin.bytes:,}; correct the pin"
        )


def _check(reply: urllib3.BaseHTTPResponse, url: str) -> None:
    if reply.status not in (200, 206):
        raise SemifError(
            f"{url} gives HTTP {reply.status}: it {PROBLEMS.get(reply.status, 'failed; try again later')}"
        )
    kind = reply.headers.get("Content-Type", "")
    if kind.partition(";")[0].strip() in ("text/html", "application/xhtml+xml"):
        raise SemifError(
            f"{url} gives a web page, not a file; a proxy or a sign-in page may stand in between"
        )


def _size(target: Path) -> int:
    return target.stat().st_size if target.exists() else 0
