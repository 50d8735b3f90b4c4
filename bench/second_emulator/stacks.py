"""A template on an emulator: what is made of it, and what is refused, resource by resource."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from semif.aws.clients import Aws
from semif.deployment.endpoint.template import Template

_UNKNOWN = re.compile(r"Unrecognized resource types: \[(.*)\]")
_LOOK_SECONDS = 0.2


@dataclass
class Outcome:
    """What came of a template: how many of which type were made, and why others were not."""

    made: Counter[str] = field(default_factory=Counter)
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    """By type, how often for which reason."""

    def refuse(self, resource: dict[str, Any], reason: str) -> None:
        """Note that `resource` was refused."""
        self.refused.setdefault(resource["Type"], Counter())[reason] += 1

    def add(self, other: "Outcome") -> None:
        """Count what came of another template too."""
        self.made += other.made
        for kind, reasons in other.refused.items():
            self.refused.setdefault(kind, Counter()).update(reasons)


def create_what_is_taken(aws: Aws, stack: str, template: Template) -> Outcome:
    """Create `stack` of `template`, again and again without what is refused and what needs that."""
    outcome, resources = Outcome(), dict(template["Resources"])
    while True:
        rest = {**template, "Resources": resources, "Outputs": {}}
        problems = _create(aws, stack, rest)
        if not problems:
            outcome.made.update(resource["Type"] for resource in resources.values())
            return outcome
        for name, reason in problems.items():
            outcome.refuse(resources.pop(name), reason)
        while dangling := [name for name in resources if _references(resources[name]) & problems.keys()]:
            for name in dangling:
                outcome.refuse(resources.pop(name), "needs what is refused")
                problems[name] = ""
        for resource in resources.values():
            needed = resource.get("DependsOn", [])
            named = [needed] if isinstance(needed, str) else needed
            resource["DependsOn"] = [name for name in named if name in resources]


def _create(aws: Aws, stack: str, template: Template) -> dict[str, str]:
    """Create `stack`; why which resource of it is refused, nothing where it is complete.

    Raises ClientError for a refusal that names no resource.
    """
    cloudformation, resources = aws.cloudformation, template["Resources"]
    try:
        stack_id = cloudformation.create_stack(
            StackName=stack, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"]
        )["StackId"]
    except ClientError as error:
        found = _UNKNOWN.search(str(error))
        if found is None:
            raise
        unknown = set(found[1].split(", "))
        return {name: "unknown type" for name, one in resources.items() if one["Type"] in unknown}
    if _settled(aws, stack_id) == "CREATE_COMPLETE":
        return {}
    problems = dict(_failures(aws, stack_id))
    cloudformation.delete_stack(StackName=stack)
    _settled(aws, stack_id)
    assert problems, f"{stack} failed, and no event says at what"
    return problems


def _settled(aws: Aws, stack_id: str) -> str:
    while True:
        (stack,) = aws.cloudformation.describe_stacks(StackName=stack_id)["Stacks"]
        if not stack["StackStatus"].endswith("_IN_PROGRESS"):
            return stack["StackStatus"]
        time.sleep(_LOOK_SECONDS)


def _failures(aws: Aws, stack_id: str) -> Iterator[tuple[str, str]]:
    pages = aws.cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack_id)
    for event in (event for page in pages for event in page["StackEvents"]):
        if event["ResourceStatus"] == "CREATE_FAILED":
            yield event["LogicalResourceId"], event.get("ResourceStatusReason", "no reason told")


def _references(node: object) -> set[str]:
    """The names that the properties of a resource refer to."""
    if isinstance(node, list):
        return set().union(*map(_references, node))
    if not isinstance(node, dict):
        return set()
    names = {node["Ref"]} if "Ref" in node else set()
    if "Fn::GetAtt" in node:
        names.add(node["Fn::GetAtt"][0])
    return names.union(*(_references(value) for key, value in node.items() if key != "DependsOn"))
