"""A deployment that nobody saw the end of: CloudFormation goes on, the next command finds out how it ended.

Version 2 is deployed over version 1, and the deployment of version 3 breaks off.
"""

from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from semif.aws.clients import Aws
from semif.cli import main
from semif.deployment.rollback import find_rollback
from semif.deployment.stages import deploy_endpoint, roll_back
from semif.deployment.target_cdk import OnLine
from semif.errors import SemifError
from semif.lock.lock_file import Lock, read_lock, write_lock
from semif.target.target import Target
from tests.support.servers.recorded import Recorded
from tests.support.servers.recorded_deployment import (
    cdk,
    endpoint,
    lock_of,
    recorded_target,
    tell_endpoint,
    tell_model,
    tell_stack,
)

ENVIRONMENTS = ("demo", "demo-batch")
MISSING = ("ValidationError", "Stack with id arn does not exist")


def version(number: int, target: Target) -> Lock:
    return lock_of(str(number), target.environment.name)


@pytest.fixture(scope="module")
def account() -> Recorded:
    """One for all tests here: its clients take a second to make."""
    return Recorded("cloudformation", "sagemaker", "logs", "sts")


@pytest.fixture(params=ENVIRONMENTS)
def target(
    request: pytest.FixtureRequest, account: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Target:
    """An environment with an endpoint, or one for transform jobs, whose version 2 replaced version 1."""
    target = recorded_target(account, tmp_path, monkeypatch, lock_of("2", request.param))
    write_lock(target.previous_lock_path, version(1, target))
    return target


@pytest.fixture(params=["interrupted", "without credentials"])
def broken_off(request: pytest.FixtureRequest, account: Recorded, target: Target) -> None:
    """The deployment of version 3 ended for who began it, and for nobody else."""
    runs(account, target, 2)
    if request.param == "interrupted":
        interrupt(target, 3)
    else:
        cdk(target, "echo ExpiredToken: the security token included in the request is expired; exit 1")
        with pytest.raises(SemifError, match="ExpiredToken"):
            deploy(target, 3)


def interrupt(target: Target, number: int, *, recreate: bool = False) -> None:
    cdk(target, "echo UPDATE_IN_PROGRESS")
    with pytest.raises(KeyboardInterrupt):
        deploy(target, number, break_off, recreate=recreate)


def break_off(line: str) -> None:
    """Ctrl-C once CloudFormation is at it."""
    if line == "UPDATE_IN_PROGRESS":
        raise KeyboardInterrupt


def deploy(target: Target, number: int, on_line: OnLine = lambda _: None, *, recreate: bool = False) -> None:
    write_lock(target.lock_path, version(number, target))
    deploy_endpoint(target, on_line, recreate=recreate)


def runs(account: Recorded, target: Target, number: int, status: str = "UPDATE_COMPLETE") -> None:
    """What the stack and SageMaker have from now on."""
    lock = version(number, target)
    account.tell(account.aws.logs, "describe_log_streams", {"logStreams": []})
    tell_stack(account, lock, status=status)
    tell_endpoint(account, lock, endpoint("Updating" if status.endswith("_IN_PROGRESS") else "InService"))
    if not target.environment.inference_mode.has_endpoint:
        model = {
            "LogicalResourceId": "Model1A2B",
            "PhysicalResourceId": "model",
            "ResourceType": "AWS::SageMaker::Model",
            "LastUpdatedTimestamp": 0,
            "ResourceStatus": "UPDATE_COMPLETE",
        }
        told = {"StackResourceSummaries": [model]}
        account.tell(account.aws.cloudformation, "list_stack_resources", told)


def succeeds(account: Recorded, target: Target, number: int) -> None:
    """Deploy a version over what runs, to its end."""
    cdk(target, "echo deployed")

    def on_line(line: str) -> None:
        if line == "deployed":
            tell_model(account, version(number, target))

    deploy(target, number, on_line)


@pytest.mark.usefixtures("broken_off")
def test_where_it_went_through_the_way_back_is_to_the_version_before(
    account: Recorded, target: Target
) -> None:
    runs(account, target, 3)
    assert find_rollback(target) == (version(3, target), version(2, target))
    succeeds(account, target, 3)
    assert find_rollback(target) == (version(3, target), version(2, target)), "the same again is no step"


@pytest.mark.usefixtures("broken_off")
@pytest.mark.parametrize("then", [3, 4])
def test_where_it_went_through_the_next_deployment_knows_it(
    account: Recorded, target: Target, then: int
) -> None:
    runs(account, target, 3)
    succeeds(account, target, then)
    assert read_lock(target.previous_lock_path) == version(then - 1, target)


@pytest.mark.usefixtures("broken_off")
@pytest.mark.parametrize("then", [2, 3, 4])
def test_where_cloudformation_took_it_back_nothing_has_changed(
    account: Recorded, target: Target, then: int
) -> None:
    runs(account, target, 2, "UPDATE_ROLLBACK_COMPLETE")
    assert find_rollback(target) == (version(2, target), version(2, target)), "version 3 lies on the disk"
    write_lock(target.lock_path, version(2, target))
    assert find_rollback(target) == (version(2, target), version(1, target))
    succeeds(account, target, then)
    assert read_lock(target.previous_lock_path) == version(1 if then == 2 else 2, target)


@pytest.mark.usefixtures("broken_off")
@pytest.mark.parametrize("told", [2, 3])
@pytest.mark.parametrize(("ends_with", "status"), [(3, "UPDATE_COMPLETE"), (2, "UPDATE_ROLLBACK_COMPLETE")])
def test_while_it_goes_on_nobody_goes_back_and_nothing_is_settled(
    account: Recorded, target: Target, told: int, ends_with: int, status: str
) -> None:
    """Whichever of both templates CloudFormation tells meanwhile."""
    runs(account, target, told, "UPDATE_IN_PROGRESS")
    with pytest.raises(SemifError, match="has not come to rest after a deployment that was interrupted"):
        find_rollback(target)
    cdk(target, "exit 0")  # as the CDK's CLI does where the template is the same
    with suppress(SemifError):  # an endpoint is Updating, and no success; a Model may be there already
        deploy(target, 3)
    assert read_lock(target.previous_lock_path) == version(1, target)

    runs(account, target, ends_with, status)
    find_rollback(target)
    assert read_lock(target.previous_lock_path) == version(ends_with - 1, target)


@pytest.mark.parametrize("target", ["demo"], indirect=True)
@pytest.mark.parametrize("number", [2, 3])
def test_a_version_that_is_made_anew_is_no_other_however_often_it_takes(
    account: Recorded, target: Target, number: int
) -> None:
    runs(account, target, 2)
    there = {"StackName": "Semif-demo-Endpoint", "StackId": "arn", "CreationTime": 0}
    stack = {"Stacks": [there | {"StackStatus": "UPDATE_COMPLETE"}]}
    cloudformation = account.aws.cloudformation
    account.tell(cloudformation, "describe_stacks", stack, stack, MISSING)
    account.tell(cloudformation, "delete_stack", {})
    interrupt(target, number, recreate=True)
    assert account.asked.count("DeleteStack") == 1

    # Nothing is there any more, or a stack whose creation failed.
    for state in (MISSING, {"Stacks": [there | {"StackStatus": "ROLLBACK_COMPLETE"}]}):
        account.tell(cloudformation, "describe_stacks", state)
        tell_endpoint(account, version(number, target), ("ValidationException", "Could not find endpoint"))
        interrupt(target, number)

    account.tell(cloudformation, "describe_stacks", MISSING, stack)
    looks = [("ValidationException", "Could not find endpoint")] * 2
    tell_endpoint(account, version(number, target), *looks, endpoint("InService"))
    succeeds(account, target, number)
    assert read_lock(target.previous_lock_path) == version(number - 1, target)


@pytest.mark.parametrize(("ends_with", "status"), [(1, "UPDATE_COMPLETE"), (2, "UPDATE_ROLLBACK_COMPLETE")])
def test_a_rollback_that_is_interrupted_is_a_deployment_too(
    account: Recorded, target: Target, ends_with: int, status: str
) -> None:
    runs(account, target, 2)
    cdk(target, "echo UPDATE_IN_PROGRESS")
    _, wanted = find_rollback(target)
    with pytest.raises(KeyboardInterrupt):
        roll_back(target, wanted, break_off)
    runs(account, target, ends_with, status)
    assert find_rollback(target) == (version(ends_with, target), version(2, target))


def test_what_goes_on_the_disk_is_what_git_and_pruning_know(target: Target) -> None:
    """A name of the previous lock's pattern, so that projects that were begun before ignore it too."""
    assert target.noted_lock_path.match("environments/*.previous.lock.json")
    assert target.noted_lock_path != target.previous_lock_path


@pytest.mark.usefixtures("broken_off")
def test_what_is_destroyed_leaves_no_way_back(
    account: Recorded, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Aws, "from_profile", lambda **_: account.aws)
    account.tell(account.aws.sts, "get_caller_identity", {"Account": target.account})
    account.tell(account.aws.cloudformation, "describe_stacks", MISSING)
    account.tell(account.aws.sagemaker, "list_transform_jobs", {"TransformJobSummaries": []})
    done = CliRunner().invoke(main, ["destroy", target.environment.name, "--yes"])
    assert done.exit_code == 0, done.output
    assert list(target.lock_path.parent.glob("*.previous.lock.json")) == []
