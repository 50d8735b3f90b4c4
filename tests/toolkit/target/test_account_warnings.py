"""What is no problem of an account but spoils a deployment: alarms that are on, and a key's policy."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from semif.aws.clients import Aws
from semif.environment.environment import Environment, load_environment
from semif.sagemaker.update_strategies import ROLLBACK_ALARMS
from semif.target.key_policy import key_policy_warnings
from semif.target.rollback_alarms import rollback_alarm_warnings

ACCOUNT = "123456789012"
"""Moto's."""
IAM = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "kms:*"}
LOGS = {
    "Effect": "Allow",
    "Principal": {"Service": "logs.us-east-1.amazonaws.com"},
    "Action": ["kms:Encrypt*", "kms:Decrypt*", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"],
    "Condition": {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": "arn:aws:logs:us-east-1:123456789012:*"}},
}
ALARMS = {
    "Effect": "Allow",
    "Principal": {"Service": ["cloudwatch.amazonaws.com", "sns.amazonaws.com"]},
    "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
}


def alarm(aws: Aws, name: str, state: str) -> None:
    aws.cloudwatch.put_metric_alarm(
        AlarmName=name,
        ComparisonOperator="GreaterThanThreshold",
        EvaluationPeriods=1,
        MetricName="m",
        Namespace="n",
        Period=60,
        Statistic="Sum",
        Threshold=1,
    )
    aws.cloudwatch.set_alarm_state(AlarmName=name, StateReason="a test", StateValue=state)  # type: ignore[arg-type]  # one of its states


def test_an_alarm_that_would_take_any_update_back_is_told(account: Aws) -> None:
    alarm(account, "semif-prod-container-errors", "ALARM")
    alarm(account, "semif-prod-refusals", "OK")
    alarm(account, "semif-prod-overhead-latency", "ALARM")  # no update goes back on it
    alarm(account, "semif-product-refusals", "ALARM")
    (warning,) = rollback_alarm_warnings(account, load_environment("prod"))
    assert warning.startswith("the alarm semif-prod-container-errors is in ALARM: SageMaker would take")
    assert not list(rollback_alarm_warnings(account, load_environment("dev"))), "it has no [deployment]"
    assert len(set(ROLLBACK_ALARMS)) == 5


def key_of(aws: Aws, *statements: dict[str, Any]) -> str:
    entries = [{"Resource": "*", **statement} for statement in statements]
    policy = json.dumps({"Version": "2012-10-17", "Statement": entries})
    return aws.kms.create_key(Policy=policy)["KeyMetadata"]["Arn"]


@pytest.mark.parametrize(
    ("statements", "lacking"),
    [
        ([IAM, LOGS, ALARMS], []),
        ([IAM, {**LOGS, "Principal": "*"}, ALARMS], []),
        ([{**IAM, "Principal": {"AWS": ACCOUNT}}, LOGS, ALARMS], []),
        ([IAM, {**LOGS, "Action": ["kms:Encrypt", "kms:Decrypt"]}, ALARMS], ["CloudWatch Logs"]),
        (
            [IAM, {**LOGS, "Principal": {"Service": "logs.eu-west-1.amazonaws.com"}}],
            ["CloudWatch Logs", "CloudWatch's al"],
        ),
        ([IAM, LOGS, {**ALARMS, "Effect": "Deny"}], ["CloudWatch's alarms"]),
        ([LOGS, ALARMS], ["IAM of its account"]),
        ([{**IAM, "Action": "kms:Decrypt"}, LOGS, ALARMS], ["IAM of its account"]),
        ([IAM], ["CloudWatch Logs", "CloudWatch's alarms"]),
    ],
    ids=["all", "everybody", "account", "too-little", "region", "deny", "no-iam", "one-action", "default"],
)
def test_who_may_not_use_a_key_that_they_need_is_told(
    account: Aws,
    environment_of: Callable[..., Environment],
    statements: list[dict[str, Any]],
    lacking: list[str],
) -> None:
    environment = environment_of(
        'kind = "decision"\nremoval = "destroy"\n[model]\npreset = "embedded"\n[alarms]\n'
        '[endpoint]\ninstance_type = "ml.c6i.large"\n[encryption]\n'
        f'kms_key_arn = "{key_of(account, *statements)}"\n'
    )
    found = list(key_policy_warnings(account, environment))
    who = [told.partition("does not let ")[2] for told in found]
    assert len(found) == len(lacking)
    assert all(named.startswith(wanted) for named, wanted in zip(who, lacking, strict=True)), who


def test_what_is_lacking_is_named(account: Aws, environment_of: Callable[..., Environment]) -> None:
    environment = environment_of(
        'kind = "decision"\nremoval = "destroy"\n[model]\npreset = "embedded"\n'
        '[endpoint]\ninstance_type = "ml.c6i.large"\n[encryption]\n'
        f'kms_key_arn = "{key_of(account, IAM, {**LOGS, "Action": ["kms:Encrypt", "kms:De*"]})}"\n'
    )
    (told,) = key_policy_warnings(account, environment)
    assert "(logs.us-east-1.amazonaws.com) use kms:ReEncrypt*, kms:GenerateDataKey*, for the log" in told


def test_a_budget_needs_the_key_of_its_topic_too(
    account: Aws, environment_of: Callable[..., Environment]
) -> None:
    budgets = {**ALARMS, "Principal": {"Service": "budgets.amazonaws.com"}}
    for statements, lacking in (([IAM, LOGS, ALARMS], 1), ([IAM, LOGS, ALARMS, budgets], 0)):
        environment = environment_of(
            'kind = "decision"\nremoval = "destroy"\n[model]\npreset = "embedded"\n[alarms]\n'
            '[endpoint]\ninstance_type = "ml.c6i.large"\n[budget]\nmonthly_usd = 9\n[encryption]\n'
            f'kms_key_arn = "{key_of(account, *statements)}"\n'
        )
        found = list(key_policy_warnings(account, environment))
        assert len(found) == lacking
        assert all("does not let AWS Budgets (budgets.amazonaws.com) use" in line for line in found)
