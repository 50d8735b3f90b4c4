"""Deleting a stack: what an attempt says is told, and nothing of those before it."""

import json

import pytest

from semif.aws.clients import Aws
from semif.aws.stacks import BucketNotEmptyError, NotDeletedError, delete_stack, find_stack, require_stack
from tests.support.servers.local_aws import LocalAws
from tests.support.servers.local_stacks import deploy, resource
from tests.support.servers.recorded import Recorded
from tests.support.servers.recorded_deletion import BUCKET, ENDPOINT, FULL, GONE, NAME, RecordedStack


@pytest.fixture(scope="module")
def account() -> Recorded:
    return Recorded("cloudformation")


def delete(account: Recorded) -> list[str]:
    """Delete the stack; the statuses that were told."""
    told: list[str] = []
    stack = require_stack(account.aws, NAME, missing="")
    delete_stack(account.aws, stack, poll_seconds=0, on_status=told.append)
    return told


def test_a_stack_that_will_not_go_names_its_resources(account: Recorded) -> None:
    RecordedStack(account, FULL)
    with pytest.raises(BucketNotEmptyError) as caught:
        delete(account)
    first, second = str(caught.value).splitlines()
    assert first == f"{NAME} could not be deleted: The following resource(s) failed to delete: [Bucket]."
    assert second.startswith("  Bucket: The bucket you tried to delete is not empty")
    assert caught.value.resources == {"Bucket": BUCKET}


@pytest.mark.parametrize("before", ["DELETE_FAILED", "ROLLBACK_FAILED", "UPDATE_ROLLBACK_FAILED"])
def test_a_failure_from_before_is_none_of_this_attempt(account: Recorded, before: str) -> None:
    RecordedStack(account).failed_before(FULL, token="earlier", status=before)
    assert delete(account) == [before, before, "DELETE_IN_PROGRESS"]
    assert find_stack(account.aws, NAME) is None


@pytest.mark.parametrize("token", ["earlier", None])
def test_reasons_of_earlier_attempts_are_not_told(account: Recorded, token: str | None) -> None:
    earlier = [*FULL, ("Endpoint", ENDPOINT, "DELETE_FAILED", "an old reason")]
    RecordedStack(account, GONE).failed_before(earlier, token=token)
    with pytest.raises(NotDeletedError) as caught:
        delete(account)
    assert not isinstance(caught.value, BucketNotEmptyError)
    assert str(caught.value).splitlines()[1:] == ["  Endpoint: Could not find endpoint"]
    assert caught.value.resources == {"Endpoint": ENDPOINT}


def test_each_attempt_has_a_token_of_its_own(account: Recorded) -> None:
    stack = RecordedStack(account, FULL, GONE)
    for _ in range(2):
        with pytest.raises(NotDeletedError):
            delete(account)
    assert len({request["ClientRequestToken"] for request in stack.requests}) == 2


def test_the_last_event_of_a_resource_says_what_came_of_it(account: Recorded) -> None:
    """Within an attempt too: what is tried again may go, or fail for another reason."""
    tries = [
        ("Log", "AWS::Logs::LogGroup", "DELETE_FAILED", "busy"),
        ("Endpoint", ENDPOINT, "DELETE_FAILED", "at first"),
        ("Log", "AWS::Logs::LogGroup", "DELETE_COMPLETE", ""),
        ("Endpoint", ENDPOINT, "DELETE_FAILED", "at last"),
    ]
    RecordedStack(account, tries)
    with pytest.raises(NotDeletedError) as caught:
        delete(account)
    assert str(caught.value).splitlines()[1:] == ["  Endpoint: at last"]


@pytest.mark.parametrize("looks", [0, 2])
def test_a_deletion_that_runs_already_is_waited_for(account: Recorded, looks: int) -> None:
    """Its events are not this attempt's: what the stack says is told, and nothing is tried for it."""
    RecordedStack(account).is_being_deleted(FULL, looks=looks)
    with pytest.raises(NotDeletedError) as caught:
        delete(account)
    assert str(caught.value) == f"{NAME} could not be deleted: as the stack says"
    assert caught.value.resources == {}


def test_the_aws_of_this_machine_is_asked_the_same(local_aws: LocalAws) -> None:
    aws = Aws(region=local_aws.region, endpoint_url=local_aws.endpoint_url)
    name = "deleted-in-steps"
    resources = {
        "Images": resource("AWS::ECR::Repository", {"RepositoryName": name, "EmptyOnDelete": False}),
        "Bucket": resource("AWS::S3::Bucket", {"BucketName": name}, DependsOn="Images"),
    }
    deploy(local_aws, name, {"Resources": resources})
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}
    aws.ecr.put_image(repositoryName=name, imageManifest=json.dumps(manifest), imageTag="one")
    aws.s3.put_object(Bucket=name, Key="kept", Body=b"x")
    stack = require_stack(aws, name, missing="")
    with pytest.raises(BucketNotEmptyError) as full:
        delete_stack(aws, stack, poll_seconds=0.1)
    assert full.value.resources == {"Bucket": "AWS::S3::Bucket"}
    aws.s3.delete_object(Bucket=name, Key="kept")
    with pytest.raises(NotDeletedError, match="still contains images") as caught:
        delete_stack(aws, stack, poll_seconds=0.1)
    assert not isinstance(caught.value, BucketNotEmptyError)
    assert caught.value.resources == {"Images": "AWS::ECR::Repository"}
    aws.ecr.batch_delete_image(repositoryName=name, imageIds=[{"imageTag": "one"}])
    delete_stack(aws, stack, poll_seconds=0.1)
    assert find_stack(aws, name) is None
