"""`semif batch` against transform jobs of the local AWS that run the adapter on a tiny model."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from semif.cli import main
from semif.environment.environment import read_environment
from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import REPOSITORY, LocalAws, put_tiny_model

BUCKET, ARCHIVE = "batch-models", "tiny/model.tar.gz"
NAME = "nightly"
MAX_BODY_BYTES = 20_000
SPOILED = "~"
"""Every prompt that holds it has NaN logits."""
ENVIRONMENT = f"""
kind = "decision"
removal = "destroy"
[model]
preset = "embedded"
[endpoint]
mode = "batch"
instance_type = "ml.c6i.large"
[adapter]
readout = "letters"
threads = 1
streams = 2
context_tokens = 1024
max_body_bytes = {MAX_BODY_BYTES}
"""
Document = dict[str, Any]
Records = list[Document]


@pytest.fixture(scope="module")
def project(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose AWS on this machine is the shared one, with what mode batch deploys."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "models").symlink_to(REPOSITORY / "models")
    (folder / "environments").mkdir()
    file = folder / "environments" / f"{NAME}.toml"
    file.write_text(ENVIRONMENT)
    (folder / ".semif").mkdir()
    (folder / ".semif" / "local").symlink_to(local_aws.state)
    local_aws.s3.create_bucket(Bucket=BUCKET)
    put_tiny_model(local_aws, BUCKET, ARCHIVE, spoiled=SPOILED)
    variables = read_environment(file).container_variables
    local_aws.cloudformation.create_stack(
        StackName=f"Semif-{NAME}-Endpoint", TemplateBody=json.dumps(template(local_aws, variables))
    )
    local_aws.cloudformation.get_waiter("stack_create_complete").wait(
        StackName=f"Semif-{NAME}-Endpoint", WaiterConfig={"Delay": 1, "MaxAttempts": 120}
    )
    return folder


def template(aws: LocalAws, variables: dict[str, str]) -> Document:
    """The outputs and the Model of a batch stack; tests/infra looks at the real one."""
    image = f"{aws.account}.dkr.ecr.{aws.region}.amazonaws.com/adapter@sha256:{'0' * 64}"
    container = {
        "Image": image,
        "ModelDataUrl": f"s3://{BUCKET}/{ARCHIVE}",
        "Environment": variables,
    }
    model = {"ExecutionRoleArn": f"arn:aws:iam::{aws.account}:role/hosting", "PrimaryContainer": container}
    return {
        "Resources": {
            "Files": {"Type": "AWS::S3::Bucket", "Properties": {}},
            "Model": {"Type": "AWS::SageMaker::Model", "Properties": model},
        },
        "Outputs": {
            "BucketName": {"Value": {"Ref": "Files"}},
            "ModelName": {"Value": {"Fn::GetAtt": ["Model", "ModelName"]}},
        },
    }


@pytest.fixture
def semif(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command of this project."""
    monkeypatch.setenv("SEMIF_PROJECT", str(project))
    return lambda *arguments: CliRunner().invoke(main, [*map(str, arguments), "--local"])


def decision(number: int, **changes: Any) -> Document:
    options = [{"id": "billing"}, {"id": "shipping", "description": "delivery and addresses"}]
    return {
        "id": f"ticket-{number}",
        "state": f"Parcel {number} is late.",
        "question": "Which team?",
        "options": options,
    } | changes


def jobs(aws: LocalAws, contains: str = f"semif-{NAME}-") -> list[Any]:
    return aws.sagemaker.list_transform_jobs(NameContains=contains)["TransformJobSummaries"]


def records(path: Path) -> Records:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_good_and_bad_lines_come_back_side_by_side_in_their_order(
    local_aws: LocalAws, semif: Callable[..., Result], tmp_path: Path
) -> None:
    questions = {"blue": {"type": "noul", "instructions": "Is it blue?"}}
    lines = [
        json.dumps(decision(1)),
        "{broken",
        "",
        json.dumps({"decision": decision(4, options=[{"id": "only"}])}),
        json.dumps({"decisions": [decision(5), decision(5, id="again", question="Is it urgent?")]}),
        json.dumps({"state": "The sky.", "questions": questions}),
        json.dumps({"state": "The sky.", "questions": {"blue": {"type": "song"}}}),
        json.dumps(decision(8, state=SPOILED)),
        json.dumps(decision(9, state="x" * 3000)),
        json.dumps(decision(10, state="x" * MAX_BODY_BYTES)),
        json.dumps({"messages": [{"role": "user", "content": "hello"}]}),
        json.dumps(decision(12, state="Ünïcode ✓")),
    ]
    file = tmp_path / "tickets.jsonl"
    file.write_bytes("\r\n".join(lines).encode())
    result = semif("batch", NAME, file, "--json")
    assert result.exit_code == 1, result.stderr
    told = json.loads(result.stdout)
    output = tmp_path / "tickets.answers.jsonl"
    (job,) = jobs(local_aws)
    assert told == {
        "requests": 11,
        "answered": 4,
        "failed": 4,
        "invalid": 3,
        "job": job["TransformJobName"],
        "output": str(output),
    }
    found = records(output)
    assert [(record["line"], record["status"]) for record in found] == [
        (1, "answered"), (2, "invalid"), (4, "failed"), (5, "answered"), (6, "answered"), (7, "failed"),
        (8, "failed"), (9, "failed"), (10, "invalid"), (11, "invalid"), (12, "answered"),
    ]  # fmt: skip
    by_line = {record["line"]: record for record in found}
    assert by_line[1]["reply"]["result"]["id"] == "ticket-1"
    assert [result["id"] for result in by_line[5]["reply"]["results"]] == ["ticket-5", "again"]
    assert by_line[12]["reply"]["result"]["id"] == "ticket-12"
    codes = {line: by_line[line]["error"].get("code") for line in (4, 7, 8, 9)}
    assert codes == {
        4: "invalid_request",
        7: "invalid_request",
        8: "engine_error",
        9: "prompt_too_long",
    }
    assert "adapter.max_body_bytes is 20000" in by_line[10]["error"]["message"]

    first = output.read_bytes()
    output.unlink()
    again = semif("batch", NAME, file)
    assert again.exit_code == 1
    assert "4 answered, 4 failed, 3 could not be asked" in again.stdout
    assert output.read_bytes() == first
    assert len(jobs(local_aws)) == 1

    logged = semif("logs", NAME, "--json")
    told = [json.loads(line) for line in logged.stdout.splitlines()]
    assert {line["stream"].partition("/")[0] for line in told} == {job["TransformJobName"]}
    assert any('"state: ready"' in line["message"] for line in told)
    assert semif("decide", NAME, REPOSITORY / "examples" / "routing.json").exit_code == 1
    shown = CliRunner().invoke(main, ["demo", "--env", NAME])
    assert (shown.exit_code, "answers by transform jobs" in shown.stderr) == (1, True)


def start(project: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "semif", "batch", NAME, "--local", *arguments],
        env=os.environ | {"SEMIF_PROJECT": str(project)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(process: "subprocess.Popen[str]", text: str) -> None:
    assert process.stderr is not None
    read = []
    for line in process.stderr:
        read.append(line)
        if text in line:
            return
    raise AssertionError("".join(read))


def test_stopped_killed_and_taken_up_again_every_line_is_answered_once(
    local_aws: LocalAws, project: Path, semif: Callable[..., Result], tmp_path: Path
) -> None:
    file, output = tmp_path / "many.jsonl", tmp_path / "out.jsonl"
    file.write_text("".join(json.dumps(decision(number)) + "\n" for number in range(1, 601)))
    before = {job["TransformJobName"] for job in jobs(local_aws)}

    def new_jobs() -> dict[str, str]:
        return {
            job["TransformJobName"]: job["TransformJobStatus"]
            for job in jobs(local_aws)
            if job["TransformJobName"] not in before
        }

    stopped = start(project, str(file), "--output", str(output), "--stop-on-interrupt")
    wait_for(stopped, "is InProgress")
    stopped.send_signal(signal.SIGINT)
    _, said = stopped.communicate(timeout=60)
    assert stopped.returncode == 130
    assert "is being stopped; give the same command again" in said
    (first,) = new_jobs()

    eventually(lambda: new_jobs()[first], lambda status: status != "Stopping")
    assert new_jobs() == {first: "Stopped"}

    killed = start(project, str(file), "--output", str(output))
    wait_for(killed, "is InProgress")
    killed.kill()
    killed.communicate(timeout=60)
    assert not output.exists()
    assert len(new_jobs()) == 2

    result = semif("batch", NAME, file, "--output", output)
    assert result.exit_code == 0, result.stderr
    assert new_jobs() == {first: "Stopped", f"{first[:-1]}2": "Completed"}
    found = records(output)
    assert [record["line"] for record in found] == list(range(1, 601))
    assert [record["reply"]["result"]["id"] for record in found] == [f"ticket-{n}" for n in range(1, 601)]


def test_a_failed_job_says_why_and_the_next_one_asks_what_has_no_answer(
    local_aws: LocalAws, semif: Callable[..., Result], tmp_path: Path
) -> None:
    file = tmp_path / "failing.jsonl"
    file.write_text("".join(json.dumps(decision(number)) + "\n" for number in range(1000, 1300)))
    model = local_aws.s3.get_object(Bucket=BUCKET, Key=ARCHIVE)["Body"].read()
    local_aws.s3.put_object(Bucket=BUCKET, Key=ARCHIVE, Body=b"no archive")
    try:
        failed = semif("batch", NAME, file)
    finally:
        local_aws.s3.put_object(Bucket=BUCKET, Key=ARCHIVE, Body=model)
    assert failed.exit_code == 1
    assert "is Failed: AlgorithmError: the model data is not a sound model.tar.gz" in failed.stderr
    assert "2 of 2 parts of the file have no answers; the same command asks them again" in failed.stderr
    assert not (tmp_path / "failing.answers.jsonl").exists()
    assert semif("batch", NAME, file).exit_code == 0
    assert len(records(tmp_path / "failing.answers.jsonl")) == 300


def test_a_file_with_nothing_to_ask_starts_no_job(
    local_aws: LocalAws, semif: Callable[..., Result], tmp_path: Path
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("nothing\n[]\n")
    count = len(jobs(local_aws))
    result = semif("batch", NAME, file)
    assert result.exit_code == 1
    assert result.stdout.startswith("2 could not be asked")
    assert len(jobs(local_aws)) == count
    assert [record["line"] for record in records(tmp_path / "bad.answers.jsonl")] == [1, 2]
