"""Findings of cdk-nag that we accept, each with its reason, beside the construct it is about."""

from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct


def acknowledge(scope: IConstruct, rule: str, reason: str) -> None:
    """Accept the finding `rule` on `scope` and below it."""
    Validations.of(scope).acknowledge(Acknowledgment(id=rule, reason=reason))


def acknowledge_wildcard(scope: IConstruct, resource: str, reason: str) -> None:
    """Accept that a policy on `scope` or below it names `resource`, which ends in a wildcard or is `*`."""
    finding = _as_nag_writes(Stack.of(scope).resolve(resource))
    acknowledge(scope, f"AwsSolutions-IAM5[Resource::{finding}]", reason)


def _as_nag_writes(value: Any) -> str:
    """cdk-nag's way to write a CloudFormation expression: `<LogicalId.Attribute>`."""
    match value:
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(map(_as_nag_writes, parts))
        case _:
            return str(value)
