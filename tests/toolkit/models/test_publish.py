"""Archives in S3: under their manifest's hash, never overwritten, proven by their own SHA-256."""

import hashlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from semif.aws.clients import Aws
from semif.aws.s3 import S3Uri
from semif.errors import SemifError
from semif.models.packaging.build import build_model, find_model
from semif.models.packaging.hashed_file import HashedFile
from semif.models.packaging.publish import find_published, publish
from semif.models.packaging.read_back import TRANSFER
from semif.models.presets import ModelFormat
from tests.support.models.small_models import files_below, preset_of
from tests.support.models.stopping import ReadBacks, StoppedError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Make = Callable[..., Path]
MANIFEST = "a" * 64
URI = S3Uri("models", f"m/{MANIFEST}/model.tar.gz")


def archive_of(path: Path, data: bytes) -> HashedFile:
    path.write_bytes(data)
    return HashedFile(path, len(data), hashlib.sha256(data).hexdigest())


def versions(s3: "S3Client", key: str = "") -> int:
    return len(s3.list_object_versions(Bucket="models", Prefix=key).get("Versions", []))


def operations(client: "S3Client") -> list[str]:
    """The names of the operations that `client` performs from now on."""
    seen: list[str] = []
    client.meta.events.register("before-call.s3", lambda model, **_: seen.append(model.name))
    return seen


def test_a_model_is_built_into_s3_once(
    s3: "S3Client", sound_gguf: Path, own_cache: Path, tmp_path: Path
) -> None:
    gguf = sound_gguf
    preset = preset_of(gguf)
    first = build_model(preset, "s3://models/some/prefix/")
    key = f"some/prefix/{preset.manifest().sha256}/model.tar.gz"
    assert str(first.place) == f"s3://models/{key}"
    body = s3.get_object(Bucket="models", Key=key)["Body"].read()
    assert (hashlib.sha256(body).hexdigest(), len(body)) == (first.archive_sha256, first.archive_bytes)
    assert build_model(preset, str(tmp_path / "out")).archive_sha256 == first.archive_sha256
    assert files_below(own_cache) == []

    gguf.unlink()  # what is in S3 needs no source
    again = build_model(preset, "s3://models/some/prefix")
    assert again.reused
    assert again.as_json() == first.as_json()
    assert versions(s3, key) == 1
    assert versions(s3) == 2, "and the mark of its read-back"


def test_a_wrong_model_reaches_neither_disk_nor_s3(s3: "S3Client", small_gguf: Make, own_cache: Path) -> None:
    with pytest.raises(SemifError, match="SHA-256"):
        build_model(preset_of(small_gguf(), sha256="0" * 64), "s3://models")
    assert versions(s3) == 0
    assert files_below(own_cache) == []


def test_many_parts_are_verified_by_the_files_own_hash(s3: "S3Client", tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "big", bytes(TRANSFER.multipart_threshold + 5))
    seen = operations(s3)
    published = publish(s3, archive, URI, MANIFEST)
    assert published.sha256 == archive.sha256
    assert s3.head_object(Bucket="models", Key=URI.key)["ETag"].endswith('-2"')
    managed = {
        "HeadObject",
        "HeadBucket",
        "CreateMultipartUpload",
        "UploadPart",
        "CompleteMultipartUpload",
        "GetObject",
        "PutObject",
    }
    assert set(seen) == managed
    assert seen.count("UploadPart") == 2
    assert seen.count("PutObject") == 1, "the mark of what was read back"
    seen.clear()
    assert publish(s3, archive, URI, MANIFEST) == find_published(s3, URI, MANIFEST) == published
    assert set(seen) == {"HeadObject"}
    assert versions(s3, URI.key) == 1


def test_other_bytes_never_replace_published_ones(s3: "S3Client", tmp_path: Path) -> None:
    first = archive_of(tmp_path / "first", b"first")
    publish(s3, first, URI, MANIFEST)
    other = archive_of(tmp_path / "other", b"other")
    with pytest.raises(SemifError) as e:
        publish(s3, other, URI, MANIFEST)
    assert first.sha256 in str(e.value)
    assert other.sha256 in str(e.value)
    assert s3.get_object(Bucket="models", Key=URI.key)["Body"].read() == b"first"


def test_a_foreign_object_is_not_taken_for_the_archive(s3: "S3Client") -> None:
    assert find_published(s3, URI, MANIFEST) is None
    s3.put_object(Bucket="models", Key=URI.key, Body=b"whose?")
    with pytest.raises(SemifError, match="was not published for manifest"):
        find_published(s3, URI, MANIFEST)


def test_one_spoiled_byte_is_found_and_removed(s3: "S3Client", tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "archive", b"archive")

    def spoil(step: str, done: int, total: int) -> None:
        if step == "upload" and done == total:
            spoiled.append(step)

    spoiled: list[str] = []

    def replace(**_: Any) -> None:
        if spoiled:
            s3.meta.events.unregister("before-call.s3.HeadObject", replace)
            metadata = {"semif-sha256": archive.sha256, "semif-manifest-sha256": MANIFEST}
            s3.put_object(Bucket="models", Key=URI.key, Body=b"archivE", Metadata=metadata)

    s3.meta.events.register("before-call.s3.HeadObject", replace)
    with pytest.raises(SemifError, match=r"came back as 7 bytes with SHA-256 .* deleted again"):
        publish(s3, archive, URI, MANIFEST, spoil)
    assert s3.get_object(Bucket="models", Key=URI.key)["Body"].read() == b"archive"


@pytest.fixture(params=["Enabled", "Suspended"])
def versioned_or_not(request: pytest.FixtureRequest, s3: "S3Client") -> None:
    s3.put_bucket_versioning(Bucket="models", VersioningConfiguration={"Status": request.param})


@pytest.mark.usefixtures("versioned_or_not")
@pytest.mark.parametrize(
    ("model_format", "files", "read"), [("tar.gz", 1, 0), ("prefix", 2, 0), ("prefix", 2, 1)]
)
def test_what_was_never_read_back_is_no_model_until_it_is(
    s3: "S3Client", sound_gguf: Path, own_cache: Path, model_format: ModelFormat, files: int, read: int
) -> None:
    preset, models = preset_of(sound_gguf), S3Uri("models", "")
    with pytest.raises(StoppedError):
        build_model(preset, "s3://models", ReadBacks(stop_after=read), model_format=model_format)
    assert find_model(s3, preset, models, model_format) is None
    if all_there := versions(s3) == files + read:  # those that were read back are marked
        sound_gguf.unlink()  # it is read back from where it is
    done = ReadBacks()
    built = build_model(preset, "s3://models", done, model_format=model_format)
    assert built.reused == all_there
    assert done.files == files - read, "what was read back before is not read again"
    found = find_model(s3, preset, models, model_format)
    assert found is not None
    assert found.as_json() == built.as_json()


@pytest.mark.usefixtures("versioned_or_not")
def test_other_bytes_than_were_read_back_do_not_count_for_them(s3: "S3Client", tmp_path: Path) -> None:
    """What the mark was made for was deleted, and an upload in its place broke off."""
    archive = archive_of(tmp_path / "archive", b"archive")
    publish(s3, archive, URI, MANIFEST)
    metadata = s3.head_object(Bucket="models", Key=URI.key)["Metadata"]
    s3.delete_object(Bucket="models", Key=URI.key)
    s3.put_object(Bucket="models", Key=URI.key, Body=b"archivE", Metadata=metadata)
    with pytest.raises(SemifError, match=r"came back as 7 bytes with SHA-256 .* deleted again"):
        publish(s3, archive, URI, MANIFEST)
    assert find_published(s3, URI, MANIFEST) is None
    assert publish(s3, archive, URI, MANIFEST) == find_published(s3, URI, MANIFEST)


def test_what_may_not_be_deleted_again_is_named(s3: "S3Client", tmp_path: Path) -> None:
    """As on AWS, where a build may erase nothing."""
    archive = archive_of(tmp_path / "archive", b"archive")

    def replace(**_: Any) -> None:
        s3.meta.events.unregister("before-call.s3.GetObject", replace)
        s3.put_object(Bucket="models", Key=URI.key, Body=b"archivE")

    def deny(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "DeleteObject")

    s3.put_bucket_versioning(Bucket="models", VersioningConfiguration={"Status": "Suspended"})
    s3.meta.events.register("before-call.s3.GetObject", replace)
    s3.meta.events.register("before-call.s3.DeleteObject", deny)
    with pytest.raises(SemifError, match=r"it could not be deleted again \(.*\): delete it"):
        publish(s3, archive, URI, MANIFEST)


def test_an_absent_bucket_and_a_wrong_place_are_told(s3: "S3Client", tiny_gguf: Make) -> None:
    with pytest.raises(SemifError, match="allowed is s3://bucket"):
        build_model(preset_of(tiny_gguf()), "s3://Not_A_Bucket/x")
    with pytest.raises(SemifError, match=r"the bucket of s3://absent-bucket/.* does not exist"):
        build_model(preset_of(tiny_gguf()), "s3://absent-bucket")


class Strict(BaseHTTPRequestHandler):
    """A store that speaks S3 without its newer checksums."""

    protocol_version = "HTTP/1.1"
    stored: dict[str, tuple[bytes, dict[str, str]]]

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        odd = [name for name in self.headers if "checksum" in name.lower() or name.lower() == "x-amz-trailer"]
        if odd or "aws-chunked" in self.headers.get("Content-Encoding", ""):
            self.answer(501)
            return
        metadata = {
            name: value for name, value in self.headers.items() if name.lower().startswith("x-amz-meta-")
        }
        self.stored[self.path] = (body, metadata)
        self.answer(200, headers={"ETag": '"no-digest"'})

    def do_GET(self) -> None:
        body, metadata = self.stored.get(self.path.partition("?")[0], (None, {}))
        if body is None:
            self.answer(404)
        else:
            self.answer(200, body, {**metadata, "ETag": '"no-digest"'})

    do_HEAD = do_GET  # noqa: N815 - http.server's name

    def log_message(self, *_: object) -> None:
        pass


def test_a_store_without_newer_checksums_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    handler = type("Handler", (Strict,), {"stored": {"/models": (b"", {})}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        aws = Aws.from_profile(region="us-east-1")
        archive = archive_of(tmp_path / "archive", b"archive")
        assert publish(aws.s3, archive, URI, MANIFEST).sha256 == archive.sha256
        assert find_published(aws.s3, URI, MANIFEST) is not None
        aws.s3.close()
        server.shutdown()
        thread.join()
