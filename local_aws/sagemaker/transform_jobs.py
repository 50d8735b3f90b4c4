"""Batch Transform: a job starts a container, sends it the lines of files, and writes the replies in order.

As SageMaker's developer guide has it ("Batch transform"): an object's output is written once all its lines
are answered, in `<key>.out`, and any refused line makes the job fail. Objects are split by lines, one a
request, and the replies are put together with line feeds; other ways are refused.
"""

import http.client
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from local_aws.core.api import ApiError, Operation, Params
from local_aws.core.context import LocalContext
from local_aws.core.logs import LogStream
from local_aws.core.s3_address import bucket_and_key
from local_aws.sagemaker.hosts.errors import HostingError
from local_aws.sagemaker.hosts.host import ModelHost
from local_aws.sagemaker.records import SageMakerRecords, refused

LOG_GROUP = "/aws/sagemaker/TransformJobs"
ONLY_LINES = {"BatchStrategy": "SingleRecord", "SplitType": "Line", "AssembleWith": "Line"}
"""What is done here; CreateTransformJob has other ways."""
DEFAULT_PAYLOAD_MB, DEFAULT_TIMEOUT_SECONDS, DEFAULT_RETRIES = 6, 600, 3
MAX_TOGETHER_MB = 100
MB = 1_048_576
RETRY_SECONDS = 0.2


class _LineFailedError(Exception):
    """A line got no answer. The message is for the job's data log, `blame` says whose fault it was."""

    def __init__(self, blame: str, message: str) -> None:
        super().__init__(message)
        self.blame = blame


class _StoppedError(Exception):
    """StopTransformJob came."""


@dataclass(eq=False)
class LocalTransformJob:
    """A transform job as it was asked for, and how it is doing."""

    params: Params
    arn: str
    status: str = "InProgress"
    reason: str | None = None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    started: datetime | None = None
    ended: datetime | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def name(self) -> str:
        """Its name, which no later job can have."""
        return str(self.params["TransformJobName"])

    def summary(self) -> Params:
        """What ListTransformJobs tells."""
        known = {
            "TransformJobName": self.name,
            "TransformJobArn": self.arn,
            "CreationTime": self.created,
            "TransformJobStatus": self.status,
            "TransformEndTime": self.ended,
            "FailureReason": self.reason,
        }
        return {key: value for key, value in known.items() if value is not None}

    def end(self, status: str, reason: str | None = None) -> None:
        """It is over."""
        self.ended, self.reason = datetime.now(UTC), reason
        self.status = status


class TransformJobs:
    """The operations on transform jobs, under botocore's names and shapes."""

    def __init__(self, context: LocalContext, records: SageMakerRecords) -> None:
        self._context = context
        self._records = records
        self._jobs: dict[str, LocalTransformJob] = {}
        self._lock = threading.Lock()

    def operations(self) -> dict[str, Operation]:
        """Every operation on transform jobs that is served here instead of in moto."""
        return {
            "CreateTransformJob": self.create,
            "DescribeTransformJob": self.describe,
            "ListTransformJobs": self.list,
            "StopTransformJob": self.stop,
        }

    def create(self, params: Params) -> Params:
        """Start a job; raises ApiError for a used name, an unknown Model, and what is not done here."""
        settings = {**params, **params["TransformInput"], **params["TransformOutput"]}
        for key, value in ONLY_LINES.items():
            if settings.get(key) != value:
                raise refused(f"the local AWS transforms with {key} {value} alone, got {settings.get(key)}")
        if settings["DataSource"]["S3DataSource"]["S3DataType"] != "S3Prefix":
            raise refused("the local AWS transforms what lies under an S3Prefix alone")
        together = _at_once(params) * params.get("MaxPayloadInMB", DEFAULT_PAYLOAD_MB)
        if together > MAX_TOGETHER_MB:
            raise refused(f"MaxConcurrentTransforms * MaxPayloadInMB is {together}, over {MAX_TOGETHER_MB}")
        container = self._records.container(params["ModelName"])
        if container.get("ModelDataSource"):
            raise refused("SageMaker Batch currently doesn't support a Model that uses ModelDataSource")
        name = params["TransformJobName"]
        with self._lock:
            if name in self._jobs:
                raise ApiError("ResourceInUse", f"Job name must be unique, {name} was used before.")
            job = LocalTransformJob(params, self._context.arn("sagemaker", f"transform-job/{name}"))
            self._jobs[name] = job
        threading.Thread(target=_JobRun(self._context, job, container).run, daemon=True).start()
        return {"TransformJobArn": job.arn}

    def describe(self, params: Params) -> Params:
        """All of a job."""
        job = self._find(params["TransformJobName"])
        asked = {key: value for key, value in job.params.items() if key != "Tags"}
        reply = asked | job.summary()
        return reply if job.started is None else reply | {"TransformStartTime": job.started}

    def stop(self, params: Params) -> Params:
        """Let a job end soon, as Stopped; does nothing where it is over."""
        job = self._find(params["TransformJobName"])
        if job.status == "InProgress":
            job.status = "Stopping"
            job.stopping.set()
        return {}

    def list(self, params: Params) -> Params:
        """Jobs whose name contains a text, newest first unless asked otherwise, on pages."""
        jobs = [
            job
            for job in self._jobs.values()
            if params.get("NameContains", "") in job.name
            and params.get("StatusEquals", job.status) == job.status
        ]
        jobs.sort(key=lambda job: job.created, reverse=params.get("SortOrder") != "Ascending")
        begin = int(params.get("NextToken", 0))
        end = begin + params.get("MaxResults", 10)
        reply: Params = {"TransformJobSummaries": [job.summary() for job in jobs[begin:end]]}
        return reply | ({"NextToken": str(end)} if end < len(jobs) else {})

    def _find(self, name: str) -> LocalTransformJob:
        if name not in self._jobs:
            raise ApiError("ResourceNotFound", f"Could not find requested job with name: {name}.")
        return self._jobs[name]


class _JobRun:
    """One job at work, on a thread of its own."""

    def __init__(self, context: LocalContext, job: LocalTransformJob, container: dict[str, Any]) -> None:
        self._context, self._job, self._params = context, job, job.params
        instance = f"i-{secrets.token_hex(9)[:17]}-{int(time.time())}"
        self._data_log = LogStream(context.logs, LOG_GROUP, f"{job.name}/{instance}/data-log")
        variables = {
            **container.get("Environment", {}),
            **self._params.get("Environment", {}),
            "SAGEMAKER_BATCH": "true",
            "SAGEMAKER_BATCH_STRATEGY": "SINGLE_RECORD",
            "SAGEMAKER_MAX_CONCURRENT_TRANSFORMS": str(_at_once(self._params)),
            "SAGEMAKER_MAX_PAYLOAD_IN_MB": str(self._params.get("MaxPayloadInMB", DEFAULT_PAYLOAD_MB)),
        }
        self._host = ModelHost(
            context,
            job.name,
            {},
            {**container, "Environment": variables},
            log=(LOG_GROUP, f"{job.name}/{instance}"),
        )
        client = self._params.get("ModelClientConfig", {})
        self._seconds = client.get("InvocationsTimeoutInSeconds", DEFAULT_TIMEOUT_SECONDS)
        self._retries = client.get("InvocationsMaxRetries", DEFAULT_RETRIES)

    def run(self) -> None:
        try:
            self._host.start()
            self._job.started = datetime.now(UTC)
            blames = self._transform_all()
            if blames:
                self._job.end("Failed", f"{blames[0]}: See job logs for more information")
            else:
                self._job.end("Completed")
        except _StoppedError:
            self._job.end("Stopped")
        except HostingError as error:
            self._job.end("Failed", f"AlgorithmError: {error}")
        except Exception as error:  # noqa: BLE001 - the job must end, whatever happened
            self._job.end("Failed", f"InternalServerError: {type(error).__name__}: {error}")
        finally:
            self._host.stop()
            self._data_log.close()

    def _transform_all(self) -> list[str]:
        """Transform every object; returns whose fault it was where one has no output."""
        bucket, prefix = bucket_and_key(self._params["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"])
        pages = self._context.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
        if not keys:
            self._data_log.write(f"{bucket}/{prefix}: ClientError: there is nothing to transform")
            return ["ClientError"]
        blames = []
        for key in keys:
            try:
                self._transform(bucket, key, key.removeprefix(prefix).lstrip("/"))
            except _LineFailedError as error:
                self._data_log.write(f"{bucket}/{key}: {error}")
                blames.append(error.blame)
        return blames

    def _transform(self, bucket: str, key: str, name: str) -> None:
        content = self._context.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        lines = _lines(content, self._params.get("MaxPayloadInMB", DEFAULT_PAYLOAD_MB))
        with ThreadPoolExecutor(_at_once(self._params)) as senders:
            replies = list(senders.map(self._send, lines))
        to_bucket, folder = bucket_and_key(self._params["TransformOutput"]["S3OutputPath"])
        target = "/".join(
            part for part in (folder.rstrip("/"), f"{name or key.rpartition('/')[2]}.out") if part
        )
        self._context.s3.put_object(
            Bucket=to_bucket, Key=target, Body=b"".join(reply + b"\n" for reply in replies)
        )

    def _send(self, line: bytes) -> bytes:
        """The reply to one line, which is sent again where it got none."""
        headers = {"Content-Type": self._params["TransformInput"].get("ContentType", "")}
        if accept := self._params["TransformOutput"].get("Accept"):
            headers["Accept"] = accept
        for attempt in range(1 + self._retries):
            if self._job.stopping.wait(RETRY_SECONDS if attempt else 0):
                raise _StoppedError
            try:
                stream = self._host.invoke_streaming(line, headers, seconds=self._seconds)
                reply = b"".join(stream.blocks)
            except (OSError, http.client.HTTPException) as error:
                failure = _LineFailedError("AlgorithmError", f"no whole answer from the container: {error}")
                continue
            if 200 <= stream.status < 300:
                return reply
            blame = "ClientError" if stream.status < 500 else "AlgorithmError"
            failure = _LineFailedError(blame, f"{blame}: {stream.status}: {reply.decode(errors='replace')}")
            if stream.status < 500:
                break
        raise failure


def _lines(content: bytes, payload_mb: int) -> list[bytes]:
    lines = content.removesuffix(b"\n").split(b"\n")
    longest = max(map(len, lines))
    if longest > payload_mb * MB:
        raise _LineFailedError(
            "ClientError", f"a record of {longest} bytes exceeds MaxPayloadInMB = {payload_mb}"
        )
    return lines


def _at_once(params: Params) -> int:
    return int(params.get("MaxConcurrentTransforms") or 1)
