"""What `[existing]` and an endpoint's own name say, held against an account: moto's."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from semif.aws.clients import Aws
from semif.environment.environment import Environment
from semif.target.account import check_account
from semif.target.existing import existing_problems

ACCOUNT = "123456789012"
"""Moto's."""
KEY_ARN = f"arn:aws:kms:us-east-1:{ACCOUNT}:key/11111111-2222-3333-4444-555555555555"
FILE = """kind = "decision"
removal = "destroy"
[model]
preset = "embedded"
[endpoint]
instance_type = "ml.c6i.large"
"""


def told(aws: Aws, environment: Environment) -> list[str]:
    return [line for _, problems in existing_problems(aws, environment) for line in problems]


def with_bucket(environment_of: Callable[..., Environment], name: str, rest: str = "") -> Environment:
    return environment_of(f'{FILE}{rest}[existing]\nbucket = "{name}"\n')


def bucket(
    aws: Aws, name: str, *, versions: bool = True, key: str | None = None, encrypts: bool = True
) -> None:
    aws.s3.create_bucket(Bucket=name)
    if versions:
        aws.s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    rule: dict[str, Any] = {"SSEAlgorithm": "AES256" if key is None else "aws:kms"}
    if key is not None:
        rule["KMSMasterKeyID"] = key
    if encrypts:
        rules: Any = {"Rules": [{"ApplyServerSideEncryptionByDefault": rule}]}
        aws.s3.put_bucket_encryption(Bucket=name, ServerSideEncryptionConfiguration=rules)


def role(aws: Aws, name: str, *statements: dict[str, Any]) -> str:
    document = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
    return aws.iam.create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]


def test_a_bucket_that_is_as_it_should_be(account: Aws, environment_of: Callable[..., Environment]) -> None:
    bucket(account, "good")
    assert told(account, with_bucket(environment_of, "good")) == []
    bucket(account, "keyed", key=KEY_ARN)
    encrypted = f'[encryption]\nkms_key_arn = "{KEY_ARN}"\n'
    assert told(account, with_bucket(environment_of, "keyed", encrypted)) == []
    bucket(account, "of-s3", key="alias/aws/s3")
    assert told(account, with_bucket(environment_of, "of-s3")) == []


def test_what_is_wrong_with_a_bucket(account: Aws, environment_of: Callable[..., Environment]) -> None:
    bucket(account, "bare", versions=False, encrypts=False)
    bucket(account, "other-key", key=KEY_ARN)
    bucket(account, "plain")
    encrypted = f'[encryption]\nkms_key_arn = "{KEY_ARN}"\n'
    versions, encryption = told(account, with_bucket(environment_of, "bare"))
    assert versions.startswith("the bucket bare keeps no versions")
    assert encryption.startswith("the bucket bare does not encrypt what it is given")
    (nobody,) = told(account, with_bucket(environment_of, "nobodys"))
    assert nobody == "the bucket nobodys does not exist; make it, or correct [existing]"
    (of_other,) = told(account, with_bucket(environment_of, "other-key"))
    assert f"encrypts with the key {KEY_ARN}, which the roles may not use" in of_other
    (without,) = told(account, with_bucket(environment_of, "plain", encrypted))
    assert without.startswith("the bucket plain does not encrypt with the key of [encryption]")
    files = environment_of(
        FILE.replace("[endpoint]", '[endpoint]\nmode = "async"') + '[existing]\nfiles_bucket = "bare"\n'
    )
    assert told(account, files) == [encryption], "what passes through needs no versions"


def test_a_bucket_of_another_region(account: Aws, environment_of: Callable[..., Environment]) -> None:
    with Stubber(account.s3) as stub:
        stub.add_response("head_bucket", {"BucketRegion": "eu-west-1"})
        (problem,) = told(account, with_bucket(environment_of, "far"))
    assert problem.startswith("the bucket far is in eu-west-1, and this is us-east-1")


def test_a_bucket_that_may_not_be_looked_at_is_a_warning(
    account: Aws, environment_of: Callable[..., Environment]
) -> None:
    environment = with_bucket(environment_of, "closed")
    account.ssm.put_parameter(
        Name="/cdk-bootstrap/hnb659fds/version", Value="23", Type="String", Overwrite=True
    )
    with Stubber(account.s3) as s3, Stubber(account.service_quotas) as quotas:
        s3.add_client_error("head_bucket", "403", "Forbidden", http_status_code=403)
        quotas.add_client_error("list_service_quotas", "AccessDeniedException", "no")
        found = check_account(account, environment)
    assert found.problems == []
    (closed,) = [line for line in found.warnings if "bucket" in line]
    assert closed.startswith("the bucket closed: not checked, ")
    with Stubber(account.s3) as s3:
        s3.add_client_error("head_bucket", "403", "Forbidden", http_status_code=403)
        with pytest.raises(ClientError):
            told(account, environment)


SAGEMAKER = {
    "Effect": "Allow",
    "Principal": {"Service": "sagemaker.amazonaws.com"},
    "Action": "sts:AssumeRole",
}


@pytest.mark.parametrize(
    ("statements", "lets_in"),
    [
        ([SAGEMAKER], True),
        ([{**SAGEMAKER, "Principal": {"Service": ["ec2.amazonaws.com", "sagemaker.amazonaws.com"]}}], True),
        ([{**SAGEMAKER, "Effect": "Deny"}], False),
        ([{**SAGEMAKER, "Principal": {"Service": "ec2.amazonaws.com"}}], False),
        ([{**SAGEMAKER, "Principal": {"AWS": "*"}, "Action": "sts:TagSession"}], False),
    ],
    ids=["one", "listed", "denied", "another", "nobody"],
)
def test_a_role_lets_sagemaker_in(
    account: Aws,
    environment_of: Callable[..., Environment],
    request: pytest.FixtureRequest,
    statements: list[dict[str, Any]],
    lets_in: bool,
) -> None:
    arn = role(account, f"hosting-{request.node.callspec.id}", *statements)
    found = told(account, environment_of(f'{FILE}[existing]\nrole_arn = "{arn}"\n'))
    assert [line.partition(arn)[2][:45] for line in found] == (
        [] if lets_in else [" cannot be assumed by sagemaker.amazonaws.com"]
    )


def test_a_role_that_is_not_there_or_elsewhere(
    account: Aws, environment_of: Callable[..., Environment]
) -> None:
    arn = role(account, "pathless", SAGEMAKER)
    missing = f"arn:aws:iam::{ACCOUNT}:role/nobody"
    (problem,) = told(account, environment_of(f'{FILE}[existing]\nrole_arn = "{missing}"\n'))
    assert problem == f"the role {missing} does not exist; make it, or correct [existing]"
    elsewhere = arn.replace("role/", "role/team/")
    (problem,) = told(account, environment_of(f'{FILE}[existing]\nrole_arn = "{elsewhere}"\n'))
    assert f"there is {arn}" in problem


def test_a_name_that_somebody_elses_endpoint_has(
    account: Aws, environment_of: Callable[..., Environment]
) -> None:
    environment = environment_of(f'{FILE}endpoint_name = "taken"\n')
    assert told(account, environment) == []
    sagemaker = account.sagemaker
    arn = f"arn:aws:iam::{ACCOUNT}:role/r"
    sagemaker.create_model(ModelName="m", ExecutionRoleArn=arn, PrimaryContainer={"Image": "i"})
    variant: Any = {
        "VariantName": "AllTraffic",
        "ModelName": "m",
        "InitialInstanceCount": 1,
        "InstanceType": "ml.c5.large",
    }
    sagemaker.create_endpoint_config(EndpointConfigName="c", ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName="taken", EndpointConfigName="c")
    (problem,) = told(account, environment)
    assert problem.startswith("there is an endpoint taken that Semif-test-Endpoint did not make")


def test_the_bootstrap_of_another_qualifier(account: Aws, environment_of: Callable[..., Environment]) -> None:
    environment = environment_of(f'bootstrap_qualifier = "platform"\n{FILE}')

    def problems() -> list[str]:
        with Stubber(account.service_quotas) as quotas:
            quotas.add_client_error("list_service_quotas", "AccessDeniedException", "no")
            return check_account(account, environment).problems

    (missing,) = problems()
    assert "(no /cdk-bootstrap/platform/version); run `cdk bootstrap --qualifier platform " in missing
    assert f"--toolkit-stack-name CDKToolkit-platform aws://{ACCOUNT}/us-east-1`" in missing
    account.ssm.put_parameter(Name="/cdk-bootstrap/platform/version", Value="23", Type="String")
    assert problems() == []
