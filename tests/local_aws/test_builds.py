"""CodeBuild of the local AWS: commands really run, and nothing is claimed that was not done."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import LocalAws, start_local_aws

if TYPE_CHECKING:
    from mypy_boto3_codebuild.type_defs import BuildTypeDef, EnvironmentVariableTypeDef

BUCKET = "build-sources"
PROJECT = "toy"


@pytest.fixture(scope="module", autouse=True)
def project(local_aws: LocalAws) -> Iterator[None]:
    """The project of `make_project` for the shared AWS."""
    with make_project(local_aws):
        yield


@contextmanager
def make_project(local_aws: LocalAws) -> Iterator[None]:
    """A project without privileges, and a bucket for sources."""
    local_aws.s3.create_bucket(Bucket=BUCKET)
    local_aws.codebuild.create_project(
        name=PROJECT,
        source={"type": "S3", "location": f"{BUCKET}/default.zip"},
        artifacts={"type": "NO_ARTIFACTS"},
        environment={
            "type": "LINUX_CONTAINER",
            "image": "aws/codebuild/standard:7.0",
            "computeType": "BUILD_GENERAL1_SMALL",
            "environmentVariables": [{"name": "FROM_PROJECT", "value": "project"}],
        },
        serviceRole=f"arn:aws:iam::{local_aws.account}:role/toy",
    )
    yield
    local_aws.codebuild.delete_project(name=PROJECT)


def start(
    aws: LocalAws,
    buildspec: str,
    *,
    variables: dict[str, str] | None = None,
    privileged: bool = False,
) -> str:
    """Zip a buildspec as the source, upload it and start a build of it; returns the build's id."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("build.yml", buildspec)
        packed.writestr("data/hello.txt", "hello\n")
    aws.s3.put_object(Bucket=BUCKET, Key="sources/toy.zip", Body=archive.getvalue())
    given: list[EnvironmentVariableTypeDef] = [
        {"name": name, "value": value, "type": "PLAINTEXT"} for name, value in (variables or {}).items()
    ]
    build = aws.codebuild.start_build(
        projectName=PROJECT,
        sourceTypeOverride="S3",
        sourceLocationOverride=f"{BUCKET}/sources/toy.zip",
        buildspecOverride="build.yml",
        environmentVariablesOverride=given,
        privilegedModeOverride=privileged,
    )["build"]
    assert build["buildStatus"] == "IN_PROGRESS"
    return build["id"]


def look(aws: LocalAws, build_id: str) -> "BuildTypeDef":
    """The build as it is now."""
    return aws.codebuild.batch_get_builds(ids=[build_id])["builds"][0]


def finish(aws: LocalAws, build_id: str) -> "BuildTypeDef":
    """The build once it has ended: a toy build takes milliseconds."""
    return eventually(lambda: look(aws, build_id), lambda build: build["buildComplete"])


def output(aws: LocalAws, build: "BuildTypeDef") -> list[str]:
    """What the commands printed, CodeBuild's own lines left out."""
    lines = aws.log_lines(build["logs"]["groupName"], build["logs"]["streamName"])
    return [line for line in lines if not line.startswith("[Container]")]


def phases(build: "BuildTypeDef") -> dict[str, str | None]:
    """Phase types with their status, in the order they were entered."""
    return {phase["phaseType"]: phase.get("phaseStatus") for phase in build["phases"]}


def test_commands_share_one_shell_and_export_variables(local_aws: LocalAws) -> None:
    buildspec = """
version: 0.2
env:
  variables: {FROM_SPEC: spec, FROM_PROJECT: overridden}
  exported-variables: [ANSWER, UNSET]
phases:
  install:
    runtime-versions: {python: "3.12"}
    commands:
      - cat data/hello.txt
      - cd data
      - plain=kept; greet() { echo "greeted $1"; }
  build:
    commands:
      - pwd; echo "$plain"; greet you
      - echo "$FROM_SPEC $FROM_PROJECT $FROM_REQUEST"
      - export ANSWER=$((6 * 7))
      - printf 'no newline'
      - echo error >&2
"""
    build = finish(local_aws, start(local_aws, buildspec, variables={"FROM_REQUEST": "request value"}))
    assert build["buildStatus"] == "SUCCEEDED", output(local_aws, build)
    hello, folder, *rest = output(local_aws, build)
    assert hello == "hello"
    assert folder.endswith("/src/data")
    assert rest == ["kept", "greeted you", "spec project request value", "no newline", "error"]
    assert build["exportedEnvironmentVariables"] == [
        {"name": "ANSWER", "value": "42"},
        {"name": "UNSET", "value": ""},
    ]
    assert set(phases(build).values()) == {"SUCCEEDED", None}
    assert list(phases(build))[-1] == build["currentPhase"] == "COMPLETED"


@pytest.mark.parametrize("failing", ["false", "exit 7", "set -e; false; true", "if then"])
def test_a_failing_command_in_the_middle_fails_the_build(local_aws: LocalAws, failing: str) -> None:
    buildspec = f"""
version: 0.2
phases:
  build:
    commands:
      - export BEFORE=before
      - {failing}
      - echo never
    finally:
      - echo "finally $BEFORE"
  post_build:
    commands:
      - echo "succeeding $CODEBUILD_BUILD_SUCCEEDING"
"""
    build = finish(local_aws, start(local_aws, buildspec))
    assert build["buildStatus"] == "FAILED"
    printed = output(local_aws, build)
    assert printed[-2:] == ["finally before", "succeeding 0"]
    assert "never" not in printed
    failed = next(phase for phase in build["phases"] if phase.get("phaseStatus") == "FAILED")
    assert failed["phaseType"] == "BUILD"
    assert (
        f"Error while executing command: {failing}. Reason: exit status" in failed["contexts"][0]["message"]
    )


def test_a_failed_pre_build_ends_the_build(local_aws: LocalAws) -> None:
    buildspec = """
version: 0.2
phases:
  pre_build: {commands: ["false"]}
  build: {commands: [echo never]}
  post_build: {commands: [echo never]}
"""
    build = finish(local_aws, start(local_aws, buildspec))
    assert build["buildStatus"] == "FAILED"
    assert output(local_aws, build) == []
    assert "BUILD" not in phases(build)


def test_on_failure_decides_where_the_buildspec_says_so(local_aws: LocalAws) -> None:
    buildspec = """
version: 0.2
phases:
  install: {commands: ["false"], on-failure: CONTINUE}
  build: {commands: [echo built, "false"], on-failure: ABORT}
  post_build: {commands: [echo never]}
"""
    build = finish(local_aws, start(local_aws, buildspec))
    assert build["buildStatus"] == "FAILED"
    assert output(local_aws, build) == ["built"]


def test_a_build_talks_to_the_local_aws_and_knows_no_other(local_aws: LocalAws) -> None:
    buildspec = """
version: 0.2
phases:
  build:
    commands:
      - |
        python - <<'PYTHON'
        import boto3
        boto3.client("s3").put_object(Bucket="build-sources", Key="made", Body=b"by the build")
        PYTHON
      - echo "$AWS_ENDPOINT_URL $AWS_REGION ${AWS_PROFILE:-none}"
"""
    build = finish(local_aws, start(local_aws, buildspec))
    assert output(local_aws, build) == [f"{local_aws.endpoint_url} {local_aws.region} none"]
    assert local_aws.s3.get_object(Bucket=BUCKET, Key="made")["Body"].read() == b"by the build"


def test_an_image_build_is_reported_as_not_built_where_nothing_can_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    aws = start_local_aws(tmp_path / "state")
    with aws.process:  # which closes its input at the end, and so ends it
        with make_project(aws):
            buildspec = "version: 0.2\nphases: {build: {commands: [echo never]}}\n"
            build = finish(aws, start(aws, buildspec, privileged=True))
        assert build["buildStatus"] == "FAILED"
        failed = next(phase for phase in build["phases"] if phase.get("phaseStatus") == "FAILED")
        [context] = failed["contexts"]
        assert context["statusCode"] == "NO_CONTAINER_ENGINE"
        assert context["message"].startswith(
            "not built: no container engine on this machine, it lacks buildah and docker-registry"
        )
        assert output(aws, build) == []


@pytest.mark.parametrize(
    ("buildspec", "problem"),
    [
        ("version: 0.1\nphases: {}\n", "version"),
        ("version: 0.2\nphases: {build: {commands: [true], retries: 3}}\n", "retries"),
        ("version: 0.2\nphases: {build: {}}\nartifacts: {files: [a]}\n", "artifacts"),
        ("version: [\n", "not YAML"),
        ("just text\n", "buildspec"),
    ],
)
def test_what_a_buildspec_asks_for_in_vain_fails_by_name(
    local_aws: LocalAws, buildspec: str, problem: str
) -> None:
    build = finish(local_aws, start(local_aws, buildspec))
    assert build["buildStatus"] == "FAILED"
    failed = next(phase for phase in build["phases"] if phase.get("phaseStatus") == "FAILED")
    assert failed["phaseType"] == "DOWNLOAD_SOURCE"
    assert failed["contexts"][0]["statusCode"] == "YAML_FILE_ERROR"
    assert problem in failed["contexts"][0]["message"]


def test_a_missing_source_fails_the_download(local_aws: LocalAws) -> None:
    started = local_aws.codebuild.start_build(
        projectName=PROJECT, sourceLocationOverride=f"{BUCKET}/none.zip"
    )
    build = finish(local_aws, started["build"]["id"])
    assert phases(build)["DOWNLOAD_SOURCE"] == "FAILED"


def test_a_source_that_cannot_be_unpacked_fails_the_build(local_aws: LocalAws) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("buildspec.yml", "version: 0.2\nphases: {}\n")
        packed.infolist()[0].flag_bits |= 1  # encrypted, says the directory
    local_aws.s3.put_object(Bucket=BUCKET, Key="encrypted.zip", Body=archive.getvalue())
    started = local_aws.codebuild.start_build(
        projectName=PROJECT, sourceLocationOverride=f"{BUCKET}/encrypted.zip"
    )
    build = finish(local_aws, started["build"]["id"])
    assert build["buildStatus"] == "FAILED"
    (failed,) = (phase for phase in build["phases"] if phase.get("phaseStatus") == "FAILED")
    assert "encrypted" in failed["contexts"][0]["message"]


def test_a_stopped_build_ends_its_command(local_aws: LocalAws) -> None:
    buildspec = """
version: 0.2
phases:
  build:
    commands: [echo running, sleep 600, echo never]
  post_build: {commands: [echo never]}
"""
    build_id = start(local_aws, buildspec)
    eventually(lambda: output(local_aws, look(local_aws, build_id)), lambda said: "running" in said)
    local_aws.codebuild.stop_build(id=build_id)
    build = finish(local_aws, build_id)
    assert build["buildStatus"] == "STOPPED"
    assert "never" not in output(local_aws, build)


def test_an_unknown_override_and_an_unknown_project_are_refused(local_aws: LocalAws) -> None:
    errors = local_aws.codebuild.exceptions
    with pytest.raises(errors.InvalidInputException, match="gitCloneDepthOverride"):
        local_aws.codebuild.start_build(projectName=PROJECT, gitCloneDepthOverride=1)
    with pytest.raises(errors.ResourceNotFoundException, match="Project cannot be found"):
        local_aws.codebuild.start_build(projectName="nobody")
