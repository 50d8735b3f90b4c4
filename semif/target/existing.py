"""Whether what `[existing]` and `endpoint_name` say is there, and fit to be used; nothing is changed."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from botocore.exceptions import ClientError

from semif.aws.clients import Aws
from semif.aws.stacks import stack_resource
from semif.environment.environment import Environment
from semif.target.endpoint_state import describe_endpoint
from semif.target.key_policy import listed

_SERVICE = "sagemaker.amazonaws.com"
_UNENCRYPTED = "ServerSideEncryptionConfigurationNotFoundError"


def existing_problems(aws: Aws, environment: Environment) -> Iterator[tuple[str, Iterator[str]]]:
    """What is looked at, and a line for each problem of it, found when they are asked for.

    Looking raises ClientError and BotoCoreError, for a name of an endpoint SemifError too.
    """
    given = environment.existing
    for name in given.buckets:
        yield f"the bucket {name}", _bucket_problems(aws, environment, name)
    if given.role_arn is not None:
        yield f"the role {given.role_arn}", _role_problems(aws, given.role_arn)
    if environment.endpoint.endpoint_name is not None:
        yield f"the endpoint {environment.endpoint_name}", _name_problems(aws, environment)


def _bucket_problems(aws: Aws, environment: Environment, name: str) -> Iterator[str]:
    try:
        region = aws.s3.head_bucket(Bucket=name).get("BucketRegion")
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
            raise
        yield f"the bucket {name} does not exist; make it, or correct [existing]"
        return
    if region is not None and region != aws.region:
        yield (
            f"the bucket {name} is in {region}, and this is {aws.region}: SageMaker and CodeBuild want it in "
            "their own region"
        )
        return
    keeps_models = name == environment.existing.bucket
    if keeps_models and aws.s3.get_bucket_versioning(Bucket=name).get("Status") != "Enabled":
        yield (
            f"the bucket {name} keeps no versions: a model that is overwritten by mistake would be gone; "
            "turn versioning on"
        )
    yield from _encryption_problems(aws, environment, name)


def _encryption_problems(aws: Aws, environment: Environment, name: str) -> Iterator[str]:
    try:
        reply = aws.s3.get_bucket_encryption(Bucket=name)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != _UNENCRYPTED:
            raise
        yield f"the bucket {name} does not encrypt what it is given; set its default encryption"
        return
    rules = reply["ServerSideEncryptionConfiguration"]["Rules"]
    default = rules[0].get("ApplyServerSideEncryptionByDefault", {}) if rules else {}
    key = default.get("KMSMasterKeyID")
    ours = environment.encryption.kms_key_arn if environment.encryption is not None else None
    if key is not None and not key.endswith("alias/aws/s3") and not _is_same_key(key, ours):
        yield (
            f"the bucket {name} encrypts with the key {key}, which the roles may not use; write it as "
            "kms_key_arn into [encryption]"
        )
    elif ours is not None and key is None:
        yield (f"the bucket {name} does not encrypt with the key of [encryption]; make that key its default")


def _is_same_key(key: str, ours: str | None) -> bool:
    """`key` may be an ARN or the id at the end of one."""
    return ours is not None and ours.rpartition("/")[2] == key.rpartition("/")[2]


def _role_problems(aws: Aws, arn: str) -> Iterator[str]:
    try:
        role = aws.iam.get_role(RoleName=arn.rpartition("/")[2])["Role"]
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "NoSuchEntity":
            raise
        yield f"the role {arn} does not exist; make it, or correct [existing]"
        return
    if role["Arn"] != arn:
        yield f"the role {arn} does not exist, there is {role['Arn']}; correct [existing]"
    written: object = role.get("AssumeRolePolicyDocument")
    document = json.loads(unquote(written)) if isinstance(written, str) else written
    statements = listed(document.get("Statement")) if isinstance(document, Mapping) else []
    if not any(_lets_sagemaker_in(statement) for statement in statements):
        yield f"the role {arn} cannot be assumed by {_SERVICE}; let it (sts:AssumeRole) in the trust policy"


def _lets_sagemaker_in(statement: Mapping[str, Any]) -> bool:
    """Whether the statement does, its conditions not worked out."""
    principal = statement.get("Principal")
    services = listed(principal.get("Service")) if isinstance(principal, Mapping) else []
    actions = {str(action).lower() for action in listed(statement.get("Action"))}
    return (
        statement.get("Effect") == "Allow"
        and _SERVICE in services
        and bool({"sts:assumerole", "sts:*", "*"} & actions)
    )


def _name_problems(aws: Aws, environment: Environment) -> Iterator[str]:
    """An endpoint of that name that another stack, or somebody, made: CloudFormation would fail at it."""
    name = environment.endpoint_name
    if describe_endpoint(aws, name) is None:
        return
    if stack_resource(aws, environment.endpoint_stack, "AWS::SageMaker::Endpoint") != name:
        yield (
            f"there is an endpoint {name} that {environment.endpoint_stack} did not make; give another "
            "endpoint_name, or delete that one"
        )
