"""Stacks of the local AWS: created, deleted, and waited for."""

import json
from typing import Any

from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import LocalAws

Template = dict[str, Any]


def resource(kind: str, properties: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """One entry of a template's Resources."""
    return {"Type": kind, "Properties": properties, **rest}


def deploy(aws: LocalAws, name: str, template: Template) -> None:
    """Create a stack and wait for it."""
    aws.cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template))
    aws.cloudformation.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})


def destroy(aws: LocalAws, name: str) -> None:
    """Delete a stack and wait until it is gone."""
    aws.cloudformation.delete_stack(StackName=name)
    aws.cloudformation.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 1})


def status_when_settled(aws: LocalAws, name: str) -> str:
    """The stack's status when nothing is in progress."""

    def status() -> str:
        return str(aws.cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"])

    return eventually(status, lambda status: not status.endswith("_IN_PROGRESS"))


def reasons(aws: LocalAws, name: str) -> dict[str, str]:
    """Why which resource failed."""
    events = aws.cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    return {
        event["LogicalResourceId"]: event.get("ResourceStatusReason", "")
        for event in events
        if event["ResourceStatus"].endswith("_FAILED")
    }
