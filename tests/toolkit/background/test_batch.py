"""Transform jobs as they are asked for and found again; deployments of mode batch, on recorded replies."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from botocore.validate import ParamValidator
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from semif.aws.clients import Aws
from semif.background.request_file import RequestLine
from semif.background.transform.file_transform import NAME_DIGITS
from semif.background.transform.jobs import job_pattern, job_request, jobs_of
from semif.background.transform.parts import LINES_PER_PART, MAX_PARTS, PART_BYTES, cut
from semif.cli import main
from semif.deployment.stages import deploy_endpoint, destroy
from semif.environment.environment import Environment, load_environment, read_environment
from semif.errors import SemifError
from semif.lock.lock_file import TEMPLATE_METADATA, Lock, lock_path, write_lock
from semif.project.root import PROJECT_VARIABLE, project_root
from semif.target.account import check_account
from semif.target.target import Target
from tests.support.servers.recorded import Recorded, Reply

NAME = "demo-batch"
WORK = "0123456789ab"
EXAMPLE = json.loads((Path(__file__).parents[2] / "infra" / "locks" / f"{NAME}.json").read_bytes())
LOCK = Lock.model_validate({key: value for key, value in EXAMPLE.items() if key != "example"})
KEY_ARN = "arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-3333-4444-555555555555"
TIMES = {"CreationTime": 0}


def environment_of(tmp_path: Path, instance_type: str, more: str = "") -> Environment:
    path = tmp_path / "nightly.toml"
    path.write_text(
        'kind = "decision"\nremoval = "destroy"\n[model]\npreset = "embedded"\n'
        f'[endpoint]\nmode = "batch"\ninstance_type = "{instance_type}"\n{more}'
    )
    return read_environment(path)


@pytest.fixture(scope="module")
def account() -> Recorded:
    """One for all tests here: its clients take a second to make."""
    return Recorded("cloudformation", "sagemaker", "logs", "sts", "service_quotas", "ssm", "s3")


@pytest.mark.parametrize(
    ("instance_type", "more", "resources", "at_once"),
    [
        ("ml.c6i.large", "", {}, 4),
        ("ml.c6i.large", "[adapter]\nmax_in_flight = 2\n", {}, 2),
        ("ml.c6i.large", f'[encryption]\nkms_key_arn = "{KEY_ARN}"\n', {"VolumeKmsKeyId": KEY_ARN}, 4),
        (
            "ml.g6.xlarge",
            f'[encryption]\nkms_key_arn = "{KEY_ARN}"\n',  # the type has disks of its own
            {"TransformAmiVersion": "al2-ami-sagemaker-batch-gpu-535"},
            16,
        ),
    ],
)
def test_what_a_job_is_asked_for_is_what_sagemaker_takes_and_the_adapter_can_do(
    account: Recorded, tmp_path: Path, instance_type: str, more: str, resources: dict[str, str], at_once: int
) -> None:
    environment = environment_of(tmp_path, instance_type, more)
    asked = job_request(environment, bucket="files", instances=3, model="model", name="semif-nightly-1")
    shape = account.aws.sagemaker.meta.service_model.operation_model("CreateTransformJob").input_shape
    assert not ParamValidator().validate(asked, shape).has_errors()
    kinds = shape.members["TransformResources"].members["InstanceType"].enum  # type: ignore[union-attr]  # botocore's
    assert asked["TransformResources"]["InstanceType"] in kinds
    assert asked["TransformResources"] == {"InstanceCount": 3, "InstanceType": instance_type} | resources
    assert asked["MaxConcurrentTransforms"] == at_once <= environment.settings.max_in_flight
    client = asked["ModelClientConfig"]
    assert environment.settings.deadline_seconds < client["InvocationsTimeoutInSeconds"] <= 3600
    assert asked["TransformOutput"].get("KmsKeyId") == (KEY_ARN if "encryption" in more else None)
    assert (asked["BatchStrategy"], asked["TransformInput"]["SplitType"]) == ("SingleRecord", "Line")
    assert asked["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"].endswith("/semif-nightly-1/")
    assert {"Key": "semif:environment", "Value": "nightly"} in asked["Tags"]


@given(st.lists(st.integers(1, 4_000_000), max_size=40), st.integers(0, 400))
def test_parts_hold_every_line_once_in_order_and_are_neither_too_long_nor_too_large(
    sizes: list[int], short: int
) -> None:
    lines = [RequestLine(number, 0, size, None) for number, size in enumerate([*sizes, *[100] * short], 1)]
    parts = cut(lines)
    assert [line for part in parts for line in part.lines] == lines
    assert [part.name for part in parts] == [f"part-{number:06}.jsonl" for number in range(1, len(parts) + 1)]
    assert all(1 <= len(part.lines) <= LINES_PER_PART for part in parts)
    assert all(len(part.lines) == 1 or sum(line.size for line in part.lines) <= PART_BYTES for part in parts)
    small = [part for part in parts[:-1] if len(part.lines) < LINES_PER_PART]
    assert all(sum(line.size for line in part.lines) > PART_BYTES - 4_000_000 for part in small)


def test_a_file_of_many_lines_has_longer_parts() -> None:
    lines = [RequestLine(number, 0, 1, None) for number in range(LINES_PER_PART * MAX_PARTS + 1)]
    assert {len(part.lines) for part in cut(lines)[:-1]} == {LINES_PER_PART + 1}


def test_jobs_of_an_environment_whose_name_goes_on_are_others(account: Recorded) -> None:
    names = [
        f"semif-dev-{WORK}-2",
        f"semif-dev-two-{WORK}-1",
        f"semif-dev-{WORK}-1",
        f"semif-dev-{WORK}-{WORK}-1",
        "semif-dev-something",
    ]
    summaries = [
        {"TransformJobName": name, "TransformJobArn": "a", "TransformJobStatus": "Completed", **TIMES}
        for name in names
    ]
    account.clear()
    account.tell(account.aws.sagemaker, "list_transform_jobs", {"TransformJobSummaries": summaries})
    assert [job.name for job in jobs_of(account.aws, "semif-dev")] == [names[0], names[2]]
    assert [job.attempt for job in jobs_of(account.aws, "semif-dev", WORK)] == [2, 1]
    longest = f"semif-{'n' * 40}-{'0' * NAME_DIGITS}-999"
    assert len(longest) <= 63
    assert job_pattern(f"semif-{'n' * 40}").fullmatch(longest)


@pytest.fixture
def target(account: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    """The environment of mode batch in a project of its own and an account that is recorded."""
    for folder in ("environments", "models"):
        shutil.copytree(project_root() / folder, tmp_path / folder)
    for name in ("adapter_image", "buildspec.yml"):
        (tmp_path / name).symlink_to(project_root() / name)
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    cdk = tmp_path / "node_modules" / ".bin" / "cdk"
    cdk.parent.mkdir(parents=True)
    write = f'echo "{{}}" > "$2/Semif-{NAME}-Endpoint.template.json"'
    cdk.write_text(
        f'#!/bin/sh\ntest "$1" = synth || exit 0\nwhile [ "$1" != --output ]; do shift; done\n{write}\n'
    )
    cdk.chmod(0o755)
    account.clear()
    path = lock_path(NAME)
    write_lock(path, LOCK)
    return Target(
        tmp_path, load_environment(NAME), account.aws, LOCK.account, path, local=False, poll_seconds=0
    )


def tell_model(account: Recorded, *, image: str = LOCK.image_uri) -> None:
    stack = {
        "StackName": f"Semif-{NAME}-Endpoint",
        "StackStatus": "CREATE_COMPLETE",
        "Outputs": [{"OutputKey": "BucketName", "OutputValue": "files"}],
        **TIMES,
    }
    account.tell(account.aws.cloudformation, "describe_stacks", {"Stacks": [stack]})
    template = {"Resources": {}, "Metadata": {TEMPLATE_METADATA: LOCK.content()}}
    account.tell(account.aws.cloudformation, "get_template", {"TemplateBody": json.dumps(template)})
    resource = {
        "LogicalResourceId": "Model1A2B",
        "PhysicalResourceId": "arn:aws:sagemaker:eu-central-1:111122223333:model/model-1",
        "ResourceType": "AWS::SageMaker::Model",
        "LastUpdatedTimestamp": 0,
        "ResourceStatus": "CREATE_COMPLETE",
    }
    account.tell(account.aws.cloudformation, "list_stack_resources", {"StackResourceSummaries": [resource]})
    container = {"Image": image, "ModelDataUrl": LOCK.model.address}
    model = {"ModelName": "Model-1", "ModelArn": "a" * 20, "PrimaryContainer": container, **TIMES}
    account.tell(account.aws.sagemaker, "describe_model", model)


def job(status: str, **more: Any) -> Reply:
    name = {
        "TransformJobName": f"semif-{NAME}-{WORK}-1",
        "TransformJobArn": "a",
        "TransformJobStatus": status,
    }
    return {**name, **TIMES, **more}


def test_a_deployment_ends_with_the_model_that_the_lock_pins(account: Recorded, target: Target) -> None:
    tell_model(account)
    assert deploy_endpoint(target, lambda _: None) == LOCK
    assert "DescribeEndpoint" not in account.asked
    tell_model(account, image=f"{LOCK.image_uri.partition('@')[0]}@sha256:{'0' * 64}")
    with pytest.raises(SemifError, match=r"the model Model-1 has the image .*, the lock pins"):
        deploy_endpoint(target, lambda _: None)


def test_status_tells_of_the_model_and_the_last_jobs(
    account: Recorded, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Aws, "from_profile", lambda **_: account.aws)
    account.tell(account.aws.sts, "get_caller_identity", {"Account": LOCK.account})
    tell_model(account)
    jobs = {"TransformJobSummaries": [job("Failed", FailureReason="ClientError: See job logs")]}
    account.tell(account.aws.sagemaker, "list_transform_jobs", jobs)
    shown = CliRunner().invoke(main, ["status", NAME])
    assert shown.exit_code == 0, shown.stderr
    assert "transform jobs run what the lock pins" in shown.stdout
    assert "Failed, ClientError: See job logs" in shown.stdout
    told = json.loads(CliRunner().invoke(main, ["status", NAME, "--json"]).stdout)
    assert told["model"]["name"] == "Model-1"
    assert [found["status"] for found in told["jobs"]] == ["Failed"]
    assert "endpoint" not in told


def test_jobs_that_run_are_stopped_before_all_goes(account: Recorded, target: Target) -> None:
    sagemaker = account.aws.sagemaker
    account.tell(sagemaker, "list_transform_jobs", {"TransformJobSummaries": [job("InProgress")]})
    account.tell(sagemaker, "stop_transform_job", {})
    resources = {"InstanceCount": 1, "InstanceType": "ml.c6i.large"}
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://files/lines/"}}
    rest = {"ModelName": "m", "TransformInput": {"DataSource": source}, "TransformResources": resources}
    account.tell(sagemaker, "describe_transform_job", job("Stopping", **rest), job("Stopped", **rest))
    missing = ("ValidationError", f"Stack with id Semif-{NAME}-Endpoint does not exist")
    account.tell(account.aws.cloudformation, "describe_stacks", missing)
    assert destroy(target, lambda _: None) == []
    asked = [name for name in account.asked if "TransformJob" in name]
    assert asked == ["ListTransformJobs", "StopTransformJob", "DescribeTransformJob", "DescribeTransformJob"]


def test_the_quota_is_that_of_transform_jobs(account: Recorded, target: Target) -> None:
    account.tell(account.aws.sts, "get_caller_identity", {"Account": LOCK.account})
    account.tell(account.aws.ssm, "get_parameter", {"Parameter": {"Value": "30"}})
    name = "ml.c6i.large for transform job usage"
    quota = {"QuotaName": name, "QuotaCode": "L-1", "Value": 0.0}
    account.tell(account.aws.service_quotas, "list_service_quotas", {"Quotas": [quota]})
    (problem,) = check_account(account.aws, target.environment).problems
    assert f'the quota "{name}" (L-1)' in problem
