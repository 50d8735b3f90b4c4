"""The log of an endpoint's containers in CloudWatch Logs: the lines of all instances, merged by time."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from semif.aws import Aws, aws_errors
from semif.errors import SemifError
from semif.log_group import log_group

if TYPE_CHECKING:
    from mypy_boto3_logs.type_defs import FilterLogEventsRequestTypeDef

SHOWN_LINES = 20
"""How many of a container's last lines are told where it did not start."""

_LATE_MILLISECONDS = 30_000
"""How much later than newer lines of other instances a line may still arrive to be shown by `follow_log`."""
_CLOCKS_MILLISECONDS = 60_000
"""How far this machine's clock and AWS's may be apart."""


@dataclass(frozen=True)
class LogLine:
    """One line of one container."""

    id: str
    milliseconds: int
    """Since 1970, UTC."""
    stream: str
    """VARIANT/INSTANCE."""
    message: str


def read_log(aws: Aws, endpoint: str, *, since: float, pattern: str | None = None) -> Iterator[LogLine]:
    """The lines since `since` (seconds since 1970), oldest first; `pattern` is one of CloudWatch's filters.

    Raises SemifError where there is no log: the group comes with the first line of a container.
    """
    query: FilterLogEventsRequestTypeDef = {
        "logGroupName": log_group(endpoint),
        "startTime": max(0, int(since * 1000)),
        "interleaved": True,  # AWS does so anyway; others must be told
    }
    if pattern is not None:
        query["filterPattern"] = pattern
    while True:
        page = _page(aws, query)
        if page is None:
            raise SemifError(
                f"there is no log {log_group(endpoint)} in {aws.region}; it comes with the first line that a "
                "container prints"
            )
        lines, token = page
        yield from lines
        if token is None:  # pages may be empty before the last one
            return
        query["nextToken"] = token


def follow_log(aws: Aws, endpoint: str, *, since: float, poll_seconds: float) -> Iterator[LogLine]:
    """As `read_log`, and then each line as it comes, without an end. A log that is not there yet may come."""
    began = int(since * 1000)
    newest = began
    seen: dict[str, int] = {}
    while True:
        query: FilterLogEventsRequestTypeDef = {
            "logGroupName": log_group(endpoint),
            "startTime": max(0, began, newest - _LATE_MILLISECONDS),
            "interleaved": True,
        }
        seen = {key: at for key, at in seen.items() if at >= query["startTime"]}
        while (page := _page(aws, query)) is not None:
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
            told = aws.logs.describe_log_streams(logGroupName=group, orderBy="LastEventTime", descending=True)
        except ClientError as error:
            if _is_missing(error):
                return None
            raise
        new = [
            (stream["creationTime"], stream["logStreamName"])
            for stream in told["logStreams"]
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


def _page(aws: Aws, query: "FilterLogEventsRequestTypeDef") -> tuple[list[LogLine], str | None] | None:
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
    ]
    return lines, page.get("nextToken")


def _is_missing(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code") == "ResourceNotFoundException"
