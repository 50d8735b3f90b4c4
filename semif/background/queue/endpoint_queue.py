"""An asynchronous endpoint as submissions see it: where requests go, whether one was taken, what has come."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from semif.aws.aws_time import AwsTime
from semif.aws.clients import Aws, aws_errors
from semif.aws.s3 import S3Uri
from semif.client.errors import AnswerTimeoutError, ThrottledError, UnavailableError, UnreachableError
from semif.client.sending.transport import MEDIA_TYPE
from semif.client.transports.endpoint_transport import endpoint_error
from semif.errors import SemifError
from semif.sagemaker.bucket_folders import FAILURES, REQUESTS
from semif.target.endpoint_state import describe_endpoint

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import DescribeEndpointOutputTypeDef

TTL_SECONDS = 21_600
"""How long SageMaker keeps a request in the queue: its longest, six hours."""
MAX_REPLY_BYTES = 64 * 1024 * 1024
_TAKING = {"InService", "Updating", "SystemUpdating", "RollingBack", "UpdateRollbackFailed"}
"""The statuses in which instances answer (DescribeEndpoint in the SageMaker API reference)."""


@dataclass(frozen=True)
class Accepted:
    """SageMaker has queued a request: the S3 addresses of its answer and of its failure."""

    output: str
    failure: str | None


@dataclass(frozen=True)
class EndpointQueue:
    """The queue of one endpoint, for one job, whose objects have a folder of their own."""

    aws: Aws
    endpoint: str
    job: str
    answers: S3Uri
    failures: S3Uri
    requests: S3Uri
    invocation_timeout_seconds: int
    created: float
    """When the endpoint was made, in seconds since the epoch: of what was sent before, nothing will come."""
    time: AwsTime = field(default_factory=AwsTime)
    """As `created` is counted, and what runs out in the queue."""

    @classmethod
    def find(cls, aws: Aws, endpoint: str, *, job: str, invocation_timeout_seconds: int) -> "EndpointQueue":
        """The queue of the endpoint in service. Raises SemifError where there is none."""
        description = _describe(aws, endpoint)
        output = description.get("AsyncInferenceConfig", {}).get("OutputConfig", {})
        if "S3OutputPath" not in output:
            raise SemifError(
                f"the endpoint {endpoint} is not asynchronous; deploy it with endpoint.mode = 'async'"
            )
        answers = S3Uri.parse(output["S3OutputPath"])
        beside = S3Uri(answers.bucket, answers.key.rpartition("/")[0])
        failures = output.get("S3FailurePath")
        time = AwsTime()
        time.hear(description)
        return cls(
            aws,
            endpoint,
            job,
            answers.child(job),
            (S3Uri.parse(failures) if failures else beside.child(FAILURES)).child(job),
            beside.child(REQUESTS, job),
            invocation_timeout_seconds,
            description["CreationTime"].timestamp(),
            time,
        )

    def check(self) -> None:
        """Raise SemifError where the endpoint is gone, or answers nothing any more."""
        _describe(self.aws, self.endpoint)

    def send(self, name: str, body: bytes) -> Accepted | None:
        """Put a request into the bucket and then into the queue; None where SageMaker takes no more just now.

        `name` (at most 32 characters) is the object's, the answer's and the inference id's. Raises
        `UnknownError` where nobody knows whether it was taken, SemifError where it was not and never will be.
        """
        place = self.requests.child(f"{name}.json")
        with aws_errors():
            self.aws.s3.put_object(Bucket=place.bucket, Key=place.key, Body=body, ContentType=MEDIA_TYPE)
        try:
            reply = self.aws.sagemaker_runtime.invoke_endpoint_async(
                EndpointName=self.endpoint,
                InputLocation=str(place),
                ContentType=MEDIA_TYPE,
                Accept=MEDIA_TYPE,
                InferenceId=name,
                S3OutputPathExtension=self.job,
                Filename=name,
                RequestTTLSeconds=TTL_SECONDS,
                InvocationTimeoutSeconds=self.invocation_timeout_seconds,
            )
        except (BotoCoreError, ClientError) as error:
            problem = endpoint_error(self.endpoint, error)
            match problem:
                case ThrottledError():
                    return None
                case UnavailableError() | UnreachableError() | AnswerTimeoutError():
                    raise UnknownError(str(problem)) from error
                case _:
                    raise problem from error
        return Accepted(reply["OutputLocation"], reply.get("FailureLocation"))

    def arrived(self, folder: S3Uri, *, after: str = "") -> Iterator[str]:
        """The addresses of what lies in a folder, in their order, from the name `after` on."""
        start = f"{folder.key}/{after}"
        pages = self.aws.s3.get_paginator("list_objects_v2")
        with aws_errors():
            try:
                for page in pages.paginate(Bucket=folder.bucket, Prefix=f"{folder.key}/", StartAfter=start):
                    self.time.hear(page)
                    for item in page.get("Contents", []):
                        yield f"s3://{folder.bucket}/{item['Key']}"
            except self.aws.s3.exceptions.NoSuchBucket:
                if folder.bucket == self.answers.bucket:
                    raise
                # The bucket of an endpoint that was destroyed, before this one was made: nothing has come.

    def fetch(self, uri: str) -> bytes:
        """What lies at an address; cut off where it is longer than any answer."""
        place = S3Uri.parse(uri)
        with aws_errors():
            reply = self.aws.s3.get_object(Bucket=place.bucket, Key=place.key)
            return reply["Body"].read(MAX_REPLY_BYTES)


def _describe(aws: Aws, endpoint: str) -> "DescribeEndpointOutputTypeDef":
    """Raises SemifError where there is no endpoint that answers."""
    description = describe_endpoint(aws, endpoint)
    if description is None:
        raise SemifError(f"there is no endpoint {endpoint}; deploy it first")
    if description["EndpointStatus"] not in _TAKING:
        raise SemifError(f"the endpoint {endpoint} is {description['EndpointStatus']}, and answers nothing")
    return description


class UnknownError(Exception):
    """The connection broke, or SageMaker failed, while a request was sent: it may have been taken, or not."""
