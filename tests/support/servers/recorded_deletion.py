"""Deletions of a stack as CloudFormation tells them: attempts with their events, as late as these may be."""

from collections.abc import Sequence
from typing import Any

from tests.support.servers.recorded import Recorded, Reply

NAME = "Semif-demo-Endpoint"
ID = f"arn:aws:cloudformation:eu-central-1:111122223333:stack/{NAME}/1"
STACK, ENDPOINT, BUCKET = "AWS::CloudFormation::Stack", "AWS::SageMaker::Endpoint", "AWS::S3::Bucket"

Attempt = Sequence[tuple[str, str, str, str]]
"""Events of an attempt that fails, the oldest first: logical id, type, status and reason."""
FULL: Attempt = [
    ("Bucket", BUCKET, "DELETE_FAILED", "The bucket you tried to delete is not empty. You must delete all.")
]
GONE: Attempt = [("Endpoint", ENDPOINT, "DELETE_FAILED", "Could not find endpoint")]

_Events = list[dict[str, Any]]


class RecordedStack:
    """A stack that is there until no attempt to delete it fails any more.

    DeleteStack returns before the status moves, and an event may be told before it does: after each call the
    stack is at first as it was, then so with the first event of the attempt, then being deleted, and then as
    it stays. Each DescribeStacks is a look; the events are those of the last one.
    """

    def __init__(
        self,
        account: Recorded,
        *attempts: Attempt,
        outputs: dict[str, str] | None = None,
        anew: dict[str, str] | None = None,
    ) -> None:
        """Have `account` tell of it; after `attempts` it goes, and is there again with the outputs `anew`."""
        self.status = "CREATE_COMPLETE"
        self.requests: list[dict[str, Any]] = []
        """What DeleteStack was asked with."""
        self._attempts = list(attempts)
        self._outputs, self._anew = outputs or {}, anew
        self._events: _Events = []
        self._looks: list[tuple[str, _Events]] = []
        """What is to be seen from the next look on."""
        self._others: list[tuple[str, _Events]] = []
        cloudformation = account.aws.cloudformation
        account.tell(cloudformation, "describe_stacks", self._described)
        account.tell(cloudformation, "delete_stack", self._deleted)
        account.tell(cloudformation, "describe_stack_events", lambda _: {"StackEvents": self._events})

    def failed_before(self, attempt: Attempt, *, token: str | None, status: str = "DELETE_FAILED") -> None:
        """Have an attempt be over."""
        self.status, self._events = status, self._failed(attempt, token, self._began(token))

    def is_being_deleted(self, attempt: Attempt, *, looks: int) -> None:
        """Have somebody else's attempt go on for so many looks after DeleteStack, which starts none then."""
        self.status, self._events = "DELETE_IN_PROGRESS", self._began("somebody-elses")
        ended = self._failed(attempt, "somebody-elses", self._events)
        self._others = [*[(self.status, self._events)] * looks, ("DELETE_FAILED", ended)]

    def _described(self, _: dict[str, Any]) -> Reply:
        if self._looks:
            self.status, self._events = self._looks.pop(0)
        if self.status == "DELETE_COMPLETE":
            if self._anew is not None:
                self.status, self._outputs, self._anew = "CREATE_COMPLETE", self._anew, None
            return "ValidationError", f"Stack with id {ID} does not exist"
        outputs = [{"OutputKey": key, "OutputValue": value} for key, value in self._outputs.items()]
        told = {"StackName": NAME, "StackId": ID, "CreationTime": 0, "Outputs": outputs}
        return {"Stacks": [told | {"StackStatus": self.status, "StackStatusReason": "as the stack says"}]}

    def _deleted(self, request: dict[str, Any]) -> Reply:
        self.requests.append(request)
        token = request.get("ClientRequestToken")
        if self._others:
            self._looks, self._others = self._others, []
            return {}
        before, began = self._events, self._began(token)
        attempt = self._attempts.pop(0) if self._attempts else []
        end = (
            ("DELETE_FAILED", self._failed(attempt, token, began)) if attempt else ("DELETE_COMPLETE", began)
        )
        self._looks = [(self.status, before), (self.status, began), ("DELETE_IN_PROGRESS", began), end]
        return {}

    def _began(self, token: str | None) -> _Events:
        return [_event(token, NAME, STACK, "DELETE_IN_PROGRESS", "User Initiated"), *self._events]

    def _failed(self, attempt: Attempt, token: str | None, began: _Events) -> _Events:
        said = f"The following resource(s) failed to delete: [{', '.join(dict(e[:2] for e in attempt))}]."
        newest_first = [_event(token, *told) for told in reversed(attempt)]
        return [_event(token, NAME, STACK, "DELETE_FAILED", said), *newest_first, *began]


def _event(token: str | None, name: str, kind: str, status: str, reason: str) -> dict[str, Any]:
    event = {
        "StackId": ID,
        "EventId": "1",
        "StackName": NAME,
        "LogicalResourceId": name,
        "PhysicalResourceId": ID if kind == STACK else name.lower(),
        "ResourceType": kind,
        "Timestamp": 0,
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
    }
    return event if token is None else event | {"ClientRequestToken": token}
