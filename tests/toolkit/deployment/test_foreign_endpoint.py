"""An endpoint that runs what no deployment makes, or what cannot be told any more: told, and made anew."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from semif.aws.clients import Aws
from semif.cli import main
from semif.deployment.removal import gap_of
from semif.deployment.stages import deploy_endpoint
from semif.errors import SemifError
from semif.lock.lock_file import read_lock, write_lock
from semif.target.endpoint_state import find_endpoint
from semif.target.target import Target
from tests.support.servers.recorded import Recorded, Reply
from tests.support.servers.recorded_deletion import RecordedStack
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

LOCK = lock_of("1")
NAME = "Semif-demo-Endpoint"
STACK = {"StackName": NAME, "StackId": "arn", "CreationTime": 0, "StackStatus": "UPDATE_COMPLETE"}
GONE = ("ValidationError", "Stack with id arn does not exist")
ANEW = "`semif deploy demo --recreate` makes it anew"

Break = Callable[[Recorded], None]


def variants(*told: dict[str, Any]) -> Break:
    """The configuration has these variants."""
    config = {"EndpointConfigName": "config-new", "EndpointConfigArn": "a" * 20, "CreationTime": 0}
    return answers("describe_endpoint_config", config | {"ProductionVariants": list(told)})


def answers(method: str, reply: Reply) -> Break:
    """This method of SageMaker answers so."""
    return lambda account: account.tell(account.aws.sagemaker, method, reply)


MODEL = {"ModelName": "model", "ModelArn": "a" * 20, "CreationTime": 0}
ONE = {"VariantName": "AllTraffic", "ModelName": "model", "InstanceType": "ml.c6i.large"}
LOST = {
    "config": answers("describe_endpoint_config", ("ValidationException", "Could not find endpoint config…")),
    "model": answers("describe_model", ("ValidationException", 'Could not find model "arn…"')),
}
BROKEN = [
    pytest.param(LOST["config"], "its configuration config-new was deleted", id="no configuration"),
    pytest.param(LOST["model"], "its model model was deleted", id="no model"),
    pytest.param(
        variants(ONE, ONE | {"VariantName": "mine"}),
        "its configuration config-new has the variants AllTraffic and mine, a deployment makes one",
        id="two variants",
    ),
    pytest.param(
        variants({"VariantName": "AllTraffic", "InstanceType": "ml.c6i.large"}),
        "its configuration config-new names no model, as those of inference components do",
        id="inference components",
    ),
    pytest.param(
        answers("describe_model", MODEL | {"Containers": [{"Image": "a"}, {"Image": "b"}]}),
        "its model model has 2 containers, a deployment makes one",
        id="a pipeline",
    ),
]


@pytest.fixture(scope="module")
def account() -> Recorded:
    """One for all tests here: its clients take a second to make."""
    return Recorded(
        *("cloudformation", "sagemaker", "logs", "sts", "ssm", "service_quotas"),
        *("application_autoscaling", "pricing"),
    )


@pytest.fixture
def target(account: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    """The demo as it was deployed: its stack knows nothing of what became of its endpoint."""
    target = recorded_target(account, tmp_path, monkeypatch, LOCK)
    for name in ("adapter_image", "buildspec.yml"):  # what the image is compared with
        (target.root / name).symlink_to(Path(__file__).parents[3] / name)
    monkeypatch.setattr(Aws, "from_profile", lambda **_: account.aws)
    account.tell(account.aws.sts, "get_caller_identity", {"Account": LOCK.account})
    account.tell(account.aws.logs, "describe_log_streams", {"logStreams": []})
    tell_stack(account, LOCK)
    tell_endpoint(account, LOCK, endpoint("InService", ProductionVariants=fleet(2, 2)))
    return target


@pytest.mark.parametrize(("broken", "why"), BROKEN)
def test_status_says_why_nobody_can_tell_what_runs(
    account: Recorded, target: Target, broken: Break, why: str
) -> None:
    account.tell(account.aws.pricing, "get_products", ("AccessDeniedException", "not you"))
    broken(account)
    run = CliRunner().invoke(main, ["status", "demo", "--json"])
    assert run.exit_code == 1, run.output
    told = json.loads(run.stdout)
    assert told["problems"] == [f"what semif-demo runs cannot be told: {why}", ANEW]
    assert (told["endpoint"]["status"], told["endpoint"]["instances"]) == ("InService", 2)
    words = CliRunner().invoke(main, ["status", "demo"]).stdout.split()
    assert " ".join(words).count("endpoint semif-demo InService, 2 of 2 instances, ") == 1


@pytest.mark.parametrize(("broken", "why"), BROKEN)
def test_the_check_of_the_account_tells_it_too(
    account: Recorded, target: Target, broken: Break, why: str
) -> None:
    quota = {"QuotaName": "ml.c6i.large for endpoint usage", "QuotaCode": "L-1", "Value": 9.0}
    account.tell(account.aws.service_quotas, "list_service_quotas", {"Quotas": [quota]})
    account.tell(account.aws.ssm, "get_parameter", {"Parameter": {"Value": "23"}})
    broken(account)
    run = CliRunner().invoke(main, ["env", "check", "demo", "--account", "--json"])
    assert run.exit_code == 0, run.output
    (told,) = json.loads(run.stdout)["environments"]
    assert (told["problems"], told["warnings"]) == ([], [f"what semif-demo runs cannot be told: {why}"])


@pytest.mark.parametrize(("broken", "why"), BROKEN)
def test_a_deployment_that_leaves_it_so_is_no_success(
    account: Recorded, target: Target, broken: Break, why: str
) -> None:
    broken(account)
    cdk(target, "exit 0")  # the template is the same: CloudFormation sees nothing to do
    with pytest.raises(SemifError) as caught:
        deploy_endpoint(target, lambda _: None)
    assert str(caught.value).splitlines() == [f"what semif-demo runs cannot be told: {why}", ANEW]


@pytest.mark.parametrize(("broken", "why"), BROKEN)
def test_an_update_of_it_is_not_kept_by_what_cannot_be_told(
    account: Recorded, target: Target, broken: Break, why: str
) -> None:
    quota = {"QuotaName": "ml.c6i.large for endpoint usage", "QuotaCode": "L-1", "Value": 9.0}
    account.tell(account.aws.service_quotas, "list_service_quotas", {"Quotas": [quota]})
    account.tell(account.aws.application_autoscaling, "describe_scalable_targets", {"ScalableTargets": []})
    broken(account)
    cdk(target, "touch deployed", configured("ml.c6i.large"))
    with pytest.raises(SemifError, match=why):
        deploy_endpoint(target, lambda _: None)
    assert (target.root / "deployed").exists()


@pytest.mark.parametrize(("broken", "why"), BROKEN)
def test_it_can_be_made_anew(account: Recorded, target: Target, broken: Break, why: str) -> None:
    broken(account)
    assert next(iter(gap_of(target))).endswith("is InService on 2 instances.")
    there = {"Stacks": [STACK]}
    account.tell(account.aws.cloudformation, "describe_stacks", there, there, GONE)
    account.tell(account.aws.cloudformation, "delete_stack", {})
    cdk(target, "echo made")

    def on_line(line: str) -> None:
        if line == "made":
            tell_endpoint(account, LOCK, endpoint("InService"))

    assert deploy_endpoint(target, on_line, recreate=True) == LOCK
    assert account.asked.count("DeleteStack") == 1


@pytest.mark.parametrize(("config", "kept"), [("Config-New", True), ("by-hand", False)])
def test_the_lock_before_was_in_service_where_its_configuration_was(
    account: Recorded, target: Target, config: str, kept: bool
) -> None:
    """Its Model is gone, so the configuration has to tell; what somebody made by hand is no lock."""
    LOST["model"](account)
    account.tell(account.aws.sagemaker, "describe_endpoint", endpoint("InService", config))
    there = {"Stacks": [STACK]}
    account.tell(account.aws.cloudformation, "describe_stacks", there, there, GONE, there)
    account.tell(account.aws.cloudformation, "delete_stack", {})
    write_lock(target.previous_lock_path, lock_of("0"))
    write_lock(target.lock_path, lock_of("2"))
    cdk(target, "echo made")

    def on_line(line: str) -> None:
        if line == "made":
            tell_endpoint(account, lock_of("2"), endpoint("InService"))

    deploy_endpoint(target, on_line, recreate=True)
    assert read_lock(target.previous_lock_path) == (LOCK if kept else lock_of("0"))


def test_types_that_nobody_tells_are_no_other_types(account: Recorded, target: Target) -> None:
    """Where it is scaled too: SageMaker may refuse the update, and says so itself."""
    LOST["config"](account)
    scaled = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": "endpoint/semif-demo/variant/AllTraffic",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "MinCapacity": 1,
        "MaxCapacity": 4,
        "RoleARN": "arn",
        "CreationTime": 0,
    }
    account.tell(
        account.aws.application_autoscaling, "describe_scalable_targets", {"ScalableTargets": [scaled]}
    )
    quota = {"QuotaName": "ml.c6i.large for endpoint usage", "QuotaCode": "L-1", "Value": 1.0}
    account.tell(account.aws.service_quotas, "list_service_quotas", {"Quotas": [quota]})
    cdk(target, "touch deployed", configured("ml.c6i.large"))
    with pytest.raises(SemifError, match="its configuration config-new was deleted"):
        deploy_endpoint(target, lambda _: None)
    assert (target.root / "deployed").exists()


def test_a_serverless_one_has_no_types(account: Recorded, target: Target) -> None:
    serverless = {"MemorySizeInMB": 1024, "MaxConcurrency": 1}
    variants({"VariantName": "v", "ModelName": "model", "ServerlessConfig": serverless})(account)
    state = find_endpoint(account.aws, "semif-demo")
    assert state is not None
    assert (state.instance_types, state.image) == ((), LOCK.image_uri)


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize(
    ("resource_type", "method"),
    [
        ("AWS::SageMaker::EndpointConfig", "describe_endpoint_config"),
        ("AWS::SageMaker::Model", "describe_model"),
    ],
)
def test_what_was_deleted_by_hand_keeps_no_stack(
    account: Recorded, target: Target, resource_type: str, method: str, lost: bool
) -> None:
    """Where CloudFormation stumbles over it; what is there and does not go is a reason to fail."""
    aws = account.aws
    if lost:
        LOST["config" if "config" in method else "model"](account)
    missing = ("ValidationException", "Could not find endpoint")
    account.tell(aws.sagemaker, "describe_endpoint", endpoint("InService"), missing)
    RecordedStack(account, [("Lost1A2B", resource_type, "DELETE_FAILED", "Could not find it")])
    resource = {
        "LogicalResourceId": "Lost1A2B",
        "PhysicalResourceId": "arn:aws:sagemaker:eu-central-1:111122223333:model/lost",
        "ResourceType": resource_type,
        "LastUpdatedTimestamp": 0,
        "ResourceStatus": "DELETE_FAILED",
    }
    account.tell(aws.cloudformation, "list_stack_resources", {"StackResourceSummaries": [resource]})
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        if line == "made":
            tell_stack(account, LOCK)
            tell_endpoint(account, LOCK, endpoint("InService"))

    cdk(target, "echo made")
    if lost:
        deploy_endpoint(target, on_line, recreate=True)
        assert "leaving out what is gone: Lost1A2B" in lines
    else:
        with pytest.raises(SemifError, match="could not be deleted"):
            deploy_endpoint(target, on_line, recreate=True)
