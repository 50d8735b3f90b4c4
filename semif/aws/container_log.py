"""The log of containers in CloudWatch Logs: the lines of all instances, merged by time."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from semif.aws.clients import Aws, aws_errors
from semif.errors import SemifError
from semif.sagemaker.log_groups import TRANSFORM_LOG_GROUP, log_group

if TYPE_CHECKING:
    from mypy_boto3_logs.type_defs import FilterLogEventsRequestTypeDef, LogStreamTypeDef

SHOWN_LINES = 20
"""How many of a container's last lines are told where it did not start."""
_SHOWN_STREAMS = 4
"""Of how many streams of a failed job: those of some instances, and the data logs, which say what failed."""

_LATE_MILLISECONDS = 30_000
"""How much later than newer lines of other instances a line may still arrive to be shown by `follow_log`."""
_CLOCKS_MILLISECONDS = 60_000
"""How far this machine's clock and AWS's may be apart."""


@dataclass(frozen=True)
class ContainerLog:
    """Where the lines of some containers are: in a group, in all its streams or in some."""

    group: str
    prefix: str = ""
    """What the names of its streams begin with; CloudWatch looks for nothing else."""
    streams: re.Pattern[str] | None = None
    """What the names of its streams look like; None: any."""

    @classmethod
    def of_endpoint(cls, name: str) -> "ContainerLog":
        """An endpoint's, whose group holds nothing else."""
        return cls(log_group(name))

    @classmethod
    def of_jobs(cls, prefix: str, names: re.Pattern[str]) -> "ContainerLog":
        """That of the transform jobs of these names, which begin with `prefix`."""
        return cls(TRANSFORM_LOG_GROUP, prefix, re.compile(f"{names.pattern}/.*"))

    def query(self, since_milliseconds: int) -> "FilterLogEventsRequestTypeDef":
        """A question for its lines."""
        query: FilterLogEventsRequestTypeDef = {
            "logGroupName": self.group,
            "startTime": max(0, since_milliseconds),
            "interleaved": True,  # AWS does so anyway; others must be told
        }
        return {**query, "logStreamNamePrefix": self.prefix} if self.prefix else query

    def holds(self, stream: str) -> bool:
        """Whether a stream is one of its streams."""
        return self.streams is None or self.streams.fullmatch(stream) is not None


@dataclass(frozen=True)
class LogLine:
    """One line of one container."""

    id: str
    milliseconds: int
    """Since 1970, UTC."""
    stream: str
    """VARIANT/INSTANCE of an endpoint, JOB/INSTANCE-TIME of a transform job."""
    message: str


def read_log(aws: Aws, log: ContainerLog, *, since: float, pattern: str | None = None) -> Iterator[LogLine]:
    """The lines since `since` (seconds since 1970), oldest first; `pattern` is one of CloudWatch's filters.

    Raises SemifError where there is no log: the group comes with the first line of a container.
    """
    query = log.query(int(since * 1000))
    if pattern is not None:
        query["filterPattern"] = pattern
    while True:
        page = _page(aws, log, query)
        if page is None:
            raise SemifError(
                f"there is no log {log.group} in {aws.region}; it comes with the first line that a "
                "container prints"
            )
        lines, token = page
        yield from lines
        if token is None:  # pages may be empty before the last one
            return
        query["nextToken"] = token


def follow_log(aws: Aws, log: ContainerLog, *, since: float, poll_seconds: float) -> Iterator[LogLine]:
    """As `read_log`, and then each line as it comes, without an end. A log that is not there yet may come."""
    began = int(since * 1000)
    newest = began
    seen: dict[str, int] = {}
    while True:
        query = log.query(max(began, newest - _LATE_MILLISECONDS))
        seen = {key: at for key, at in seen.items() if at >= query["startTime"]}
        while (page := _page(aws, log, query)) is not None:
            lines, token = page
            for line in lines:
                if line.id not in seen:
                    seen[line.id] = line.milliseconds
                    newest = max(newest, line.milliseconds)
                    yield line
            if token is None:
                break
            query["nextToken"] = token
        time.sleep(poll_seconds)


def newest_container(aws: Aws, endpoint: str, *, since: float) -> tuple[str, list[str]] | None:
    """Stream and last lines of the newest container that came up since `since` (seconds since 1970).

    None where none printed anything. What was in service before keeps printing to the same log, so only
    streams that are new count.
    """
    group = log_group(endpoint)
    earliest = int(since * 1000) - _CLOCKS_MILLISECONDS
    with aws_errors():
        try:
            described = aws.logs.describe_log_streams(
                logGroupName=group, orderBy="LastEventTime", descending=True
            )
        except ClientError as error:
            if _is_missing(error):
                return None
            raise
        new = [
            (stream["creationTime"], stream["logStreamName"])
            for stream in described["logStreams"]
            # Async endpoints have a stream beside the container's for what SageMaker did with each request.
            if stream["creationTime"] >= earliest and not stream["logStreamName"].endswith("/data-log")
        ]
        if not new:
            return None
        _, name = max(new)
        page = aws.logs.get_log_events(
            logGroupName=group, logStreamName=name, limit=SHOWN_LINES, startFromHead=False
        )
    lines = [event.get("message", "").rstrip() for event in page["events"]]
    return (name, lines) if lines else None


def job_lines(aws: Aws, job: str) -> list[str]:
    """The last lines of a transform job: of its containers, and what SageMaker did with its files."""
    with aws_errors():
        try:
            described = aws.logs.describe_log_streams(
                logGroupName=TRANSFORM_LOG_GROUP, logStreamNamePrefix=f"{job}/"
            )
        except ClientError as error:
            if _is_missing(error):
                return []
            raise
        pages = [
            aws.logs.get_log_events(
                logGroupName=TRANSFORM_LOG_GROUP,
                logStreamName=stream["logStreamName"],
                limit=SHOWN_LINES,
                startFromHead=False,
            )
            for stream in sorted(described["logStreams"], key=_is_data_log)[-_SHOWN_STREAMS:]
        ]
    lines = [event.get("message", "").rstrip() for page in pages for event in page["events"]]
    return [line for line in lines if not line.startswith('{"_aws"')][-SHOWN_LINES:]


def _is_data_log(stream: "LogStreamTypeDef") -> bool:
    return stream["logStreamName"].endswith("/data-log")


def _page(
    aws: Aws, log: ContainerLog, query: "FilterLogEventsRequestTypeDef"
) -> tuple[list[LogLine], str | None] | None:
    """One page of lines and the token of the next; None where there is no such log."""
    with aws_errors():
        try:
            page = aws.logs.filter_log_events(**query)
        except ClientError as error:
            if _is_missing(error):
                return None
            raise
    lines = [
        LogLine(
            event.get("eventId", ""),
            event.get("timestamp", 0),
            event.get("logStreamName", ""),
            event.get("message", "").rstrip("\n"),
        )
        for event in page["events"]
        if log.holds(event.get("logStreamName", ""))
    ]
    return lines, page.get("nextToken")


def _is_missing(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code") == "ResourceNotFoundException"
