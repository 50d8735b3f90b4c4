"""Watching an endpoint, against recorded replies of SageMaker; the watch's own thread never gets to look."""

import pytest

from semif.deployment.endpoint.watch import EndpointWatch
from tests.support.servers.recorded import Recorded, Reply

NEVER = 3600.0
"""Seconds between two looks: longer than any test here."""


@pytest.fixture(scope="module")
def account() -> Recorded:
    """One for all tests here: its clients take a second to make."""
    return Recorded("sagemaker", "logs")


def tell(account: Recorded, *looks: str | tuple[str, str]) -> None:
    """What each look finds: the endpoint's status, or an error's code and message."""
    endpoint: Reply = {
        "EndpointName": "semif-demo",
        "EndpointArn": "arn:aws:sagemaker:eu-central-1:111122223333:endpoint/semif-demo",
        "EndpointConfigName": "config",
        "CreationTime": 0,
        "LastModifiedTime": 0,
    }
    replies: list[Reply] = [
        {**endpoint, "EndpointStatus": look} if isinstance(look, str) else look for look in looks
    ]
    account.clear()
    account.tell(account.aws.sagemaker, "describe_endpoint", *replies)


def watch(account: Recorded, statuses: list[str]) -> EndpointWatch:
    """A watch that writes down what it sees."""
    return EndpointWatch(
        account.aws, "semif-demo", poll_seconds=NEVER, on_look=lambda look: statuses.append(look.status)
    )


def test_the_last_look_is_at_what_the_change_came_to(account: Recorded) -> None:
    tell(account, "Creating", "InService")
    statuses: list[str] = []
    with watch(account, statuses):
        assert statuses == ["Creating"]
    assert statuses == ["Creating", "InService"]


def test_a_last_look_that_is_refused_spoils_nothing(account: Recorded) -> None:
    tell(account, "Creating", ("AccessDeniedException", "not you"))
    statuses: list[str] = []
    with watch(account, statuses):
        pass
    assert statuses == ["Creating"]
    assert account.asked == ["DescribeEndpoint", "DescribeEndpoint"]


def test_a_failure_goes_on_without_another_look(account: Recorded) -> None:
    tell(account, "Creating", "Failed")
    statuses: list[str] = []
    with pytest.raises(ValueError, match="the change failed"), watch(account, statuses):
        raise ValueError("the change failed")
    assert statuses == ["Creating"]
