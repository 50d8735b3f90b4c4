"""Running CodeBuild projects: start, follow, and read what the builds export."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from semif.aws.clients import Aws, aws_errors
from semif.errors import SemifError

if TYPE_CHECKING:
    from mypy_boto3_codebuild.type_defs import BuildTypeDef
    from mypy_boto3_logs.type_defs import GetLogEventsRequestTypeDef

IN_PROGRESS = "IN_PROGRESS"
SUCCEEDED = "SUCCEEDED"

SHOWN_LINES = 12
"""How many of a build's last log lines are kept for display and for its error."""


@dataclass
class StartedBuild:
    """One started build; `follow` keeps it up to date.

    `name` is Semif's own ("image", "model"); `reason_code` and `reason` are what CodeBuild says about the
    phase that failed.
    """

    name: str
    project: str
    id: str
    phase: str = "SUBMITTED"
    status: str = IN_PROGRESS
    reason_code: str = ""
    reason: str = ""
    exported: dict[str, str] = field(default_factory=dict)
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=SHOWN_LINES))
    log_group: str | None = None
    log_stream: str | None = None
    log_token: str | None = None

    @property
    def ended(self) -> bool:
        """Whether CodeBuild is done with it, well or not."""
        return self.status != IN_PROGRESS


class BuildError(SemifError):
    """A build ended otherwise than SUCCEEDED; the message holds phase, reason and last log lines."""


def start_build(
    aws: Aws, *, name: str, project: str, source: str, variables: Mapping[str, str]
) -> StartedBuild:
    """Start `project` on the zip at `source` (`bucket/key`), with `variables` beside the project's own."""
    with aws_errors():
        reply = aws.codebuild.start_build(
            projectName=project,
            sourceTypeOverride="S3",
            sourceLocationOverride=source,
            environmentVariablesOverride=[
                {"name": key, "value": value, "type": "PLAINTEXT"} for key, value in sorted(variables.items())
            ],
        )
    return StartedBuild(name=name, project=project, id=reply["build"]["id"])


def follow(
    aws: Aws,
    builds: Sequence[StartedBuild],
    *,
    poll_seconds: float,
    on_change: Callable[[Sequence[StartedBuild]], None] = lambda _: None,
) -> None:
    """Wait until every build has ended, well or not; `on_change` sees them after each look.

    CodeBuild's own time limits end a build that hangs.
    """
    while not all(build.ended for build in builds):
        time.sleep(poll_seconds)
        with aws_errors():
            _refresh(aws, builds)
        on_change(builds)
    if any(build.status != SUCCEEDED for build in builds):
        time.sleep(poll_seconds)  # the last lines of a log can come after the build's end
        with aws_errors():
            for build in builds:
                _read_log(aws, build)


def require_success(builds: Sequence[StartedBuild]) -> None:
    """Raise BuildError for the builds that ended otherwise than well."""
    if failed := [build for build in builds if build.status != SUCCEEDED]:
        raise BuildError("\n".join(_failure(build) for build in failed))


def _refresh(aws: Aws, builds: Sequence[StartedBuild]) -> None:
    by_id = {build.id: build for build in builds if not build.ended}
    for description in aws.codebuild.batch_get_builds(ids=list(by_id))["builds"]:
        build = by_id[description["id"]]
        logs = description.get("logs", {})
        build.log_group, build.log_stream = logs.get("groupName"), logs.get("streamName")
        _read_log(aws, build)
        exported = description.get("exportedEnvironmentVariables", [])
        build.exported = {variable["name"]: variable.get("value", "") for variable in exported}
        build.phase = description.get("currentPhase", build.phase)
        build.status = description["buildStatus"]
        if build.ended and build.status != SUCCEEDED:
            _note_failed_phase(build, description)


def _note_failed_phase(build: StartedBuild, description: "BuildTypeDef") -> None:
    for phase in description.get("phases", []):
        if phase.get("phaseStatus") not in {None, SUCCEEDED, IN_PROGRESS}:
            contexts = phase.get("contexts", [])
            build.phase = phase["phaseType"]
            build.reason_code = contexts[0].get("statusCode", "") if contexts else ""
            build.reason = "; ".join(part.get("message", "") for part in contexts)
            return


def _read_log(aws: Aws, build: StartedBuild) -> None:
    """Take the new events of the build's log stream, which appears some seconds after the build starts."""
    if not build.log_group or not build.log_stream:
        return
    query: GetLogEventsRequestTypeDef = {
        "logGroupName": build.log_group,
        "logStreamName": build.log_stream,
        "startFromHead": True,
    }
    while True:
        if build.log_token:
            query["nextToken"] = build.log_token
        try:
            page = aws.logs.get_log_events(**query)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == "ResourceNotFoundException":
                return
            raise
        build.lines.extend(line for event in page["events"] if (line := event.get("message", "").strip()))
        if page["nextForwardToken"] == build.log_token:  # how CloudWatch Logs says that this is all for now
            return
        build.log_token = page["nextForwardToken"]


def _failure(build: StartedBuild) -> str:
    reason = f": {build.reason}" if build.reason else ""
    first = f"the {build.name} build ended {build.status} in phase {build.phase}{reason} ({build.id})"
    return "\n".join([first, *(f"  {line}" for line in build.lines)])
