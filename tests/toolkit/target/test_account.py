"""What an account lacks, told before anything is made: moto for STS and SSM, stubs for Service Quotas."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber
from click.testing import CliRunner
from rich.console import Console

from semif.aws.clients import Aws
from semif.cli import main
from semif.cli.deployment_steps import deploy_chain
from semif.cli.steps import Steps
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.images.base_images import base_image
from semif.lock.lock_file import lock_path
from semif.project.root import PROJECT_VARIABLE, project_root
from semif.target.account import AccountCheck, check_account
from semif.target.target import Target

ACCOUNT = "123456789012"
"""Moto's."""
BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("environments", "models", "adapter_image"):
        shutil.copytree(
            project_root() / folder, tmp_path / folder, ignore=shutil.ignore_patterns("semif_adapter")
        )
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def aws(account: Aws) -> Aws:
    """It, bootstrapped."""
    account.ssm.put_parameter(Name=BOOTSTRAP_PARAMETER, Value="23", Type="String", Overwrite=True)
    return account


def listed(*quotas: tuple[str, float], more: str | None = None) -> dict[str, Any]:
    """A page of quotas: instance type (or another name) and value."""
    told = [
        {
            "QuotaName": name if " " in name else f"{name} for endpoint usage",
            "QuotaCode": code,
            "Value": value,
        }
        for number, (name, value) in enumerate(quotas)
        for code in [f"L-{number:08}"]
    ]
    return {"Quotas": told, **({"NextToken": more} if more else {})}


def checked(aws: Aws, *quotas: tuple[str, float], environment: str = "prod") -> AccountCheck:
    with Stubber(aws.service_quotas) as stub:
        stub.add_response("list_service_quotas", listed(*quotas))
        stub.add_response("list_aws_default_service_quotas", listed())
        return check_account(aws, load_environment(environment))


G6, G6E, G5 = "ml.g6.xlarge", "ml.g6e.xlarge", "ml.g5.xlarge"
"""prod's pool."""
C5 = "ml.c5.9xlarge"
"""Of the types that moto takes for an endpoint."""


def test_an_account_that_has_all(aws: Aws) -> None:
    assert checked(aws, (G6, 4), (G6E, 2), (G5, 2.0)) == AccountCheck("us-east-1", ACCOUNT)


def test_a_pool_of_which_nothing_is_allowed(aws: Aws) -> None:
    found = checked(aws, (G6, 0), (G6E, 0), (G5, 0))
    assert (len(found.problems), found.warnings) == (3, [])
    told = found.problems[0]
    assert told.startswith("us-east-1 allows 0 instances of ml.g6.xlarge, needed are 2: the quota ")
    assert '"ml.g6.xlarge for endpoint usage" (L-00000000); raise it with `aws service-quotas ' in told
    assert told.endswith("--service-code sagemaker --quota-code L-00000000 --desired-value 2`")


def test_a_type_of_a_pool_without_any_quota_fails_all_of_it(aws: Aws) -> None:
    """Capacity falls back, quota does not."""
    found = checked(aws, (G6, 0), (G6E, 6), (G5, 0))
    assert [line.split(",")[0] for line in found.problems] == [
        f"us-east-1 allows 0 instances of {instance_type}" for instance_type in (G6, G5)
    ]
    assert all(
        line.endswith("--desired-value 2`, or take the type out of the pool") for line in found.problems
    )


def test_what_holds_in_a_pool_between_one_and_the_count_is_not_known(aws: Aws) -> None:
    found = checked(aws, (G6, 1), (G6E, 6), (G5, 1))
    assert found.problems == []
    assert [line.split(",")[0] for line in found.warnings] == [
        f"us-east-1 allows 1 instances of {instance_type}" for instance_type in (G6, G5)
    ]


def test_scaling_may_ask_for_more_than_is_allowed(aws: Aws) -> None:
    found = checked(aws, (G6, 2), (G6E, 2), (G5, 1))
    assert found.problems == []
    _, scaling = found.warnings  # the first is of the one g5
    assert "allows 5 instances of ml.g6.xlarge, ml.g6e.xlarge, ml.g5.xlarge together" in scaling
    assert "scaling may ask for 6" in scaling


def test_the_only_type_is_not_allowed(aws: Aws) -> None:
    (problem,) = checked(aws, ("ml.c6i.8xlarge", 0), environment="dev").problems
    assert '"ml.c6i.8xlarge for endpoint usage"' in problem


def test_fewer_than_the_initial_instances(aws: Aws, project: Path) -> None:
    for name in ("dev", "prod"):
        file = project / "environments" / f"{name}.toml"
        text = file.read_text()
        assert "\ninitial_instance_count = " in text
        file.write_text(re.sub(r"(?m)^initial_instance_count = .", "initial_instance_count = 3", text))
    (problem,) = checked(aws, ("ml.c6i.8xlarge", 2), environment="dev").problems
    assert "allows 2 instances of ml.c6i.8xlarge, needed are 3" in problem
    assert "--desired-value 3" in problem
    assert len(checked(aws, (G6, 1), (G6E, 1), (G5, 0)).problems) == 3, "two altogether"
    together = checked(aws, (G6, 1), (G6E, 1), (G5, 1))
    assert (together.problems, len(together.warnings)) == ([], 5), "scaling and updates may ask for more"


def made_endpoint(aws: Aws, instance_type: str, count: int, *, name: str = "semif-dev") -> None:
    """An endpoint in moto, which knows no pools."""
    sagemaker = aws.sagemaker
    role = f"arn:aws:iam::{ACCOUNT}:role/r"
    sagemaker.create_model(ModelName="m", ExecutionRoleArn=role, PrimaryContainer={"Image": "i"})
    sagemaker.create_endpoint_config(
        EndpointConfigName="c",
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "ModelName": "m",
                "InitialInstanceCount": count,
                "InstanceType": instance_type,
            }
        ],
    )
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName="c")


@pytest.fixture
def dev_on_c5(project: Path) -> Path:
    """The file of dev, whose type moto takes for an endpoint."""
    file = project / "environments" / "dev.toml"
    file.write_text(file.read_text().replace('"ml.c6i.8xlarge"', f'"{C5}"'))
    return file


@pytest.mark.usefixtures("dev_on_c5")
def test_an_update_needs_quota_for_both_fleets(aws: Aws) -> None:
    first = checked(aws, (C5, 1), environment="dev")
    assert (first.problems, first.update_problems) == ([], [])
    assert first.warnings[0].startswith(f"later: us-east-1 allows 1 instances of {C5}, needed are 2: ")
    assert checked(aws, (C5, 2), environment="dev").warnings == []

    made_endpoint(aws, C5, 3)  # three by now, as scaling or somebody has made it
    later = checked(aws, (C5, 5), environment="dev")
    assert (later.problems, later.warnings) == ([], [])
    (problem,) = later.update_problems
    assert "needed are 6" in problem
    assert "an update (all-at-once) starts 3 beside the 3 that run" in problem
    assert "`semif deploy dev --recreate`" in problem
    assert checked(aws, (C5, 6), environment="dev").update_problems == []


@pytest.mark.usefixtures("dev_on_c5")
def test_another_type_needs_quota_for_the_new_fleet_alone(aws: Aws) -> None:
    made_endpoint(aws, "ml.c5.4xlarge", 2)
    assert checked(aws, (C5, 2), environment="dev").update_problems == []
    (problem,) = checked(aws, (C5, 1), environment="dev").update_problems
    assert "needed are 2" in problem
    assert "starts 2 of other types than those that run" in problem


@pytest.mark.parametrize(("strategy", "needed"), [("rolling", 5), ("linear", 8)])
def test_rolling_needs_quota_for_a_batch_more(aws: Aws, dev_on_c5: Path, strategy: str, needed: int) -> None:
    text = re.sub(r"(?m)^initial_instance_count = .", "initial_instance_count = 4", dev_on_c5.read_text())
    dev_on_c5.write_text(f'{text}\n[deployment]\nstrategy = "{strategy}"\n[alarms]\n')
    made_endpoint(aws, C5, 4)
    (problem,) = checked(aws, (C5, needed - 1), environment="dev").update_problems
    assert f"needed are {needed}: " in problem
    assert checked(aws, (C5, needed), environment="dev").update_problems == []


def test_a_pool_that_cannot_hold_two_fleets(aws: Aws) -> None:
    enough = checked(aws, (G6, 2), (G6E, 1), (G5, 1))
    assert not [line for line in enough.warnings if line.startswith("later: ")]
    short = checked(aws, (G6, 1), (G6E, 1), (G5, 1))
    (later,) = [line for line in short.warnings if line.startswith("later: ")]
    assert "allows 3 instances of ml.g6.xlarge, ml.g6e.xlarge, ml.g5.xlarge together, needed are 4" in later


def test_defaults_count_where_the_account_has_no_quota_of_its_own(aws: Aws) -> None:
    with Stubber(aws.service_quotas) as stub:
        service = {"ServiceCode": "sagemaker"}
        stub.add_response("list_service_quotas", listed(("Number of endpoints", 5), more="2"), service)
        stub.add_response("list_service_quotas", listed((G6, 0)), {**service, "NextToken": "2"})
        stub.add_response("list_aws_default_service_quotas", listed((G6, 9), (G6E, 0), more="2"), service)
        # The page with the last name is the last one asked for.
        last = listed((G5, 0), more="3")
        stub.add_response("list_aws_default_service_quotas", last, {**service, "NextToken": "2"})
        found = check_account(aws, load_environment("prod"))
        stub.assert_no_pending_responses()
    assert [line.split(",")[0].rpartition(" ")[2] for line in found.problems] == [G6, G6E, G5]


def test_a_type_without_a_quota_is_no_proof_that_it_is_not_allowed(aws: Aws) -> None:
    found = checked(aws, (G6, 1), (G5, 1))
    assert found.problems == []
    assert found.warnings[0].startswith('us-east-1 tells no quota "ml.g6e.xlarge for endpoint usage"')


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (
            None,
            "(no /cdk-bootstrap/hnb659fds/version); run `cdk bootstrap aws://123456789012/us-east-1` once",
        ),
        ("5", "has version '5', needed is 6 or later; run `cdk bootstrap"),
        ("six", "has version 'six'"),
    ],
)
def test_the_bootstrap(aws: Aws, version: str | None, told: str) -> None:
    if version is None:
        aws.ssm.delete_parameter(Name=BOOTSTRAP_PARAMETER)
    else:
        aws.ssm.put_parameter(Name=BOOTSTRAP_PARAMETER, Value=version, Type="String", Overwrite=True)
    found = checked(aws, (G6, 0), (G6E, 0), (G5, 0))
    assert told in found.problems[0]
    assert len(found.problems) == 4, "all at once"


def test_what_may_not_be_looked_up_names_the_permission(aws: Aws) -> None:
    with Stubber(aws.ssm) as ssm, Stubber(aws.service_quotas) as quotas:
        ssm.add_client_error("get_parameter", "AccessDeniedException", "User: … is not authorized")
        quotas.add_client_error("list_service_quotas", "AccessDeniedException", "User: … is not authorized")
        found = check_account(aws, load_environment("prod"))
    assert found.problems == []
    assert [line.rpartition(" ")[2] for line in found.warnings] == [
        "ssm:GetParameter",
        "servicequotas:ListServiceQuotas",
    ]
    assert found.warnings[0] == (
        "the CDK's bootstrap: not checked, the credentials do not allow ssm:GetParameter"
    )


def test_a_service_that_does_not_answer_is_not_a_quota_of_nothing(aws: Aws) -> None:
    with Stubber(aws.service_quotas) as quotas:
        quotas.add_response("list_service_quotas", listed((G6, 1)))
        quotas.add_client_error("list_aws_default_service_quotas", "ServiceException", "try later")
        found = check_account(aws, load_environment("prod"))
    (warning,) = found.warnings
    assert warning.startswith(
        "the quotas of the instance types: not checked, ListAWSDefaultServiceQuotas failed"
    )


def test_credentials_that_do_not_work(aws: Aws) -> None:
    with Stubber(aws.sts) as sts:
        sts.add_client_error("get_caller_identity", "ExpiredToken", "expired")
        found = check_account(aws, load_environment("prod"))
    assert (found.account, found.warnings) == (None, [])
    assert found.problems[0].startswith("the AWS credentials have expired")


def test_the_account_of_the_file(aws: Aws, project: Path) -> None:
    file = project / "environments" / "prod.toml"
    file.write_text('account = "111122223333"\n' + file.read_text())
    (problem,) = check_account(aws, load_environment("prod")).problems
    assert "prod.toml says account 111122223333, this is 123456789012" in problem


def test_the_command_looks_into_the_account_only_when_asked(
    aws: Aws, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The command makes its clients itself, and moto knows no quotas of SageMaker.
    monkeypatch.setattr(Aws, "from_profile", lambda **_: aws)
    with Stubber(aws.service_quotas) as stub:
        stub.add_response("list_service_quotas", listed(("ml.c6i.large", 2)))
        result = CliRunner().invoke(main, ["env", "check", "demo", "--account", "--json"])
        assert result.exit_code == 0, result.stdout
        (entry,) = json.loads(result.stdout)["environments"]
        assert (entry["account"], entry["region"], entry["problems"]) == (ACCOUNT, "us-east-1", [])
        stub.add_response("list_service_quotas", listed(("ml.c6i.large", 0)))
        result = CliRunner().invoke(main, ["env", "check", "demo", "--account"])
        assert result.exit_code == 1
        assert result.stdout.startswith(f"demo in account {ACCOUNT}, us-east-1: 1 problem\n")
        file = project / "environments" / "demo.toml"
        file.write_text(file.read_text().replace("ml.c6i.large", "ml.c5.large"))
        made_endpoint(aws, "ml.c5.large", 1, name="semif-demo")
        stub.add_response("list_service_quotas", listed(("ml.c5.large", 1)))
        result = CliRunner().invoke(main, ["env", "check", "demo", "--account"])
        assert result.exit_code == 1, "an endpoint that cannot be updated"
        assert "needed are 2" in result.stdout
        stub.assert_no_pending_responses()
        assert CliRunner().invoke(main, ["env", "check", "demo"]).exit_code == 0
    assert CliRunner().invoke(main, ["env", "check", "demo", "--profile", "p"]).exit_code == 2


def test_without_a_region_nothing_is_asked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    result = CliRunner().invoke(main, ["env", "check", "demo", "--account"])
    assert result.exit_code == 1
    assert "no AWS region is set" in result.stdout


def test_a_deployment_ends_before_anything_is_made(aws: Aws, project: Path) -> None:
    environment = load_environment("prod")
    target = Target(project, environment, aws, ACCOUNT, lock_path("prod"), local=False, poll_seconds=0)
    with Stubber(aws.service_quotas) as quotas:
        quotas.add_response("list_service_quotas", listed((G6, 0), (G6E, 0), (G5, 0)))
        with pytest.raises(
            SemifError, match=r"account 123456789012, us-east-1 has 3 problems:\n.*ml\.g6\.xlarge"
        ):
            deploy_chain(Steps(Console(stderr=True)), target)
        quotas.assert_no_pending_responses()
    assert aws.cloudformation.describe_stacks()["Stacks"] == []
    assert not target.lock_path.exists()


@pytest.mark.parametrize(("name", "pool"), [("prod", True), ("dev", False)])
def test_a_region_that_the_file_does_not_name_is_held_against_the_tables(
    aws: Aws, name: str, pool: bool
) -> None:
    for region in ("eu-west-3", "us-gov-west-1"):
        there = Aws(region=region)
        there.ssm.put_parameter(Name=BOOTSTRAP_PARAMETER, Value="23", Type="String", Overwrite=True)
        quotas = [(one, 9.0) for one in load_environment(name).endpoint.instance_types]
        found = checked(there, *quotas, environment=name)
        assert any("had no instance pools" in line for line in found.warnings) == pool
        assert len(found.problems) == (region == "us-gov-west-1")
    assert "us-gov-west-1 cannot log in to public.ecr.aws" in found.problems[0]


def test_a_mirror_of_the_base_needs_no_public_registry(aws: Aws, project: Path) -> None:
    mirror = "111122223333.dkr.ecr.us-gov-west-1.amazonaws.com/mirror/llama-cpp"
    with (project / "environments" / "dev.toml").open("a") as file:
        file.write(f'\n[builds]\nbase_repository = "{mirror}"\n')
    there = Aws(region="us-gov-west-1")
    there.ssm.put_parameter(Name=BOOTSTRAP_PARAMETER, Value="23", Type="String", Overwrite=True)
    assert checked(there, ("ml.c6i.8xlarge", 9), environment="dev").problems == []


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"images": [{"imageId": {}}], "failures": []}, None),
        ({"images": [], "failures": [{"failureCode": "ImageNotFound"}]}, "is not there (ImageNotFound)"),
        ("RepositoryNotFoundException", "is not there (RepositoryNotFoundException)"),
        ("AccessDeniedException", "the credentials do not allow ecr:BatchGetImage"),
    ],
)
def test_the_published_image_is_looked_up_before_anything_is_built(
    aws: Aws, reply: dict[str, Any] | str, told: str | None
) -> None:
    types = load_environment("text").endpoint.instance_types
    with Stubber(aws.ecr) as ecr:
        if isinstance(reply, str):
            ecr.add_client_error("batch_get_image", reply, "no")
        else:
            asked = {
                "registryId": "763104351884",
                "repositoryName": "llama-cpp",
                "imageIds": [{"imageDigest": base_image("cpu").digest}],
            }
            ecr.add_response("batch_get_image", reply, asked)
        found = checked(aws, *((one, 9.0) for one in types), environment="text")
        ecr.assert_no_pending_responses()
    lines = found.warnings if reply == "AccessDeniedException" else found.problems
    assert len(found.problems) == (told is not None and reply != "AccessDeniedException")
    assert told is None or told in lines[-1]
    if found.problems:
        assert lines[0].endswith("`semif image pin cpu --region us-east-1`")
