"""An AWS on this machine for the end-to-end tests, as a program of its own and asked over HTTP alone."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_codebuild import CodeBuildClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

REPOSITORY = Path(__file__).parents[2]


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
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        folders = [str(Path(sys.executable).parent), str(REPOSITORY / "node_modules" / ".bin")]
        return inherited | {
            "PATH": os.pathsep.join([*folders, inherited.get("PATH", os.defpath)]),
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
    def codebuild(self) -> "CodeBuildClient":
        return self._session.client("codebuild", endpoint_url=self.endpoint_url)

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

    def log_lines(self, group: str, stream: str) -> list[str]:
        """All lines of a log stream."""
        events = self.logs.get_log_events(logGroupName=group, logStreamName=stream, startFromHead=True)
        return [event["message"] for event in events["events"]]


@contextmanager
def running_local_aws(state: Path, *arguments: str) -> Iterator[LocalAws]:
    """Start a local AWS of its own and stop it again; it ends with this process in any case."""
    command = [sys.executable, "-m", "local_aws", "--state", str(state), "--until-stdin-closes", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the local AWS ended with exit status {process.wait()}"
        yield LocalAws(process=process, state=state, **json.loads(line))
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


@pytest.fixture(scope="session")
def local_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    """The AWS that the tests of a session share: give every bucket, stack and endpoint a name of its own."""
    with running_local_aws(tmp_path_factory.mktemp("local-aws")) as running:
        yield running
