"""`semif submit` against asynchronous endpoints of the local AWS: killed, gone on with, and counted."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from semif.aws.stacks import empty_bucket
from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import MODEL_ARCHIVE, MODEL_BUCKET, REPOSITORY, LocalAws, put_tiny_model
from tests.support.servers.local_endpoints import settled

BUCKET = "submitted"
ENVIRONMENT = """
kind = "decision"
removal = "destroy"
[model]
preset = "embedded"
[endpoint]
mode = "async"
instance_type = "ml.c6i.large"
"""
SCRIPTED, GONE, REAL = "scripted", "gone", "real"
"""Environments whose endpoint is CONTAINER, which answers as asked, or the adapter; GONE's ends."""


@pytest.fixture(scope="module")
def project(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with three asynchronous environments, whose AWS on this machine is the shared one."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "models").symlink_to(REPOSITORY / "models")
    (folder / "environments").mkdir()
    for name in (SCRIPTED, GONE, REAL):
        (folder / "environments" / f"{name}.toml").write_text(ENVIRONMENT)
    (folder / ".semif").mkdir()
    (folder / ".semif" / "local").symlink_to(local_aws.state)
    local_aws.s3.create_bucket(Bucket=BUCKET)
    return folder


def serve(aws: LocalAws, name: str, archive: str, variables: dict[str, str], *, at_once: int) -> str:
    """An asynchronous endpoint in service."""
    aws.sagemaker.create_model(
        ModelName=name,
        ExecutionRoleArn=f"arn:aws:iam::{aws.account}:role/hosting",
        PrimaryContainer={
            "Image": f"{aws.account}.dkr.ecr.{aws.region}.amazonaws.com/adapter@sha256:{'0' * 64}",
            "ModelDataUrl": archive,
            "Environment": variables,
        },
    )
    aws.sagemaker.create_endpoint_config(
        EndpointConfigName=name,
        AsyncInferenceConfig={
            "ClientConfig": {"MaxConcurrentInvocationsPerInstance": at_once},
            "OutputConfig": {
                "S3OutputPath": f"s3://{BUCKET}/answers",
                "S3FailurePath": f"s3://{BUCKET}/failures",
            },
        },
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "ModelName": name,
                "InstanceType": "ml.c6i.large",
                "InitialInstanceCount": 1,
            }
        ],
    )
    aws.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
    assert settled(aws, name) == ("InService", "")
    return name


@pytest.fixture(scope="module")
def scripted(local_aws: LocalAws, container: Path, project: Path) -> Iterator[str]:
    """The endpoint of CONTAINER; the project is there."""
    assert project.exists()
    archive = f"s3://{MODEL_BUCKET}/{MODEL_ARCHIVE}"
    yield serve(local_aws, f"semif-{SCRIPTED}", archive, {"PYTHONPATH": str(container)}, at_once=4)
    local_aws.sagemaker.delete_endpoint(EndpointName=f"semif-{SCRIPTED}")


@pytest.fixture(scope="module")
def real(local_aws: LocalAws, project: Path) -> Iterator[str]:
    """The endpoint of the adapter on a tiny model; the project is there."""
    assert project.exists()
    archive = put_tiny_model(local_aws, BUCKET, "models/model.tar.gz")
    variables = {
        "SEMIF_CONTEXT_TOKENS": "1024",
        "SEMIF_DEADLINE_SECONDS": "895",
        "SEMIF_READOUT": "letters",
        "SEMIF_THREADS": "1",
    }
    yield serve(local_aws, f"semif-{REAL}", archive, variables, at_once=4)
    local_aws.sagemaker.delete_endpoint(EndpointName=f"semif-{REAL}")
    # More objects than a page of a listing holds.
    assert empty_bucket(local_aws.s3, BUCKET) > 1000
    assert local_aws.s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0


def submit(project: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "semif", "submit", *arguments, "--local"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "AWS_PROFILE": "nobody-has-this"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Exit status, stdout and stderr."""
    out, errors = process.communicate(timeout=300)
    return process.returncode, out, errors


def killed_after(process: "subprocess.Popen[str]", count: int) -> None:
    """SIGKILL it as soon as it says that so many lines have ended, and it is not at its end."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        for line in process.stderr:
            found = re.match(r"\S+: ([0-9]+) of ([0-9]+)", line)
            assert found, line
            if int(found[1]) >= count:
                break
        assert int(found[1]) < int(found[2])
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def logged(aws: LocalAws, endpoint: str) -> list[str]:
    """All lines of an endpoint's one container."""
    group = f"/aws/sagemaker/Endpoints/{endpoint}"
    (stream,) = aws.logs.describe_log_streams(logGroupName=group)["logStreams"]
    return aws.log_lines(group, stream["logStreamName"])


def requests_logged(aws: LocalAws, at_least: int = 0) -> int:
    """How many requests CONTAINER says that it got: its lines come a moment after its answers."""
    return eventually(
        lambda: logged(aws, f"semif-{SCRIPTED}").count("container: request"),
        lambda count: count >= at_least,
    )


def scripted_line(status: int = 200, **body: Any) -> str:
    return json.dumps({"decision": {}, "status": status, "body": body}) + "\n"


@pytest.mark.usefixtures("scripted")
def test_bad_lines_stand_beside_the_good(local_aws: LocalAws, project: Path, tmp_path: Path) -> None:
    file, output = tmp_path / "mixed.jsonl", tmp_path / "answers.jsonl"
    refusal = {"error": {"code": "invalid_request", "message": "too long", "path": "decision.state"}}
    busy = {"error": {"code": "overloaded", "message": "no room"}, "retry_after_seconds": 1.0}
    before = requests_logged(local_aws)
    file.write_text(
        scripted_line(result=1)
        + "{not json\n\n"
        + scripted_line(400, **refusal, retryable=False)
        + '{"messages": []}\n'
        + scripted_line(503, **busy, retryable=True)
        + json.dumps({"decision": {"state": "x" * 6_291_456}})
        + "\n"
        + scripted_line(result="ü").rstrip("\n")
    )
    process = submit(project, SCRIPTED, str(file), "--output", str(output), "--json")
    status, out, errors = finished(process)
    assert (status, "Traceback" in errors) == (1, False), errors
    told = json.loads(out)
    assert {key: told[key] for key in ("requests", "answered", "failed", "invalid", "sent")} == {
        "requests": 7,
        "answered": 2,
        "failed": 2,
        "invalid": 3,
        "sent": 6,
    }
    found = {record["line"]: record for record in records(output)}
    assert list(found) == [1, 2, 4, 5, 6, 7, 8]
    assert found[1] == {"line": 1, "status": "answered", "reply": {"result": 1}}
    assert found[8]["reply"] == {"result": "ü"}
    assert found[4] == {"line": 4, "status": "failed", "error": refusal["error"]}
    assert (found[6]["status"], found[6]["error"]["code"]) == ("failed", "overloaded")
    assert [found[number]["status"] for number in (2, 5, 7)] == ["invalid"] * 3
    assert "line 2 is not JSON" in found[2]["error"]["message"]
    assert "at most 6291456 are sent" in found[7]["error"]["message"]
    after = requests_logged(local_aws, before + 6)
    assert after - before == 6, "what failed for lack of room is asked three times, the rest once"


@pytest.mark.usefixtures("scripted")
def test_a_finished_submission_is_told_again_and_not_asked_again(
    local_aws: LocalAws, project: Path, tmp_path: Path
) -> None:
    before = requests_logged(local_aws)
    file = tmp_path / "few.jsonl"
    file.write_text(scripted_line(result=1) * 3)
    status, out, errors = finished(submit(project, SCRIPTED, str(file)))
    assert (status, out) == (0, f"3 of 3 answered: {tmp_path}/few.answers.jsonl\n"), errors
    asked = requests_logged(local_aws, before + 3)
    (tmp_path / "few.answers.jsonl").unlink()
    status, out, _ = finished(submit(project, SCRIPTED, str(file), "--json"))
    assert (status, json.loads(out)["sent"]) == (0, 0)
    assert len(records(tmp_path / "few.answers.jsonl")) == 3
    assert requests_logged(local_aws) == asked
    file.write_text(scripted_line(result=2) * 3)
    status, out, errors = finished(submit(project, SCRIPTED, str(file)))
    assert (status, out) == (1, "")
    assert "is of another submission (file sha256 differ)" in errors


@pytest.mark.usefixtures("scripted")
def test_a_line_of_which_nobody_knows_is_looked_for_before_it_is_sent_again(
    local_aws: LocalAws, project: Path, tmp_path: Path
) -> None:
    before = requests_logged(local_aws)
    file, state = tmp_path / "unclear.jsonl", tmp_path / "unclear.answers.jsonl.state"
    file.write_text("".join(scripted_line(result=number) for number in range(4)))
    assert finished(submit(project, SCRIPTED, str(file)))[0] == 0
    asked = requests_logged(local_aws, before + 4)
    header, *happened = state.read_text().splitlines()
    sent = [line for line in happened if "sending" in line]
    # As if it had been killed, long ago, before it learnt that all were accepted: their answers are there.
    long_ago = [json.dumps({**json.loads(line), "time": 1.0}) for line in sent]
    state.write_text("\n".join([header, *long_ago]) + "\n")
    status, out, _ = finished(submit(project, SCRIPTED, str(file), "--json"))
    assert (status, json.loads(out)["answered"], json.loads(out)["sent"]) == (0, 4, 0)
    assert requests_logged(local_aws) == asked
    # And as if it had been killed before any of them was sent.
    job = json.loads(header)["job"]
    for key in local_aws.s3.list_objects_v2(Bucket=BUCKET, Prefix=f"answers/{job}/")["Contents"]:
        local_aws.s3.delete_object(Bucket=BUCKET, Key=key["Key"])
    state.write_text("\n".join([header, *sent]) + "\n")
    status, out, _ = finished(submit(project, SCRIPTED, str(file), "--json"))
    assert (status, json.loads(out)["answered"], json.loads(out)["sent"]) == (0, 4, 4)


@pytest.mark.usefixtures("scripted")
def test_a_line_whose_answer_cannot_come_any_more_is_sent_again(project: Path, tmp_path: Path) -> None:
    file, state = tmp_path / "lost.jsonl", tmp_path / "lost.answers.jsonl.state"
    file.write_text(scripted_line(result=1))
    assert finished(submit(project, SCRIPTED, str(file)))[0] == 0
    header, sending, *_ = state.read_text().splitlines()
    lost = json.dumps({"accepted": 1, "output": f"s3://{BUCKET}/answers/gone", "failure": None, "time": 1.0})
    state.write_text("\n".join([header, sending, lost]) + "\n")
    status, out, _ = finished(submit(project, SCRIPTED, str(file), "--json"))
    assert (status, json.loads(out)["answered"], json.loads(out)["sent"]) == (0, 1, 1)
    assert '"attempt": 2' in state.read_text()


@pytest.mark.usefixtures("scripted")
def test_a_line_that_was_never_uploaded_waits_for_no_other(
    local_aws: LocalAws, project: Path, tmp_path: Path
) -> None:
    file, state = tmp_path / "first.jsonl", tmp_path / "first.answers.jsonl.state"
    file.write_text(scripted_line(result=1) * 2)
    assert finished(submit(project, SCRIPTED, str(file)))[0] == 0
    header, *happened = state.read_text().splitlines()
    job = json.loads(header)["job"]
    sending = [line for line in happened if "sending" in line]
    (accepted,) = [json.loads(line) for line in happened if '"accepted": 1' in line]
    never = json.dumps({**accepted, "output": f"s3://{BUCKET}/answers/never"})
    state.write_text("\n".join([header, *sending, never, ""]))
    for prefix in ("requests", "answers"):
        for item in local_aws.s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{prefix}/{job}/00000002")[
            "Contents"
        ]:
            local_aws.s3.delete_object(Bucket=BUCKET, Key=item["Key"])
    process = submit(project, SCRIPTED, str(file))  # the first line's answer never comes
    killed_after(process, 1)
    ended = [line for line in state.read_text().splitlines() if '"ended"' in line]
    assert [json.loads(line)["ended"]["line"] for line in ended] == [2]


@pytest.mark.usefixtures("scripted")
def test_a_line_that_was_sent_twice_is_answered_once(
    local_aws: LocalAws, project: Path, tmp_path: Path
) -> None:
    file, state = tmp_path / "twice.jsonl", tmp_path / "twice.answers.jsonl.state"
    file.write_text(scripted_line(result=1))
    assert finished(submit(project, SCRIPTED, str(file)))[0] == 0
    header, sending, accepted, _ = state.read_text().splitlines()
    # As if nobody had known of the first time, which failed for lack of room.
    state.write_text("\n".join([header, sending, ""]))
    name = json.loads(accepted)["output"].rpartition("/")[2]
    busy = {"error": {"code": "overloaded", "message": "no room"}, "retryable": True}
    local_aws.s3.put_object(
        Bucket=BUCKET,
        Key=f"failures/{json.loads(header)['job']}/{name}-error.out",
        Body=json.dumps(busy).encode(),
    )
    status, out, errors = finished(submit(project, SCRIPTED, str(file), "--json"))
    assert status == 0, errors
    told = json.loads(out)
    assert (told["requests"], told["answered"], told["failed"], told["sent"]) == (1, 1, 0, 0)


@pytest.mark.usefixtures("scripted")
def test_what_was_in_the_queue_of_an_endpoint_that_is_gone_is_sent_again(
    local_aws: LocalAws, project: Path, tmp_path: Path
) -> None:
    file, state = tmp_path / "gone.jsonl", tmp_path / "gone.answers.jsonl.state"
    file.write_text(scripted_line(result=1))
    assert finished(submit(project, SCRIPTED, str(file)))[0] == 0
    header, *_ = state.read_text().splitlines()
    made = local_aws.sagemaker.describe_endpoint(EndpointName=f"semif-{SCRIPTED}")["CreationTime"]
    before = {"time": made.timestamp() - 3600}
    accepted = {"accepted": 1, "output": "s3://destroyed-bucket/answers/j/1", "failure": None}
    sending = {"sending": 1, "attempt": 3}
    state.write_text("\n".join([header, json.dumps(sending | before), json.dumps(accepted | before), ""]))
    status, out, errors = finished(submit(project, SCRIPTED, str(file), "--json"))
    assert (status, json.loads(out)["answered"], json.loads(out)["sent"]) == (0, 1, 1), errors


@pytest.mark.usefixtures("scripted")
def test_who_waits_learns_that_the_endpoint_is_gone(
    local_aws: LocalAws, container: Path, project: Path, tmp_path: Path
) -> None:
    archive = f"s3://{MODEL_BUCKET}/{MODEL_ARCHIVE}"
    name = serve(local_aws, f"semif-{GONE}", archive, {"PYTHONPATH": str(container)}, at_once=1)
    file, state = tmp_path / "waiting.jsonl", tmp_path / "waiting.answers.jsonl.state"
    file.write_text(scripted_line(result=1))
    assert finished(submit(project, GONE, str(file)))[0] == 0
    header, sending, accepted, _ = state.read_text().splitlines()
    never = json.dumps({**json.loads(accepted), "output": f"s3://{BUCKET}/answers/never"})
    state.write_text("\n".join([header, sending, never, ""]))
    process = submit(project, GONE, str(file))
    assert process.stderr is not None
    assert process.stderr.readline() == "waiting.jsonl: 0 of 1\n"
    local_aws.sagemaker.delete_endpoint(EndpointName=name)
    status, out, errors = finished(process)
    assert (status, out) == (1, "")
    assert errors == f"semif: there is no endpoint {name}; deploy it first\n"


@pytest.mark.usefixtures("real")
def test_five_hundred_decisions_are_asked_once_each_through_a_kill(
    local_aws: LocalAws, project: Path, tmp_path: Path
) -> None:
    file, output = tmp_path / "tickets.jsonl", tmp_path / "tickets.answers.jsonl"
    state = tmp_path / "tickets.answers.jsonl.state"
    asked = {"question": "Odd or even?", "options": [{"id": "odd"}, {"id": "even"}]}
    lines = [json.dumps({"id": f"t{number}", "state": str(number), **asked}) for number in range(500)]
    file.write_text("\n".join(lines) + "\n")
    killed_after(submit(project, REAL, str(file)), 50)
    killed_after(submit(project, REAL, str(file)), 250)
    with state.open("ab") as torn:
        torn.write(b'{"ended": {"line": 3')
    assert not output.exists()
    status, out, errors = finished(submit(project, REAL, str(file)))
    assert (status, out) == (0, f"500 of 500 answered: {output}\n"), errors
    found = records(output)
    assert [record["line"] for record in found] == list(range(1, 501))
    assert [record["reply"]["result"]["id"] for record in found] == [f"t{number}" for number in range(500)]

    def answered() -> Counter[str]:
        lines = map(json.loads, logged(local_aws, f"semif-{REAL}"))
        return Counter(
            line["inference_id"]
            for line in lines
            if line.get("message") == "request" and line["status"] == 200
        )

    requests = eventually(answered, lambda requests: requests.total() >= 500)
    assert len(requests) == 500
    assert set(requests.values()) == {1}
