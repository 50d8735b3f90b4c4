"""An AWS on this machine for the end-to-end tests, as a program of its own and asked over HTTP alone."""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from bench.models.tiny_models import write_tiny_gguf

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_codebuild import CodeBuildClient
    from mypy_boto3_ecr import ECRClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient
    from mypy_boto3_ssm import SSMClient

REPOSITORY = Path(__file__).parents[3]
MODEL_BUCKET = "hosted-models"
MODEL_ARCHIVE = "sound/model.tar.gz"

CONTAINER = '''
"""Stands in for the adapter: answers a request with the reply that the request asks for."""
import http.server, json, os, sys, time
print("container: model files", sorted(os.listdir(os.environ["SEMIF_MODEL_DIR"])), flush=True)
if os.environ.get("REFUSE"):
    print("trying", file=sys.stderr)
    print("container: cannot start: " + os.environ["REFUSE"], file=sys.stderr, flush=True)
    os._exit(1)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        waits_for = os.environ.get("READY_WITH")
        not_yet = os.environ.get("NEVER_READY") or (waits_for and not os.path.exists(waits_for))
        self.reply(503 if not_yet else 200, b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sys.stdout.write("container: request\\n")  # whole, unlike print: requests come side by side
        sys.stdout.flush()
        if self.headers["Content-Type"] != "application/json":
            return self.reply(200, body, self.headers["Content-Type"])
        asked = json.loads(body)
        if asked.get("exit"):
            os._exit(3)
        if asked.get("chunked"):
            return self.reply_chunked(json.dumps(asked["body"]).encode())
        self.reply(asked["status"], json.dumps(asked["body"]).encode())

    def reply_chunked(self, body):
        self.protocol_version = "HTTP/1.1"
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(body), body))

    def reply(self, status, body, content_type="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

address = os.environ["SEMIF_HOST"], int(os.environ["SEMIF_PORT"])
http.server.ThreadingHTTPServer(address, Handler).serve_forever()
'''


@dataclass(frozen=True)
class LocalAws:
    """A running `python -m local_aws`: where it is, the variables that lead programs to it, and clients."""

    process: subprocess.Popen[str]
    state: Path
    endpoint_url: str
    account: str
    region: str

    @property
    def environment(self) -> dict[str, str]:
        """A whole environment for a program that shall reach this AWS and no other."""
        inherited = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return inherited | {
            "HOME": str(self.state),
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
        }

    @cached_property
    def _session(self) -> boto3.Session:
        return boto3.Session(
            aws_access_key_id="local", aws_secret_access_key="local", region_name=self.region
        )

    @cached_property
    def cloudformation(self) -> "CloudFormationClient":
        return self._session.client("cloudformation", endpoint_url=self.endpoint_url)

    @cached_property
    def cloudwatch(self) -> "CloudWatchClient":
        return self._session.client("cloudwatch", endpoint_url=self.endpoint_url)

    @cached_property
    def codebuild(self) -> "CodeBuildClient":
        return self._session.client("codebuild", endpoint_url=self.endpoint_url)

    @cached_property
    def ecr(self) -> "ECRClient":
        return self._session.client("ecr", endpoint_url=self.endpoint_url)

    @cached_property
    def logs(self) -> "CloudWatchLogsClient":
        return self._session.client("logs", endpoint_url=self.endpoint_url)

    @cached_property
    def s3(self) -> "S3Client":
        return self._session.client("s3", endpoint_url=self.endpoint_url)

    @cached_property
    def sagemaker(self) -> "SageMakerClient":
        return self._session.client("sagemaker", endpoint_url=self.endpoint_url)

    @cached_property
    def sagemaker_runtime(self) -> "SageMakerRuntimeClient":
        return self._session.client("sagemaker-runtime", endpoint_url=self.endpoint_url)

    @cached_property
    def ssm(self) -> "SSMClient":
        return self._session.client("ssm", endpoint_url=self.endpoint_url)

    def log_lines(self, group: str, stream: str) -> list[str]:
        """All lines of a log stream, page by page."""
        lines: list[str] = []
        token: dict[str, str] = {}
        while True:
            found = self.logs.get_log_events(
                logGroupName=group, logStreamName=stream, startFromHead=True, **token
            )
            lines += [event["message"] for event in found["events"]]
            if not found["events"] or token.get("nextToken") == found["nextForwardToken"]:
                return lines
            token = {"nextToken": found["nextForwardToken"]}


def start_local_aws(state: Path, *arguments: str) -> LocalAws:
    """Start a local AWS, which ends with this process in any case: its input is a pipe from here."""
    command = [sys.executable, "-m", "local_aws", "--state", str(state), "--until-stdin-closes", *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"the local AWS ended with exit status {process.wait()}"
    return LocalAws(process=process, state=state, **json.loads(line))


@pytest.fixture(scope="session")
def local_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    """The AWS that the tests of a session share: give every bucket, stack and endpoint a name of its own."""
    running = start_local_aws(tmp_path_factory.mktemp("local-aws"))
    with running.process:
        yield running
        assert running.process.stdin is not None
        running.process.stdin.close()
        assert running.process.wait(timeout=30) == 0


def put_container(aws: LocalAws, folder: Path) -> Path:
    """Write CONTAINER into `folder`, upload MODEL_ARCHIVE for it, return the folder.

    On PYTHONPATH the folder makes any Python start CONTAINER instead of what it was told: an installed
    package cannot be shadowed from there, but Python runs `sitecustomize` before everything else.
    """
    aws.s3.create_bucket(Bucket=MODEL_BUCKET)
    put_archive(aws, MODEL_ARCHIVE, "model.gguf")
    (folder / "sitecustomize.py").write_text(CONTAINER)
    return folder


def put_archive(aws: LocalAws, key: str, file: str) -> None:
    """Upload an archive of one file of four bytes into MODEL_BUCKET."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as packed:
        member = tarfile.TarInfo(file)
        member.size = 4
        packed.addfile(member, io.BytesIO(b"GGUF"))
    aws.s3.put_object(Bucket=MODEL_BUCKET, Key=key, Body=archive.getvalue())


def put_tiny_model(aws: LocalAws, bucket: str, key: str, *, spoiled: str | None = None) -> str:
    """Upload an archive of a tiny model, which the adapter runs in milliseconds; its address.

    Every prompt that holds the character `spoiled` has NaN logits.
    """
    archive = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=archive, mode="w:gz") as packed:
        gguf = Path(folder) / "tiny.gguf"
        write_tiny_gguf(gguf, spoiled=spoiled)
        packed.add(gguf, gguf.name)
    aws.s3.put_object(Bucket=bucket, Key=key, Body=archive.getvalue())
    return f"s3://{bucket}/{key}"


@pytest.fixture(scope="session")
def container(tmp_path_factory: pytest.TempPathFactory, local_aws: LocalAws) -> Path:
    """The folder of `put_container` for the shared AWS."""
    return put_container(local_aws, tmp_path_factory.mktemp("container"))
