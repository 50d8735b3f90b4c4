"""Two environments in two regions, of which one was built; the other is promoted to.

S3, CloudFormation and ECR are moto's; the layers' bytes, which moto does not keep, come from a server here.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from moto import mock_aws

from semif.aws.clients import Aws
from semif.environment.environment import Environment, load_environment
from semif.images.base_images import base_image
from semif.lock.lock_file import Lock, write_lock
from semif.models.packaging.publish import MANIFEST_METADATA
from semif.models.packaging.read_back import CONTENT_METADATA
from semif.models.presets import load_preset
from semif.project.root import project_root
from semif.target.target import Target
from tests.support.servers.image_scans import scan, scanned
from tests.support.servers.running import running

ACCOUNT = "123456789012"
DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
ARCHIVE = b"the archive's bytes" * 1000
SOURCE_SHA256 = "5" * 64


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Layers(ThreadingHTTPServer):
    """Blobs by digest, behind addresses that are secret."""

    daemon_threads = True
    SECRET = "?X-Amz-Signature=secret"

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.served: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    def url(self, digest: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{digest}{self.SECRET}"


class _Handler(BaseHTTPRequestHandler):
    server: Layers

    def do_GET(self) -> None:
        digest = self.path.strip("/").partition("?")[0]
        self.server.served.append(digest)
        body = self.server.blobs.get(digest)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def stack_of(aws: Aws, name: str, ending: str = "") -> None:
    region = aws.region
    bucket, repository_name = f"semif-{name}-{region}-models{ending}", f"semif-{name}{ending}"
    repository = {"Type": "AWS::ECR::Repository", "Properties": {"RepositoryName": repository_name}}
    template = {
        "Resources": {
            "Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": bucket}},
            "Repository": repository,
        },
        "Outputs": {
            "BucketName": {"Value": bucket},
            "RepositoryUri": {"Value": f"{ACCOUNT}.dkr.ecr.{region}.amazonaws.com/{repository_name}"},
        },
    }
    aws.cloudformation.create_stack(StackName=f"Semif-{name}-Artifacts", TemplateBody=json.dumps(template))
    # As the template of ours says; moto takes that from no template.
    aws.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})


def environment(name: str, **changed: Any) -> Environment:
    return load_environment("demo").model_copy(update={"name": name, **changed})


@pytest.fixture
def layers() -> Iterator[Layers]:
    with running(Layers()) as server:
        yield server


@pytest.fixture(scope="module")
def regions() -> tuple[Aws, Aws]:
    """Their clients take a second each to make, and hold nothing."""
    return Aws(region="us-east-1"), Aws(region="eu-central-1")


@pytest.fixture
def chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: Layers, regions: tuple[Aws, Aws]
) -> Iterator[SimpleNamespace]:
    """`source`, where an image and an archive were built, and `target` in another region, with its stack."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here, there = regions
    with mock_aws(), layer_urls(here, layers), scanned(there, scan("COMPLETE"), usually=True):
        targets = [
            Target(project_root(), environment(name), aws, ACCOUNT, tmp_path / f"{name}.lock.json", False, 0)
            for name, aws in (("tried", here), ("live", there))
        ]
        stack_of(here, "tried")
        stack_of(there, "live")
        there.ecr.put_image_tag_mutability(repositoryName="semif-live", imageTagMutability="IMMUTABLE")
        manifest, digest = push_image(here, layers)
        write_lock(targets[0].lock_path, built_lock(here, digest))
        yield SimpleNamespace(source=targets[0], target=targets[1], manifest=manifest, digest=digest)


def push_image(aws: Aws, layers: Layers, large: bytes = b"another layer" * 1000) -> tuple[str, str]:
    """Its manifest, and the digest of that; moto asks for no layers before it takes an image."""
    blobs = [b'{"architecture": "amd64"}', small := b"a layer", large, small]
    layers.blobs |= {f"sha256:{sha256(blob)}": blob for blob in blobs}
    config, *rest = [{"digest": f"sha256:{sha256(blob)}", "size": len(blob)} for blob in blobs]
    # Bytes that no canonical JSON has: they must come through as they are.
    manifest = json.dumps(
        {"schemaVersion": 2, "mediaType": DOCKER, "config": config, "layers": rest}, indent=3
    )
    digest = f"sha256:{sha256(manifest.encode())}"
    aws.ecr.put_image(
        repositoryName="semif-tried",
        imageManifest=manifest,
        imageManifestMediaType=DOCKER,
        imageTag=digest[-8:],
        imageDigest=digest,
    )
    return manifest, digest


@contextmanager
def layer_urls(aws: Aws, layers: Layers) -> Iterator[None]:
    """Answer GetDownloadUrlForLayer, which moto lacks."""

    def answer(params: dict[str, Any], **_: object) -> tuple[SimpleNamespace, dict[str, str]]:
        digest = json.loads(params["body"])["layerDigest"]
        return SimpleNamespace(status_code=200), {"layerDigest": digest, "downloadUrl": layers.url(digest)}

    aws.ecr.meta.events.register("before-call.ecr.GetDownloadUrlForLayer", answer)
    try:
        yield
    finally:
        aws.ecr.meta.events.unregister("before-call.ecr.GetDownloadUrlForLayer", answer)


def built_lock(aws: Aws, digest: str) -> Lock:
    bucket, manifest = "semif-tried-us-east-1-models", load_preset("embedded").manifest().sha256
    key = f"models/{manifest}/model.tar.gz"
    metadata = {CONTENT_METADATA: sha256(ARCHIVE), MANIFEST_METADATA: manifest}
    aws.s3.put_object(Bucket=bucket, Key=key, Body=ARCHIVE, Metadata=metadata)
    records = f"images/{digest.removeprefix('sha256:')}"
    aws.s3.put_object(Bucket=bucket, Key=f"{records}/sbom.cdx.json", Body=b"{}")
    return Lock.model_validate(
        {
            "environment": "tried",
            "kind": "decision",
            "account": ACCOUNT,
            "region": "us-east-1",
            "image": {
                "uri": f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/semif-tried@{digest}",
                "source_sha256": SOURCE_SHA256,
                "base": str(base_image("cpu")),
            },
            "model": {
                "preset": "embedded",
                "manifest_sha256": manifest,
                "archive_sha256": sha256(ARCHIVE),
                "s3_uri": f"s3://{bucket}/{key}",
                "format": "tar.gz",
            },
        }
    )
