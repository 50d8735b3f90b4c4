"""What the policy of a customer's key must allow besides the roles that are made, and whether it does.

The needs are those of AWS's pages, read 2026-11-30: "Encrypt log data in CloudWatch Logs using AWS KMS"; "Key
management" of Amazon SNS, for publishers that are AWS services; "Using key policies in AWS KMS", for IAM.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from semif.aws.clients import Aws
from semif.environment.environment import Environment


@dataclass(frozen=True)
class _Need:
    """A principal that must be allowed some actions."""

    who: str
    """As people know it."""
    principal: str
    """As policies name it, under `kind`."""
    kind: str
    actions: tuple[str, ...]
    purpose: str


def key_policy_warnings(aws: Aws, environment: Environment) -> Iterator[str]:
    """A line for each need that the key's policy does not meet; none without `[encryption]`.

    Conditions are not worked out: a statement with some counts as if they held, and one that denies is not
    looked at. Raises ClientError and BotoCoreError.
    """
    if environment.encryption is None:
        return
    arn = environment.encryption.kms_key_arn
    policy = json.loads(aws.kms.get_key_policy(KeyId=arn, PolicyName="default")["Policy"])
    allowing = [entry for entry in listed(policy.get("Statement")) if entry.get("Effect") == "Allow"]
    for need in _needs(environment, region=aws.region, key_arn=arn):
        granted = [
            str(action) for entry in allowing if _names(entry, need) for action in listed(entry.get("Action"))
        ]
        lacking = [action for action in need.actions if not _is_granted(action, granted)]
        if lacking:
            yield (
                f"the policy of the key {arn} does not let {need.who} ({need.principal}) use "
                f"{', '.join(lacking)}, {need.purpose}; add a statement that does"
            )


def _needs(environment: Environment, *, region: str, key_arn: str) -> Iterator[_Need]:
    use = ("kms:Decrypt", "kms:GenerateDataKey*")
    logs = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*")
    if environment.preset is not None:
        service = f"logs.{region}.amazonaws.com"
        yield _Need("CloudWatch Logs", service, "Service", logs, "for the log groups of builds and endpoint")
    if environment.alarms is not None and environment.alarms.topic_arn is None:
        service = "cloudwatch.amazonaws.com"
        yield _Need("CloudWatch's alarms", service, "Service", use, "for the encrypted topic that they tell")
        if environment.budget is not None:
            budgets = "budgets.amazonaws.com"
            yield _Need("AWS Budgets", budgets, "Service", use, "for the encrypted topic that it tells")
    _, partition, _, _, owner, _ = key_arn.split(":")
    # SageMaker and SNS use the key with the rights of the Model's role, which IAM alone gives it.
    role = ("kms:CreateGrant", "kms:Decrypt", "kms:GenerateDataKey")
    purpose = "so that SageMaker and SNS can use it with the roles that are made"
    yield _Need("IAM of its account", f"arn:{partition}:iam::{owner}:root", "AWS", role, purpose)


def _names(entry: Mapping[str, Any], need: _Need) -> bool:
    """Whether the statement is about the principal, or about everybody."""
    principal = entry.get("Principal")
    if not isinstance(principal, Mapping):
        return principal == "*"
    named = listed(principal.get(need.kind))
    account = need.principal.split(":")[4] if need.kind == "AWS" else None
    return need.principal in named or "*" in listed(principal.get("AWS")) or (account in named)


def _is_granted(action: str, granted: list[str]) -> bool:
    """Whether a pattern of `granted` covers `action`, which may be one itself: `kms:GenerateDataKey*`.

    A policy that lists what the pattern stands for (`kms:GenerateDataKey`) covers it as well.
    """
    plain = action.rstrip("*").lower()
    return any(
        fnmatchcase(plain, pattern.lower()) or (action.endswith("*") and pattern.lower().startswith(plain))
        for pattern in granted
    )


def listed(value: Any) -> list[Any]:
    """What a policy has as a list, or alone; an empty list for None."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
