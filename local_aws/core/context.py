"""What every extension needs to know of the local AWS it belongs to."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from local_aws.core.processes import Processes

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client

HOST = "127.0.0.1"
ACCOUNT = "000000000000"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
"""Any credentials are taken; these can belong to no account."""


@dataclass(frozen=True)
class LocalContext:
    """The running local AWS: where it listens, which region it is, where its working files lie."""

    endpoint_url: str
    region: str
    workspace: Path
    """Temporary folder, removed at stop."""
    account: str = ACCOUNT
    processes: Processes = field(default_factory=Processes)

    def arn(self, service: str, resource: str) -> str:
        """The ARN of a resource of this account and region."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"

    def aws_environment(self) -> dict[str, str]:
        """Variables that make a program talk to this AWS and no other, whatever the user has configured."""
        return {
            **CREDENTIALS,
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @cached_property
    def _session(self) -> boto3.Session:
        return boto3.Session(
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            region_name=self.region,
        )

    @cached_property
    def s3(self) -> "S3Client":
        """This AWS's own S3, through its front door."""
        config = Config(connect_timeout=5, read_timeout=60, s3={"addressing_style": "path"})
        return self._session.client("s3", endpoint_url=self.endpoint_url, config=config)

    @cached_property
    def sns(self) -> Any:
        """This AWS's own topics."""
        return self.client("sns")

    def client(self, service: str) -> Any:
        """This AWS's own `service`, under boto3's name for it."""
        config = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 1})
        create: Any = self._session.client  # overloaded on literal names
        return create(service, endpoint_url=self.endpoint_url, config=config)

    @cached_property
    def logs(self) -> "CloudWatchLogsClient":
        """This AWS's own CloudWatch Logs."""
        config = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 1})
        return self._session.client("logs", endpoint_url=self.endpoint_url, config=config)
