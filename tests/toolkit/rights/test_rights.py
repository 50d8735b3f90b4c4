"""The table of rights: the page shows it, the policies are made of it, and it has what the toolkit calls."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from click.testing import CliRunner

from semif.cli import main
from semif.environment.environment import Environment, environment_names, load_environment
from semif.rights.github import ci_policies, ci_template
from semif.rights.place import Place, bootstrap_parameter
from semif.rights.policies import policy
from semif.rights.right import TASKS
from semif.rights.table import OF_NO_ENVIRONMENT, RIGHTS
from tests.infra.account_cases import ACCOUNT_CASES, BUCKET, FILES_BUCKET, ROLE_ARN

ACCOUNT, REGION = "111122223333", "eu-central-1"
SEMIF = Path(__file__).parents[3] / "semif"
MANAGED_POLICY_CHARACTERS = 6144
"""Without white space ("IAM and AWS STS quotas", IAM user guide, read 2026-11-30)."""
OF_S3 = {
    "head_object": ["s3:GetObject"],
    "head_bucket": ["s3:ListBucket"],
    "list_objects_v2": ["s3:ListBucket"],
    "list_object_versions": ["s3:ListBucketVersions"],
    "get_bucket_encryption": ["s3:GetEncryptionConfiguration"],
    "delete_object": ["s3:DeleteObject", "s3:DeleteObjectVersion"],
    "delete_objects": ["s3:DeleteObjectVersion"],
    "upload_fileobj": ["s3:PutObject"],
    "download_file": ["s3:GetObject"],
    "download_fileobj": [
        "s3:GetObject",
        "s3:GetObjectVersion",
    ],  # it is told the version
    "copy": ["s3:GetObject", "s3:PutObject"],
}
"""The rights that S3 asks for where they are not called as the operation, and of boto3's own transfers."""
TRANSFERS = {"upload_fileobj", "download_file", "download_fileobj", "copy"}
"""Boto3's own; its operations take no positional arguments, and other things of their names do."""
ASKED_BESIDE = {
    "sts:AssumeRole": "the CDK's command line",
    "s3:AbortMultipartUpload": "boto3's transfers, where they fail",
    "kms:Decrypt": "S3, ECR and SageMaker, with the caller's rights",
    "kms:GenerateDataKey": "the same",
    "sagemaker:AddTags": "CreateTransformJob with tags",
}
WITHOUT_RESOURCES = {
    "application-autoscaling:DescribeScalableTargets",
    "cloudwatch:DescribeAlarms",
    "cloudwatch:GetMetricStatistics",
    "pricing:GetProducts",
    "sagemaker:DescribeModel",
    "sagemaker:ListEndpoints",
    "sagemaker:ListModels",
    "sagemaker:ListTransformJobs",
    "servicequotas:ListAWSDefaultServiceQuotas",
    "servicequotas:ListServiceQuotas",
}


@cache
def rights_of_operations() -> dict[str, set[str]]:
    """Rights by method of boto3, for the services whose clients semif/aws/clients.py makes."""
    services = re.findall(r'session\.client\("([a-z0-9-]+)"', (SEMIF / "aws" / "clients.py").read_text())
    assert len(services) > 10
    session = botocore.session.get_session()
    rights: dict[str, set[str]] = {}
    for service in services:
        model = session.get_service_model(service)
        prefix = "cloudwatch" if service == "cloudwatch" else model.signing_name
        for operation in model.operation_names:
            method = xform_name(operation)
            rights.setdefault(method, set()).update(
                OF_S3.get(method, [f"s3:{operation}"]) if service == "s3" else [f"{prefix}:{operation}"]
            )
    return rights | {method: set(needed) for method, needed in OF_S3.items()}


def called_in(tree: ast.AST) -> Iterator[str]:
    """Methods of boto3's clients that a module calls, by paginators too."""
    known = rights_of_operations()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        method = node.func.attr
        if method in {"get_paginator", "get_waiter"}:
            argument = node.args[0]
            assert isinstance(argument, ast.Constant), "name the operation where it is asked for"
            yield str(argument.value)
        elif method in known and (bool(node.args) == (method in TRANSFERS)):
            yield method


@cache
def called() -> frozenset[str]:
    paths = SEMIF.rglob("*.py")
    return frozenset(method for path in paths for method in called_in(ast.parse(path.read_text())))


def test_calls_are_found_and_nothing_else_is_taken_for_one() -> None:
    text = """
aws.sagemaker.search(Resource="Endpoint")
aws.s3.copy(source, bucket, key)
pages = self.aws.logs.get_paginator("describe_log_groups")
re.search("a", "b")
content.copy()
"""
    assert set(called_in(ast.parse(text))) == {"search", "copy", "describe_log_groups"}


def test_every_call_of_the_toolkit_is_in_the_table() -> None:
    assert {"describe_stacks", "get_log_events", "put_image", "list_service_quotas", "copy"} <= called()
    needed = {right for method in called() for right in rights_of_operations()[method]}
    allowed = {action for right in RIGHTS for action in right.actions}
    assert needed - allowed == OF_NO_ENVIRONMENT.keys()


def test_nothing_is_in_the_table_that_nobody_calls() -> None:
    needed = {right for method in called() for right in rights_of_operations()[method]}
    allowed = {action for right in RIGHTS for action in right.actions}
    assert allowed - needed == ASKED_BESIDE.keys()


def test_the_page_shows_the_table(root: Path) -> None:
    page = (root / "docs" / "deploying.md").read_text()
    rows = "".join(
        f"| {right.purpose} | {shown(right.actions)} | {', '.join(right.tasks)} |\n" for right in RIGHTS
    )
    assert f"| to | rights | in |\n|---|---|---|\n{rows}" in page, f"docs/deploying.md must have\n{rows}"


def shown(actions: tuple[str, ...]) -> str:
    parts = [action.partition(":") for action in actions]
    groups = groupby(parts, key=lambda part: part[0])
    return "; ".join(
        ", ".join(
            f"`{service}:{name}`" if not number else f"`{name}`" for number, (_, _, name) in enumerate(group)
        )
        for service, group in groups
    )


def place_of(name: str, **changed: Any) -> Place:
    environment = load_environment(name)
    return Place(environment.model_copy(update=changed), ACCOUNT, REGION)


@pytest.mark.parametrize("name", environment_names())
@pytest.mark.parametrize("task", TASKS)
def test_policies_are_small_and_name_their_resources(name: str, task: Any) -> None:
    document = policy(place_of(name), task)
    assert len(re.sub(r"\s", "", json.dumps(document))) <= MANAGED_POLICY_CHARACTERS
    ids = [statement["Sid"] for statement in document["Statement"]]
    assert len(set(ids)) == len(ids)
    for statement in document["Statement"]:
        assert re.fullmatch("[A-Za-z0-9]+", statement["Sid"])
        assert not any("*" in action for action in statement["Action"])
        if "*" in statement["Resource"]:
            assert set(statement["Action"]) <= WITHOUT_RESOURCES
        named = [arn for arn in statement["Resource"] if arn != "*"]
        assert all(re.match("arn:aws:[a-z0-9-]+:", arn) for arn in named)
        if any(arn.endswith("project/*") for arn in named):
            tag = {"aws:ResourceTag/semif:environment": name}
            assert statement["Condition"] == {"StringEquals": tag}


def allowed(environment: Environment, task: Any) -> set[str]:
    document = policy(Place(environment, ACCOUNT, REGION), task)
    return {action for statement in document["Statement"] for action in statement["Action"]}


def test_each_task_has_what_it_takes_and_no_more() -> None:
    dev = load_environment("dev")
    assert allowed(dev, "call") == {"sagemaker:InvokeEndpoint"}
    writing = re.compile("Start|Put|Delete|Upload|Invoke|Create|Stop|Complete|Initiate")
    assert not [action for action in allowed(dev, "diff") if writing.search(action)]
    assert allowed(dev, "diff") < allowed(dev, "deploy")
    (only,) = [
        statement
        for statement in policy(place_of("dev"), "diff")["Statement"]
        if statement["Action"] == ["sts:AssumeRole"]
    ]
    assert only["Resource"] == [f"arn:aws:iam::{ACCOUNT}:role/cdk-hnb659fds-lookup-role-{ACCOUNT}-{REGION}"]
    assert bootstrap_parameter(dev) == "/cdk-bootstrap/hnb659fds/version"
    text = load_environment("text")
    assert "sagemaker:InvokeEndpointWithResponseStream" in allowed(text, "call")
    assert "ecr:PutImage" not in allowed(text, "deploy")
    assert "sagemaker:InvokeEndpointAsync" in allowed(load_environment("demo-async"), "call")
    assert "sagemaker:CreateTransformJob" in allowed(load_environment("demo-batch"), "call")


def test_what_is_there_already_is_named_in_place_of_patterns(
    environment_of: Callable[..., Environment],
) -> None:
    environment = environment_of(ACCOUNT_CASES["existing-async"], "given")
    deploying = policy(Place(environment, ACCOUNT, REGION), "deploy")["Statement"]
    by_id = {statement["Sid"]: statement for statement in deploying}
    roles = by_id["DeployByTheCDKSRoles"]["Resource"]
    assert all(arn.startswith(f"arn:aws:iam::{ACCOUNT}:role/cdk-platform-") for arn in roles)
    named = {
        arn for statement in deploying for arn in statement["Resource"] if arn.startswith("arn:aws:s3:::")
    }
    assert {arn.partition("/")[0] for arn in named} == {
        f"arn:aws:s3:::{one}" for one in (BUCKET, FILES_BUCKET)
    }
    deletes = [one for one in deploying if "s3:DeleteObjectVersion" in one["Action"]]
    assert [one["Resource"] for one in deletes] == [[f"arn:aws:s3:::{BUCKET}/models/*"]]
    (role,) = [one for one in deploying if one["Action"] == ["iam:GetRole"]]
    assert role["Resource"] == [ROLE_ARN]
    asking = policy(Place(environment, ACCOUNT, REGION), "call")["Statement"]
    assert f"arn:aws:s3:::{FILES_BUCKET}/requests/*" in str(asking)
    named = environment_of(ACCOUNT_CASES["existing-cpu"], "named")
    invoked = policy(Place(named, ACCOUNT, REGION), "call")["Statement"][-1]["Resource"]
    assert invoked == [f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:endpoint/decisions-of-platform"]
    place = Place(named, ACCOUNT, REGION)
    roles_of_ci = ci_template(place, "my/app", "live")["Resources"].values()
    assert {one["Properties"].get("RoleName") for one in roles_of_ci} >= {"semif-named-deploy"}


def test_the_roles_of_ci_trust_one_repository_and_the_template_is_valid(tmp_path: Path) -> None:
    place = place_of("prod", permissions_boundary=f"arn:aws:iam::{ACCOUNT}:policy/bound")
    policies = ci_policies(place, "my/app", "live")
    subjects = {
        task: role["trust"]["Statement"][0]["Condition"]["StringEquals"][
            "token.actions.githubusercontent.com:sub"
        ]
        for task, role in policies.items()
    }
    assert subjects == {"deploy": "repo:my/app:environment:live", "diff": "repo:my/app:pull_request"}
    template = ci_template(place, "my/app", "live")
    roles = {
        name: resource["Properties"]
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::IAM::Role"
    }
    assert {role["RoleName"] for role in roles.values()} == {"semif-prod-deploy", "semif-prod-diff"}
    assert {role["PermissionsBoundary"] for role in roles.values()} == {
        place.environment.permissions_boundary
    }
    for task, role in policies.items():
        (inline,) = roles[f"{task.capitalize()}Role"]["Policies"]
        assert inline["PolicyDocument"] == role["policy"] == policy(place, task)  # type: ignore[arg-type]
    path = tmp_path / "roles.json"
    path.write_text(json.dumps(template))
    linter = Path(sys.executable).with_name("cfn-lint")
    linted = subprocess.run([linter, path], check=False, capture_output=True, text=True)
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_the_command_prints_what_it_says_and_refuses_the_rest() -> None:
    where = ["--account", ACCOUNT, "--region", REGION]
    run = CliRunner().invoke
    assert json.loads(run(main, ["iam", "dev", "call", *where]).stdout) == policy(place_of("dev"), "call")
    of_ci = ["iam", "dev", "ci", *where, "--repository", "my/app"]
    assert json.loads(run(main, of_ci).stdout) == ci_policies(place_of("dev"), "my/app", "dev")
    assert json.loads(run(main, [*of_ci, "--stack"]).stdout) == ci_template(place_of("dev"), "my/app", "dev")
    for arguments, said in (
        (["dev", "deploy", "--region", REGION], "dev names no account; give --account"),
        (["dev", "deploy", "--account", "12", "--region", REGION], "--account: '12' must be 12 digits\n"),
        (["dev", "label", *where], "add [data_capture] with sampling_percent to environments/dev.toml"),
        (["dev", "deploy", "--account", ACCOUNT, "--region", "zz-middle-1"], "is no region"),
        (["dev", "ci", *where], "--repository is None"),
        (["dev", "ci", *where, "--repository", "my/app:*"], "allowed is OWNER/NAME"),
        (["dev", "ci", *where, "--repository", "my/app", "--github-environment", "*"], "allowed are letters"),
        (["dev", "call", *where, "--stack"], "are of ci"),
    ):
        outcome = run(main, ["iam", *arguments])
        assert (outcome.exit_code, outcome.stdout) == (1, ""), arguments
        assert said in outcome.stderr
