"""Deploying the endpoint and going back, against recorded replies of AWS and a stand-in for the CDK's CLI.

What SageMaker and CloudFormation do in an update is not seen here: their replies are what their API allows.
"""

import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from semif.aws.clients import Aws
from semif.aws.expiry import read_expiry
from semif.cli import main
from semif.deployment.endpoint.watch import EndpointLook, OnLook
from semif.deployment.removal import gap_of
from semif.deployment.rollback import find_rollback, settled_lock
from semif.deployment.stages import deploy_endpoint, destroy, roll_back
from semif.environment.environment import load_environment
from semif.errors import ProblemsError, SemifError
from semif.lock.lock_file import TEMPLATE_METADATA, read_lock, write_lock
from semif.target.target import Target
from tests.support.servers.recorded import Recorded, Reply
from tests.support.servers.recorded_deletion import FULL, GONE, NAME, RecordedStack
from tests.support.servers.recorded_deployment import (
    cdk,
    configured,
    endpoint,
    fleet,
    lock_of,
    recorded_target,
    tell_endpoint,
    tell_stack,
)

OLD, NEW = lock_of("1"), lock_of("2")


@pytest.fixture(scope="module")
def account() -> Recorded:
    """One for all tests here: its clients take a second to make."""
    services = ("cloudformation", "sagemaker", "sagemaker_runtime", "logs", "sts", "s3")
    return Recorded(*services, "service_quotas", "application_autoscaling", "pricing")


@pytest.fixture
def target(account: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    """The demo environment, whose lock is NEW, in a project of its own and an account that is recorded."""
    return recorded_target(account, tmp_path, monkeypatch, NEW)


def tell_log(account: Recorded, *streams: tuple[str, int]) -> None:
    """The log's streams by name and creation in milliseconds; one of them holds two lines."""
    told = [{"logStreamName": name, "creationTime": created} for name, created in streams]
    account.tell(account.aws.logs, "describe_log_streams", {"logStreams": told})
    lines = ["loading", "semif_adapter: cannot start: no model in /opt/ml/model\n"]
    events = [{"timestamp": 1, "message": line, "ingestionTime": 1} for line in lines]
    account.tell(account.aws.logs, "get_log_events", {"events": events})


FAR = 10**14
"""Milliseconds: later than any deployment here begins."""


def cdk_ends_once_seen(target: Target, count: int) -> tuple[list[str], OnLook]:
    """A CLI that ends when the endpoint was looked at `count` times; what was seen, and who looks."""
    os.mkfifo(target.root / "seen")
    cdk(target, "read _ <seen; echo deployed")
    seen: list[str] = []

    def look(found: EndpointLook) -> None:
        seen.append(found.summary)
        if len(seen) == count:
            (target.root / "seen").write_text("\n")

    return seen, look


def test_a_deployment_tells_how_the_endpoint_is_and_keeps_the_lock_before(
    account: Recorded, target: Target
) -> None:
    pending = {"EndpointConfigName": "config-new", "ProductionVariants": fleet(0, 2, "Creating")}
    looks = [
        endpoint("InService", "config-old", ProductionVariants=fleet(2, 2)),
        endpoint("Updating", "config-old", ProductionVariants=fleet(2, 2), PendingDeploymentSummary=pending),
        endpoint("Updating", ProductionVariants=fleet(2, 2, "Baking")),
        endpoint("InService", ProductionVariants=fleet(2, 2)),
    ]
    tell_stack(account, OLD)
    tell_endpoint(account, NEW, looks[0], *looks, before=OLD)
    seen, look = cdk_ends_once_seen(target, len(looks))
    lines: list[str] = []

    assert deploy_endpoint(target, lines.append, look) == NEW
    assert seen[:4] == [
        "InService, 2 of 2 instances",
        "Updating, 0 of 2 instances, Creating",
        "Updating, 2 of 2 instances, Baking",
        "InService, 2 of 2 instances",
    ]
    assert lines == ["deployed"]
    assert read_lock(target.previous_lock_path) == OLD
    assert read_lock(target.lock_path) == NEW


@pytest.mark.parametrize("watched", [True, False])
def test_new_instances_that_take_over_are_asked_where_alarms_are_watched(
    account: Recorded, target: Target, watched: bool
) -> None:
    if watched:
        path = target.root / "environments" / "demo.toml"
        path.write_text(path.read_text() + '\n[alarms]\n[deployment]\nstrategy = "all-at-once"\n')
        target = replace(target, environment=load_environment("demo"))
    looks = [
        endpoint("InService", "config-old", ProductionVariants=fleet(2, 2)),
        endpoint("Updating", ProductionVariants=fleet(2, 2, "Baking")),
        endpoint("InService", ProductionVariants=fleet(2, 2)),
    ]
    tell_stack(account, OLD)
    tell_endpoint(account, NEW, looks[0], *looks, before=OLD)
    account.tell(account.aws.sagemaker_runtime, "invoke_endpoint", ("ValidationError", "no such endpoint"))
    _, look = cdk_ends_once_seen(target, len(looks))
    lines: list[str] = []

    deploy_endpoint(target, lines.append, look)
    assert lines[0] == "deployed"
    assert account.asked.count("InvokeEndpoint") == (1 if watched else 0)
    if watched:  # what the request came to is told, and whether the update goes back is for the alarms to say
        assert lines[1].startswith("asked 1 small requests while the new instances took over, 0 went well; ")
        assert "no such endpoint" in lines[1]


def test_a_first_deployment_has_nothing_to_go_back_to(account: Recorded, target: Target) -> None:
    write_lock(target.previous_lock_path, OLD)  # of a deployment that was destroyed since
    tell_stack(account, None)
    missing = ("ValidationException", "Could not find endpoint")
    tell_endpoint(account, NEW, missing, missing, endpoint("InService"))
    cdk(target, "exit 0")
    deploy_endpoint(target, lambda _: None)
    assert not target.previous_lock_path.exists()


def test_a_deployment_of_the_same_pins_keeps_the_lock_before_them(account: Recorded, target: Target) -> None:
    write_lock(target.previous_lock_path, OLD)
    tell_stack(account, NEW)
    tell_endpoint(account, NEW, endpoint("InService"))
    cdk(target, "exit 0")
    deploy_endpoint(target, lambda _: None)
    assert read_lock(target.previous_lock_path) == OLD


def test_another_model_alone_is_another_deployment(account: Recorded, target: Target) -> None:
    model = NEW.model.model_copy(update={"s3_uri": NEW.model.address.replace("/models/", "/older/")})
    before = NEW.model_copy(update={"model": model})
    tell_stack(account, before)
    tell_endpoint(account, NEW, endpoint("InService"), before=before)
    cdk(target, "exit 0")
    deploy_endpoint(target, lambda _: None)
    assert read_lock(target.previous_lock_path) == before


def test_an_update_that_sagemaker_rolled_back_is_no_success(account: Recorded, target: Target) -> None:
    """In service, on the right pins even, CloudFormation content: only the configuration tells."""
    tell_stack(account, OLD)
    tell_endpoint(account, NEW, endpoint("InService", "config-old"), before=OLD)
    tell_log(account)
    cdk(target, "exit 0")
    with pytest.raises(SemifError, match="runs the configuration config-old, its stack has config-new"):
        deploy_endpoint(target, lambda _: None)
    assert read_lock(target.previous_lock_path) == OLD, "the stack does not know it any more"

    # What never came into service is nothing to go back to: OLD stays.
    tell_stack(account, NEW)
    tell_endpoint(account, lock_of("3"), endpoint("InService"), before=OLD)
    write_lock(target.lock_path, lock_of("3"))
    deploy_endpoint(target, lambda _: None)
    assert read_lock(target.previous_lock_path) == OLD


def test_a_failure_reason_is_no_success(account: Recorded, target: Target) -> None:
    tell_log(account)
    cdk(target, "exit 0")
    tell_stack(account, OLD, config="config-old")
    tell_endpoint(account, OLD, endpoint("InService", "config-old", FailureReason="no capacity"))
    with pytest.raises(SemifError) as caught:
        deploy_endpoint(target, lambda _: None)
    assert "SageMaker says: no capacity" in str(caught.value)
    assert "it runs the image" in str(caught.value)


def test_a_failed_deployment_tells_the_reason_and_the_containers_last_lines(
    account: Recorded, target: Target
) -> None:
    reason = "The primary container did not pass the ping health check."
    tell_stack(account, OLD)
    tell_endpoint(
        account,
        OLD,
        endpoint("InService", "config-old", FailureReason="of an earlier day"),
        endpoint("InService", "config-old", FailureReason="of an earlier day"),
        endpoint("Updating", "config-old"),
        endpoint("RollingBack", "config-old", FailureReason=reason),
        endpoint("InService", "config-old", FailureReason=reason),
    )
    tell_log(
        account, ("AllTraffic/i-old", 1), ("AllTraffic/i-new", FAR), ("AllTraffic/i-new/data-log", FAR + 1)
    )
    os.mkfifo(target.root / "seen")
    cdk(target, "read _ <seen; echo UPDATE_FAILED; exit 1")
    seen: list[str] = []

    def look(found: EndpointLook) -> None:
        seen.append(found.status)
        if len(seen) == 4:
            (target.root / "seen").write_text("\n")

    with pytest.raises(SemifError) as caught:
        deploy_endpoint(target, lambda _: None, look)
    assert str(caught.value).splitlines() == [
        "cdk deploy Semif-demo-Endpoint failed with status 1",
        "  UPDATE_FAILED",
        f"SageMaker says: {reason}",
        "the last lines of the container AllTraffic/i-new:",
        "  loading",
        "  semif_adapter: cannot start: no model in /opt/ml/model",
    ]


def test_a_failure_before_the_endpoint_is_touched_tells_no_old_tales(
    account: Recorded, target: Target
) -> None:
    tell_stack(account, OLD)
    tell_endpoint(account, OLD, endpoint("InService", "config-old", FailureReason="of an earlier day"))
    tell_log(account, ("AllTraffic/i-old", 1))
    cdk(target, "echo no synthesis; exit 1")
    with pytest.raises(SemifError) as caught:
        deploy_endpoint(target, lambda _: None)
    assert str(caught.value).splitlines()[1:] == ["  no synthesis"]


def test_what_may_not_be_read_hides_no_failure(account: Recorded, target: Target) -> None:
    tell_stack(account, OLD)
    tell_endpoint(account, OLD, endpoint("InService", "config-old"))
    account.tell(account.aws.logs, "describe_log_streams", ("AccessDeniedException", "not you"))
    cdk(target, "echo UPDATE_FAILED; exit 1")
    with pytest.raises(SemifError) as caught:
        deploy_endpoint(target, lambda _: None)
    unseen = (
        "the endpoint or its log could not be looked at: the AWS credentials do not allow DescribeLogStreams"
    )
    assert str(caught.value).splitlines()[1:] == ["  UPDATE_FAILED", f"{unseen}: not you"]


def tell_quota(account: Recorded, value: float) -> None:
    quota = {"QuotaName": "ml.c6i.large for endpoint usage", "QuotaCode": "L-1", "Value": value}
    account.tell(account.aws.service_quotas, "list_service_quotas", {"Quotas": [quota]})


def tell_scaled(account: Recorded, *, scaled: bool) -> None:
    target = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": "endpoint/semif-demo/variant/AllTraffic",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "MinCapacity": 1,
        "MaxCapacity": 4,
        "RoleARN": "arn",
        "CreationTime": 0,
    }
    told = {"ScalableTargets": [target] if scaled else []}
    account.tell(account.aws.application_autoscaling, "describe_scalable_targets", told)


def test_an_update_without_quota_is_refused_before_the_cdk_deploys(account: Recorded, target: Target) -> None:
    tell_stack(account, OLD)
    tell_endpoint(account, NEW, endpoint("InService", ProductionVariants=fleet(1, 1)))
    tell_quota(account, 1)
    cdk(target, "touch deployed", configured("ml.c6i.large"))
    with pytest.raises(ProblemsError) as caught:
        deploy_endpoint(target, lambda _: None)
    (problem,) = caught.value.problems
    assert "needed are 2" in problem
    assert "or `semif deploy demo --recreate`" in problem
    assert not (target.root / "deployed").exists()

    # What moves nothing needs no quota.
    cdk(target, "touch deployed")
    deploy_endpoint(target, lambda _: None)
    assert (target.root / "deployed").exists()


def test_a_quota_that_may_not_be_looked_up_keeps_nobody(account: Recorded, target: Target) -> None:
    tell_stack(account, OLD)
    tell_endpoint(account, NEW, endpoint("InService", ProductionVariants=fleet(1, 1)))
    account.tell(account.aws.service_quotas, "list_service_quotas", ("AccessDeniedException", "not you"))
    cdk(target, "touch deployed", configured("ml.c6i.large"))
    deploy_endpoint(target, lambda _: None)
    assert (target.root / "deployed").exists()


def test_other_types_of_a_scaled_endpoint_are_refused_with_the_steps(
    account: Recorded, target: Target
) -> None:
    tell_stack(account, NEW)
    tell_endpoint(account, NEW, endpoint("InService", ProductionVariants=fleet(3, 3)))
    tell_quota(account, 9)
    tell_scaled(account, scaled=True)
    cdk(target, "touch deployed", configured("ml.c5.large", "ml.c5.xlarge"))
    with pytest.raises(ProblemsError) as caught:
        deploy_endpoint(target, lambda _: None)
    (problem,) = caught.value.problems
    assert "change from ml.c6i.large to ml.c5.large, ml.c5.xlarge while Application Auto Scaling" in problem
    assert (
        '(1) write instance_type = "ml.c6i.large" again in environments/demo.toml, initial_instance_count = 3'
        " and no [scaling], and run `semif deploy demo`; (2) write the new types" in problem
    )
    assert not (target.root / "deployed").exists()

    for template, scaled in ((configured("ml.c5.large"), False), (configured("ml.c6i.large"), True)):
        (target.root / "deployed").unlink(missing_ok=True)
        tell_scaled(account, scaled=scaled)
        cdk(target, "touch deployed", template)
        deploy_endpoint(target, lambda _: None)
        assert (target.root / "deployed").exists()


QUEUE = {"OutputConfig": {"S3OutputPath": "s3://bucket/answers/"}}


@pytest.mark.parametrize(
    ("running", "wanted"), [({}, {"AsyncInferenceConfig": QUEUE}), ({"AsyncInferenceConfig": QUEUE}, {})]
)
def test_another_mode_is_refused_with_the_ways_to_it(
    account: Recorded, target: Target, running: dict[str, Any], wanted: dict[str, Any]
) -> None:
    tell_stack(account, NEW)
    tell_endpoint(account, NEW, endpoint("InService", ProductionVariants=fleet(1, 1), **running))
    tell_quota(account, 9)
    template = configured("ml.c6i.large")
    template["Resources"]["Config"]["Properties"] |= wanted
    cdk(target, "touch deployed", template)
    with pytest.raises(ProblemsError) as caught:
        deploy_endpoint(target, lambda _: None)
    (problem,) = caught.value.problems
    before, after = ("realtime", "async") if wanted else ("async", "realtime")
    assert problem.startswith(f"its mode changes from {before} to {after}, and SageMaker updates no endpoint")
    assert "give the new one another name (endpoint_name in [endpoint] of environments/demo.toml)" in problem
    assert problem.endswith("`semif deploy demo --recreate`")
    assert not (target.root / "deployed").exists()

    template["Resources"]["Config"]["Properties"] |= {"AsyncInferenceConfig": QUEUE} if running else {}
    if wanted:
        del template["Resources"]["Config"]["Properties"]["AsyncInferenceConfig"]
    cdk(target, "touch deployed", template)
    deploy_endpoint(target, lambda _: None)
    assert (target.root / "deployed").exists()


def test_made_anew_it_needs_no_quota_and_keeps_the_lock_before(account: Recorded, target: Target) -> None:
    name = "Semif-demo-Endpoint"
    stack = {"StackName": name, "StackId": "arn", "CreationTime": 0, "StackStatus": "UPDATE_COMPLETE"}
    tell_stack(account, OLD)
    gone, there = ("ValidationError", "Stack with id arn does not exist"), {"Stacks": [stack]}
    account.tell(account.aws.cloudformation, "describe_stacks", there, there, gone, there)
    account.tell(account.aws.cloudformation, "delete_stack", {})
    looks = [endpoint("InService", ProductionVariants=fleet(1, 1)), endpoint("InService")]
    tell_endpoint(account, NEW, *looks, before=OLD)
    cdk(target, "touch deployed", configured("ml.c6i.large"))
    deploy_endpoint(target, lambda _: None, recreate=True)
    assert account.asked.count("DeleteStack") == 1
    assert (target.root / "deployed").exists()
    assert read_lock(target.previous_lock_path) == OLD


def test_what_cannot_be_synthesised_is_not_deleted(account: Recorded, target: Target) -> None:
    tell_stack(account, OLD)
    tell_endpoint(account, NEW, endpoint("InService"))
    cdk(target, "exit 0")
    (target.root / "template.json").unlink()
    with pytest.raises(SemifError, match=r"cdk synth .* failed"):
        deploy_endpoint(target, lambda _: None, recreate=True)
    assert "DeleteStack" not in account.asked


def test_the_gap_is_told_before_it_is_made(account: Recorded, target: Target) -> None:
    tell_stack(account, OLD)
    tell_endpoint(account, OLD, endpoint("InService", ProductionVariants=fleet(3, 3)))
    told = list(gap_of(target))
    assert told[0] == "semif-demo in account 111122223333, eu-central-1 is InService on 3 instances."
    environment = target.environment
    usual, longest = environment.start_seconds // 60, environment.longest_start_seconds // 60
    assert f"usually {usual} minutes, up to {longest}, and the minutes of the deletion" in told[1]
    assert told[2] == "The new one starts with 1."
    tell_stack(account, None)
    assert list(gap_of(target)) == []


def test_the_command_asks_before_it_makes_an_endpoint_anew(
    account: Recorded, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Aws, "from_profile", lambda **_: account.aws)
    account.tell(account.aws.sts, "get_caller_identity", {"Account": NEW.account})
    tell_stack(account, OLD)
    tell_endpoint(account, OLD, endpoint("InService", ProductionVariants=fleet(1, 1)))
    asked = CliRunner().invoke(main, ["deploy", "demo", "--recreate"], input="n\n")
    assert asked.exit_code == 1
    assert "Nobody is answered from its deletion until the new one has started" in asked.stderr
    assert "Delete it, and make it anew?" in asked.stderr
    assert "DeleteStack" not in account.asked
    assert CliRunner().invoke(main, ["deploy", "demo", "--yes"]).exit_code == 2


def test_what_is_deployed_is_known_from_the_stack(account: Recorded, target: Target) -> None:
    tell_stack(account, OLD)
    assert settled_lock(target) == OLD
    tell_stack(account, OLD, status="ROLLBACK_COMPLETE")  # its creation failed: that template runs nowhere
    assert settled_lock(target) is None
    tell_stack(account, OLD)
    for template in ({}, {"Metadata": {TEMPLATE_METADATA: {"schema": 9}}}):
        account.tell(account.aws.cloudformation, "get_template", {"TemplateBody": json.dumps(template)})
        assert settled_lock(target) is None
    tell_stack(account, None)
    with pytest.raises(SemifError, match="run `semif deploy demo`"):
        find_rollback(target)


def test_a_rollback_goes_to_the_lock_before_and_the_next_one_forward_again(
    account: Recorded, target: Target
) -> None:
    write_lock(target.previous_lock_path, OLD)
    cdk(target, "exit 0")
    for deployed, wanted in ((NEW, OLD), (OLD, NEW)):
        tell_stack(account, deployed)
        tell_endpoint(account, wanted, endpoint("InService"), before=deployed)
        assert find_rollback(target) == (deployed, wanted)
        assert roll_back(target, wanted, lambda _: None) == wanted
        assert read_lock(target.lock_path) == wanted
        assert read_lock(target.previous_lock_path) == deployed


def test_a_rollback_that_fails_leaves_the_lock_as_it_was(account: Recorded, target: Target) -> None:
    tell_stack(account, NEW)
    tell_endpoint(account, NEW, endpoint("InService"))
    tell_log(account)
    cdk(target, "exit 1")
    with pytest.raises(SemifError, match="failed with status 1"):
        roll_back(target, OLD, lambda _: None)
    assert read_lock(target.lock_path) == NEW


def test_without_a_lock_before_there_is_no_way_back(account: Recorded, target: Target) -> None:
    tell_stack(account, NEW)
    with pytest.raises(
        SemifError, match=r"there is no .*demo\.previous\.lock\.json: this checkout has seen no"
    ):
        find_rollback(target)


def test_a_lock_that_is_not_deployed_is_put_back_to_the_one_that_is(
    account: Recorded, target: Target
) -> None:
    write_lock(target.previous_lock_path, lock_of("0"))
    tell_stack(account, OLD)
    assert find_rollback(target) == (OLD, OLD)
    target.lock_path.write_text("<<<<<<< HEAD\n")
    assert find_rollback(target) == (OLD, OLD)


def test_an_environment_that_fits_the_lock_before_no_more_must_go_back_too(
    account: Recorded, target: Target
) -> None:
    model = OLD.model.model_copy(update={"preset": "gemma-270m"})
    write_lock(target.previous_lock_path, OLD.model_copy(update={"model": model}))
    tell_stack(account, NEW)
    with pytest.raises(ProblemsError) as caught:
        find_rollback(target)
    assert "model.preset is 'gemma-270m'" in caught.value.problems[0]
    assert "put the environment's file and its preset back first" in caught.value.problems[-1]


def test_the_command_says_what_changes_and_asks(
    account: Recorded, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Aws, "from_profile", lambda **_: account.aws)
    account.tell(account.aws.sts, "get_caller_identity", {"Account": NEW.account})
    write_lock(target.previous_lock_path, OLD)
    tell_stack(account, NEW)
    tell_endpoint(account, OLD, endpoint("InService"))
    cdk(target, "touch deployed")
    asked = CliRunner().invoke(main, ["rollback", "demo"], input="n\n")
    assert asked.exit_code == 1
    assert f"image  {NEW.image_uri}\n    to {OLD.image_uri}\n" in asked.stderr
    assert f"model  {NEW.model.address} stays\n" in asked.stderr
    assert "Go back with semif-demo in account 111122223333, eu-central-1?" in asked.stderr
    assert read_lock(target.lock_path) == NEW
    assert not (target.root / "deployed").exists()

    tell_stack(account, OLD)
    back = CliRunner().invoke(main, ["rollback", "demo", "--yes", "--json"])
    assert back.exit_code == 0, back.stderr
    assert json.loads(back.stdout)["from"] == json.loads(back.stdout)["to"]
    assert "the lock on disk is not what is deployed; it is put back" in back.stderr
    assert read_lock(target.lock_path) == OLD
    assert not (target.root / "deployed").exists()


def tell_bucket(account: Recorded, *names: str) -> None:
    """The buckets that the stack made."""
    made = [
        {
            "LogicalResourceId": "Bucket",
            "PhysicalResourceId": name,
            "ResourceType": "AWS::S3::Bucket",
            "LastUpdatedTimestamp": 0,
            "ResourceStatus": "CREATE_COMPLETE",
        }
        for name in names
    ]
    account.tell(account.aws.cloudformation, "list_stack_resources", {"StackResourceSummaries": made})


def test_a_bucket_that_got_answers_while_its_endpoint_went_is_emptied_again(
    account: Recorded, target: Target
) -> None:
    stack = RecordedStack(account, FULL, outputs={"BucketName": "answered"})
    tell_bucket(account, "answered")
    answer = {"Versions": [{"Key": "answers/j/1", "VersionId": "null"}]}
    account.tell(account.aws.s3, "list_object_versions", {}, answer, {})
    account.tell(account.aws.s3, "delete_objects", {})
    assert destroy(target, lambda _: None) == [NAME]
    assert len(stack.requests) == 2
    assert account.asked.count("DeleteObjects") == 1


@pytest.mark.parametrize("earlier", [False, True])
def test_what_is_gone_is_left_out_whatever_would_not_go_before(
    account: Recorded, target: Target, earlier: bool
) -> None:
    """A bucket that was not empty, in the attempt before or in somebody's of last week."""
    stack = RecordedStack(account, *([] if earlier else [FULL]), GONE, outputs={"BucketName": "answered"})
    if earlier:
        stack.failed_before(FULL, token="last-week")
    tell_bucket(account, "answered")
    account.tell(account.aws.s3, "list_object_versions", {})
    account.tell(
        account.aws.sagemaker, "describe_endpoint", ("ValidationException", "Could not find endpoint")
    )
    lines: list[str] = []
    assert destroy(target, lines.append) == [NAME]
    assert "leaving out what is gone: Endpoint" in lines
    without = [request.get("RetainResources.member.1") for request in stack.requests]
    assert without == [*([] if earlier else [None]), None, "Endpoint"]


def test_a_bucket_that_the_stack_did_not_make_is_never_emptied(account: Recorded, target: Target) -> None:
    """Whatever the file says: a bucket may have come out of it since the last deployment."""
    name = "Semif-demo-Endpoint"
    stack = {"StackName": name, "StackId": "arn", "CreationTime": 0, "StackStatus": "CREATE_COMPLETE"}
    outputs = [{"OutputKey": "BucketName", "OutputValue": "our-requests"}]
    account.tell(
        account.aws.cloudformation,
        "describe_stacks",
        {"Stacks": [stack | {"Outputs": outputs}]},
        ("ValidationError", "Stack with id arn does not exist"),
    )
    account.tell(account.aws.cloudformation, "delete_stack", {})
    tell_bucket(account)
    lines: list[str] = []
    assert target.environment.removal == "destroy"
    assert destroy(target, lines.append) == [name]
    assert lines == [f"our-requests was there before {name}, and stays as it is"]
    assert not {"ListObjectVersions", "DeleteObjects"} & set(account.asked)


def test_who_destroys_is_told_first_what_stays(
    account: Recorded, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Aws, "from_profile", lambda **_: account.aws)
    account.tell(account.aws.sts, "get_caller_identity", {"Account": NEW.account})
    path = target.root / "environments" / "demo.toml"
    role = f"arn:aws:iam::{NEW.account}:role/hosting"
    given = f'[existing]\nrole_arn = "{role}"\nbucket = "our-models"\n'
    path.write_text(f"{path.read_text()}\n{given}")
    asked = CliRunner().invoke(main, ["destroy", "demo"], input="n\n")
    assert asked.exit_code == 1
    assert f"Not made here, and left as they are: our-models, {role}.\n" in asked.stderr
    assert ", and its images?" in asked.stderr
    assert "DeleteStack" not in account.asked


EXPIRED, FUTURE = "2026-01-01T08:00:00", "2126-01-01T08:00:00"


def tell_end(account: Recorded, *states: tuple[str, str] | None) -> None:
    """The Endpoint stack at each look: its status and its end, or that there is none (any more)."""
    told: list[Reply] = [
        ("ValidationError", "Stack with id x does not exist")
        if state is None
        else {
            "Stacks": [
                {
                    "StackName": "Semif-demo-Endpoint",
                    "StackId": "arn",
                    "CreationTime": 0,
                    "StackStatus": state[0],
                    "Outputs": [{"OutputKey": "EndpointExpiresAt", "OutputValue": state[1]}],
                }
            ]
        }
        for state in states
    ]
    account.tell(account.aws.cloudformation, "describe_stacks", *told)


def expiring(target: Target, hours: int = 8) -> Target:
    path = target.root / "environments" / "demo.toml"
    path.write_text(path.read_text().replace("[endpoint]", f"[endpoint]\nexpires_after_hours = {hours}"))
    return replace(target, environment=load_environment("demo"))


def test_each_deployment_puts_the_end_off(account: Recorded, target: Target) -> None:
    target = expiring(target)
    tell_stack(account, NEW)
    tell_endpoint(account, NEW, endpoint("InService"))
    cdk(target, 'echo "$@" >asked')
    before = datetime.now(UTC)
    deploy_endpoint(target, lambda _: None)
    told = re.search("--parameters Semif-demo-Endpoint:ExpiresAt=(\\S+)", (target.root / "asked").read_text())
    assert told is not None
    end = read_expiry(told[1])
    assert timedelta(0) <= end - before - timedelta(hours=8) <= timedelta(minutes=2)
    assert end.second == 0


@pytest.mark.parametrize("stuck", [False, True])
def test_an_endpoint_that_came_to_its_end_is_made_anew(
    account: Recorded, target: Target, stuck: bool
) -> None:
    """Its stack goes first, without what is gone where CloudFormation stumbles over that."""
    target = expiring(target)
    tell_stack(account, NEW)
    ends = [{"EndpointExpiresAt": end} for end in (EXPIRED, FUTURE)]
    stack = RecordedStack(account, *([GONE] if stuck else []), outputs=ends[0], anew=ends[1])
    missing = ("ValidationException", "Could not find endpoint")
    gone = [missing] * (3 if stuck else 2)
    tell_endpoint(account, NEW, *gone, endpoint("InService"))
    cdk(target, "exit 0")
    lines: list[str] = []
    assert deploy_endpoint(target, lines.append) == NEW
    assert lines[0] == "semif-demo came to its end; its stack is made anew"
    assert ("leaving out what is gone: Endpoint" in lines) == stuck
    assert len(stack.requests) == 1 + stuck


def test_an_endpoint_that_is_gone_before_its_end_is_no_reason_to_delete_its_stack(
    account: Recorded, target: Target
) -> None:
    target = expiring(target)
    tell_stack(account, NEW)
    tell_end(account, ("UPDATE_COMPLETE", FUTURE))
    tell_endpoint(account, NEW, ("ValidationException", "Could not find endpoint"))
    tell_log(account)
    cdk(target, "exit 0")
    with pytest.raises(SemifError, match=r"there is no endpoint semif-demo$"):
        deploy_endpoint(target, lambda _: None)
    assert "DeleteStack" not in account.asked


def test_status_tells_the_end_and_why_there_is_no_endpoint(
    account: Recorded, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Aws, "from_profile", lambda **_: account.aws)
    account.tell(account.aws.sts, "get_caller_identity", {"Account": NEW.account})
    account.tell(account.aws.pricing, "get_products", ("AccessDeniedException", "not you"))
    for name in ("adapter_image", "buildspec.yml"):  # what the image is compared with
        (target.root / name).symlink_to(Path(__file__).parents[3] / name)
    expiring(target)
    tell_end(account, ("UPDATE_COMPLETE", EXPIRED))
    tell_endpoint(account, NEW, ("ValidationException", "Could not find endpoint"))
    run = CliRunner().invoke(main, ["status", "demo"])
    assert run.exit_code == 1
    assert re.search("end +2026-01-01 08:00 UTC, [0-9]+ hours ago", run.stdout), run.output
    assert "there is no endpoint semif-demo: it came to its end (2026-01-01 08:00 UTC" in run.stdout
    assert "`semif deploy demo` makes it anew" in run.stdout
    tell_end(account, ("UPDATE_COMPLETE", FUTURE))
    told = json.loads(CliRunner().invoke(main, ["status", "demo", "--json"]).stdout)
    assert told["expires_at"] == "2126-01-01T08:00:00+00:00"
    assert "September 2026" in told["cost"][0], "no right to the price list: the dated table"
