"""One CodeBuild build: fetch the source, run the phases in a shell, tell how it went."""

import os
import shutil
import tempfile
import threading
import uuid
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from local_aws.codebuild.buildspec import PHASES, Buildspec, BuildspecError, Phase, parse_buildspec
from local_aws.codebuild.shell import BuildShell
from local_aws.core.api import Params
from local_aws.core.context import LocalContext
from local_aws.core.logs import LogStream
from local_aws.core.processes import base_environment
from local_aws.images.container_engine import ContainerEngine, missing

NO_CONTAINER_ENGINE = "not built: no container engine on this machine, it lacks "
PASSED_ON = (
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
)
"""Beside PIP_*: what a build on this machine needs to reach the package index that its user configured."""


class PhaseFailedError(Exception):
    """A phase failed: CodeBuild's status code and message for it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class LocalBuild:
    """A build in a thread of its own. `project` is the project's name, `describe` tells how far it is."""

    def __init__(
        self, context: LocalContext, engine: ContainerEngine, project: Params, number: uuid.UUID, count: int
    ) -> None:
        self._context = context
        self._engine = engine
        self._settings = project
        self.project: str = project["name"]
        self.id = f"{self.project}:{number}"
        self._count = count
        self._started = datetime.now(UTC)
        self._ended: datetime | None = None
        self._phases: list[Params] = []
        self._exported: list[dict[str, str]] = []
        self._stop_status: str | None = None
        self._shell: BuildShell | None = None
        self._lock = threading.RLock()
        group = project.get("logsConfig", {}).get("cloudWatchLogs", {}).get("groupName")
        self._log = LogStream(context.logs, group or f"/aws/codebuild/{self.project}", str(number))

    def start(self) -> None:
        """Run in the background."""
        self._enter("SUBMITTED")
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self, status: str) -> None:
        """End the build with STOPPED or TIMED_OUT; one that is over stays as it is."""
        with self._lock:
            if self._ended is not None or self._stop_status is not None:
                return
            self._stop_status = status
            if self._shell is not None:
                self._shell.interrupt()

    def describe(self) -> Params:
        """The Build of BatchGetBuilds."""
        with self._lock:
            phases = [dict(phase) for phase in self._phases]
            build: Params = {
                "id": self.id,
                "arn": self._context.arn("codebuild", f"build/{self.id}"),
                "buildNumber": self._count,
                "startTime": self._started,
                "currentPhase": phases[-1]["phaseType"],
                "buildStatus": self._status(),
                "projectName": self.project,
                "phases": phases,
                "source": self._settings["source"],
                "environment": self._settings["environment"],
                "serviceRole": self._settings["serviceRole"],
                "timeoutInMinutes": self._settings["timeoutInMinutes"],
                "logs": {
                    "groupName": self._log.group,
                    "streamName": self._log.stream,
                    "cloudWatchLogsArn": self._context.arn(
                        "logs", f"log-group:{self._log.group}:log-stream:{self._log.stream}"
                    ),
                },
                "buildComplete": self._ended is not None,
                "exportedEnvironmentVariables": list(self._exported),
            }
            if self._ended is not None:
                build["endTime"] = self._ended
            return build

    def _status(self) -> str:
        if self._ended is None:
            return "IN_PROGRESS"
        if self._stop_status is not None:
            return self._stop_status
        failed = any(phase.get("phaseStatus") == "FAILED" for phase in self._phases)
        return "FAILED" if failed else "SUCCEEDED"

    def _run(self) -> None:
        timer = threading.Timer(self._settings["timeoutInMinutes"] * 60, self.stop, ["TIMED_OUT"])
        timer.daemon = True
        timer.start()
        folder = Path(tempfile.mkdtemp(prefix="build-", dir=self._context.workspace))
        try:
            self._leave()
            self._run_phases(folder)
        except Exception as error:  # whatever it is, a build that stopped has not succeeded
            self._leave(PhaseFailedError("INTERNAL_ERROR", f"{type(error).__name__}: {error}"))
            raise
        finally:
            timer.cancel()
            self._enter("COMPLETED")
            self._log.close()
            shutil.rmtree(folder, ignore_errors=True)
            with self._lock:
                self._ended = datetime.now(UTC)

    def _run_phases(self, folder: Path) -> None:
        self._enter("PROVISIONING")
        try:
            provided = self._provision()
        except PhaseFailedError as error:
            self._leave(error)
            return
        self._leave()
        self._enter("DOWNLOAD_SOURCE")
        source = folder / "src"
        source.mkdir()
        try:
            self._fetch_source(source)
            buildspec = self._read_buildspec(source)
            environment = self._environment(buildspec, source) | {"TMPDIR": str(folder)} | provided
        except PhaseFailedError as error:
            self._leave(error)
            return
        self._leave()
        shell = BuildShell(
            self._context.processes,
            buildspec.env.shell,
            environment=environment,
            folder=source,
            scratch=folder,
            on_line=self._log.write,
        )
        with self._lock:
            self._shell = shell
        try:
            self._run_commands(shell, buildspec)
            exported = shell.environment()
            self._exported = [
                {"name": name, "value": exported.get(name, "")} for name in buildspec.env.exported_variables
            ]
        finally:
            shell.close()

    def _provision(self) -> dict[str, str]:
        """Variables for a build that makes images: only those ask for the privileged mode."""
        if not self._settings["environment"].get("privilegedMode"):
            return {}
        if lacks := missing():
            raise PhaseFailedError("NO_CONTAINER_ENGINE", NO_CONTAINER_ENGINE + " and ".join(lacks))
        try:
            return self._engine.environment()
        except OSError as error:
            raise PhaseFailedError("PROVISIONING_ERROR", str(error)) from error

    def _run_commands(self, shell: BuildShell, buildspec: Buildspec) -> None:
        """CodeBuild's transitions: a failed install or pre_build ends all, a failed build only itself."""
        for name in PHASES:
            phase = buildspec.phases.get(name, Phase())
            self._enter(name.upper())
            failure = self._run_phase(shell, phase)
            self._leave(failure)
            if self._stop_status is not None:
                return
            if failure is None:
                continue
            shell.export("CODEBUILD_BUILD_SUCCEEDING", "0")
            ends_build = phase.on_failure == "ABORT" or (phase.on_failure is None and name != "build")
            if ends_build:
                return

    def _run_phase(self, shell: BuildShell, phase: Phase) -> PhaseFailedError | None:
        failure = self._run_list(shell, phase.commands)
        return self._run_list(shell, phase.finally_) or failure if phase.finally_ else failure

    def _run_list(self, shell: BuildShell, commands: Sequence[str]) -> PhaseFailedError | None:
        for command in commands:
            if self._stop_status is not None:
                return None
            self._say(f"Running command {command}")
            status = shell.run(command)
            if status != 0 and self._stop_status is None:
                message = f"Error while executing command: {command}. Reason: exit status {status}"
                return PhaseFailedError("COMMAND_EXECUTION_ERROR", message)
        return None

    def _fetch_source(self, folder: Path) -> None:
        source = self._settings["source"]
        if source["type"] == "NO_SOURCE":
            return
        if source["type"] != "S3":
            raise PhaseFailedError(
                "CLIENT_ERROR", f"the local AWS takes sources from S3 only, not {source['type']}"
            )
        bucket, _, key = source.get("location", "").removeprefix("arn:aws:s3:::").partition("/")
        archive = folder.with_suffix(".zip")
        try:
            self._context.s3.download_file(bucket, key, str(archive))
            with zipfile.ZipFile(archive) as packed:
                for member in packed.infolist():
                    path = Path(packed.extract(member, folder))
                    mode = (member.external_attr >> 16) & 0o777
                    if mode and path.is_file():
                        path.chmod(mode)
        except (BotoCoreError, ClientError, OSError, zipfile.BadZipFile) as error:
            raise PhaseFailedError("CLIENT_ERROR", f"no source from {bucket}/{key}: {error}") from error

    def _read_buildspec(self, folder: Path) -> Buildspec:
        buildspec = self._settings["source"].get("buildspec") or "buildspec.yml"
        try:
            text = buildspec if "\n" in buildspec else (folder / buildspec).read_text()
            return parse_buildspec(text)
        except OSError as error:
            raise PhaseFailedError("YAML_FILE_ERROR", f"no buildspec {buildspec} in the source") from error
        except BuildspecError as error:
            raise PhaseFailedError("YAML_FILE_ERROR", str(error)) from error

    def _environment(self, buildspec: Buildspec, source: Path) -> dict[str, str]:
        """Later wins: this machine's, the buildspec's, the project's, the request's, CodeBuild's own."""
        machine = {
            name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("PIP_")
        }
        chosen = {}
        for variable in self._settings["environment"]["environmentVariables"]:
            if variable.get("type", "PLAINTEXT") != "PLAINTEXT":
                raise PhaseFailedError(
                    "CLIENT_ERROR",
                    f"the local AWS has plain variables only, {variable['name']} is {variable['type']}",
                )
            chosen[variable["name"]] = variable["value"]
        own = {
            "CODEBUILD_BUILD_ID": self.id,
            "CODEBUILD_BUILD_ARN": self._context.arn("codebuild", f"build/{self.id}"),
            "CODEBUILD_BUILD_NUMBER": str(self._count),
            "CODEBUILD_BUILD_SUCCEEDING": "1",
            "CODEBUILD_SRC_DIR": str(source),
            "AWS_ACCOUNT_ID": self._context.account,
        }
        aws = self._context.aws_environment()
        return base_environment() | machine | buildspec.env.variables | chosen | own | aws

    def _enter(self, phase: str) -> None:
        with self._lock:
            self._phases.append({"phaseType": phase, "startTime": datetime.now(UTC)})
        if phase not in {"SUBMITTED", "COMPLETED"}:
            self._say(f"Entering phase {phase}")

    def _leave(self, failure: PhaseFailedError | None = None) -> None:
        with self._lock:
            phase = self._phases[-1]
            phase["endTime"] = datetime.now(UTC)
            phase["durationInSeconds"] = round((phase["endTime"] - phase["startTime"]).total_seconds())
            phase["phaseStatus"] = self._stop_status or ("FAILED" if failure else "SUCCEEDED")
            if failure:
                phase["contexts"] = [{"statusCode": failure.code, "message": failure.message}]
        if phase["phaseType"] != "SUBMITTED":
            self._say(f"Phase complete: {phase['phaseType']} State: {phase['phaseStatus']}")
        if failure:
            self._say(f"Phase context status code: {failure.code} Message: {failure.message}")

    def _say(self, line: str) -> None:
        self._log.write(f"[Container] {datetime.now(UTC):%Y/%m/%d %H:%M:%S} {line}")
