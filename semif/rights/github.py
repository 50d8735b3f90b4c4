"""Roles that GitHub's workflows take by OpenID Connect, as docs/ci.md has them: no key is stored."""

from typing import Any

from semif.rights.place import Place
from semif.rights.policies import VERSION, Document, policy

ISSUER = "token.actions.githubusercontent.com"
_AUDIENCE = "sts.amazonaws.com"
_HOURS = {"deploy": 6, "diff": 1}
"""Of a session: a deployment with its update may take six, which is GitHub's own limit of a job."""

Template = dict[str, Any]


def ci_policies(place: Place, repository: str, github_environment: str) -> dict[str, Document]:
    """By role: who may take it (`trust`) and what it may (`policy`)."""
    provider = place.arn("iam", f"oidc-provider/{ISSUER}").replace(f":{place.region}:", "::")
    return {
        task: {"trust": _trust(provider, subject), "policy": policy(place, task)}
        for task, subject in _subjects(repository, github_environment).items()
    }


def ci_template(place: Place, repository: str, github_environment: str) -> Template:
    """The same as a CloudFormation template, with the provider where the account has none yet."""
    provider = {"Fn::If": ["MakeProvider", {"Ref": "Provider"}, {"Ref": "ProviderArn"}]}
    roles = {
        f"{task.capitalize()}Role": _role(place, task, _trust(provider, subject))
        for task, subject in _subjects(repository, github_environment).items()
    }
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"Semif {place.environment.name}: roles for the workflows of {repository}",
        "Parameters": {
            "ProviderArn": {
                "Type": "String",
                "Default": "",
                "Description": f"ARN of the account's OIDC provider {ISSUER}; empty: it has none, make it",
            }
        },
        "Conditions": {"MakeProvider": {"Fn::Equals": [{"Ref": "ProviderArn"}, ""]}},
        "Resources": {
            "Provider": {
                "Type": "AWS::IAM::OIDCProvider",
                "Condition": "MakeProvider",
                # One for the account: other stacks may come to use it.
                "DeletionPolicy": "Retain",
                "UpdateReplacePolicy": "Retain",
                "Properties": {"Url": f"https://{ISSUER}", "ClientIdList": [_AUDIENCE]},
            },
            **roles,
        },
        "Outputs": {name: {"Value": {"Fn::GetAtt": [name, "Arn"]}} for name in roles},
    }


def _subjects(repository: str, github_environment: str) -> "dict[Any, str]":
    return {
        "deploy": f"repo:{repository}:environment:{github_environment}",
        "diff": f"repo:{repository}:pull_request",
    }


def _trust(provider: object, subject: str) -> Document:
    return {
        "Version": VERSION,
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Federated": provider},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {"StringEquals": {f"{ISSUER}:aud": _AUDIENCE, f"{ISSUER}:sub": subject}},
            }
        ],
    }


def _role(place: Place, task: Any, trust: Document) -> Template:
    environment = place.environment
    properties: dict[str, object] = {
        "RoleName": f"semif-{environment.name}-{task}",
        "Description": f"what a workflow may that {task}s {environment.name}",
        "AssumeRolePolicyDocument": trust,
        "MaxSessionDuration": _HOURS[task] * 3600,
        "Policies": [{"PolicyName": task, "PolicyDocument": policy(place, task)}],
        "Tags": [{"Key": key, "Value": value} for key, value in environment.aws_tags.items()],
    }
    if environment.permissions_boundary is not None:
        properties["PermissionsBoundary"] = environment.permissions_boundary
    return {"Type": "AWS::IAM::Role", "Properties": properties}
