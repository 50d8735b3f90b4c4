"""The constructs in somebody else's app, with what exists there already."""

import re
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Validations
from aws_cdk.assertions import Match, Template
from cdk_nag import AwsSolutionsChecks

import semif_constructs
from tests.infra.example_app.app import IMAGE, KEY, PLACE, compose


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Template]:
    app = App(analytics_reporting=False, outdir=str(tmp_path_factory.mktemp("cdk")))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    compose(app)
    app.synth()  # raises where cdk-nag finds anything
    return {name: Template.from_stack(app.node.find_child(name)) for name in ("Decisions", "Imported")}


def kinds(template: Template) -> set[str]:
    return {item["Type"] for item in template.to_json()["Resources"].values()}


def statements(template: Template) -> list[dict[str, Any]]:
    policies = template.find_resources("AWS::IAM::Policy").values()
    return [entry for policy in policies for entry in policy["Properties"]["PolicyDocument"]["Statement"]]


def test_ten_lines_make_an_endpoint_that_an_application_may_ask(stacks: dict[str, Template]) -> None:
    template = stacks["Decisions"]
    assert kinds(template) == {
        *("AWS::IAM::Role", "AWS::IAM::Policy", "AWS::CloudWatch::Alarm", "AWS::SageMaker::Model"),
        *("AWS::SageMaker::EndpointConfig", "AWS::SageMaker::Endpoint"),
    }
    template.has_resource_properties(
        "AWS::SageMaker::Model",
        {"PrimaryContainer": Match.object_like({"Environment": {"SEMIF_STREAMS": "8"}})},
    )
    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": [
                    Match.object_like(
                        {
                            "Action": [
                                "sagemaker:InvokeEndpoint",
                                "sagemaker:InvokeEndpointWithResponseStream",
                            ]
                        }
                    )
                ]
            },
            "Roles": ["application"],
        },
    )
    template.has_resource_properties(
        "AWS::CloudWatch::Alarm", {"MetricName": "Invocation5XXErrors", "Namespace": "AWS/SageMaker"}
    )


def test_nothing_is_made_that_is_there_already(stacks: dict[str, Template]) -> None:
    made = kinds(stacks["Imported"])
    assert not made & {"AWS::S3::Bucket", "AWS::ECR::Repository", "AWS::KMS::Key", "AWS::EC2::VPC"}
    roles = stacks["Imported"].find_resources("AWS::IAM::Role").values()
    assumed = {
        role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]["Service"]
        for role in roles
    }
    assert assumed == {"codebuild.amazonaws.com"}, "the endpoint's role is the imported one"


def test_the_imported_role_gets_what_the_model_needs(stacks: dict[str, Template]) -> None:
    stacks["Imported"].has_resource_properties(
        "AWS::SageMaker::Model",
        {
            "ExecutionRoleArn": "arn:aws:iam::111122223333:role/hosting",
            "VpcConfig": {
                "SecurityGroupIds": [Match.any_value()],
                "Subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
            },
        },
    )
    hosting = [
        policy["Properties"]
        for policy in stacks["Imported"].find_resources("AWS::IAM::Policy").values()
        if policy["Properties"]["Roles"] == ["hosting"]
    ]
    actions = {
        action
        for policy in hosting
        for statement in policy["PolicyDocument"]["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    assert {"s3:GetObject", "kms:Decrypt", "ecr:BatchGetImage", "ec2:CreateNetworkInterface"} <= actions
    (model,) = stacks["Imported"].find_resources("AWS::SageMaker::Model").values()
    assert len(model["DependsOn"]) == 3, "SageMaker checks the role when it makes the Model"
    (config,) = stacks["Imported"].find_resources("AWS::SageMaker::EndpointConfig").values()
    assert len(config["DependsOn"]) == len(hosting) - 3 == 1, "instances write their log from the start"


def test_builds_use_the_imported_bucket_repository_and_key(stacks: dict[str, Template]) -> None:
    projects = stacks["Imported"].find_resources("AWS::CodeBuild::Project").values()
    assert {project["Properties"]["EncryptionKey"] for project in projects} == {KEY}
    for project in projects:
        assert project["Properties"]["Source"]["Location"].startswith("our-models/sources/")
    keyed = [entry for entry in statements(stacks["Imported"]) if entry["Resource"] == KEY]
    allowed = {action for entry in keyed for action in _listed(entry["Action"])}
    assert allowed == {"kms:CreateGrant", "kms:Decrypt", "kms:GenerateDataKey"}
    pushes = [entry for entry in statements(stacks["Imported"]) if "ecr:PutImage" in _listed(entry["Action"])]
    assert len(pushes) == 1
    assert ":repository/adapter" in str(pushes[0]["Resource"])


def test_the_page_shows_the_example_as_it_is(root: Path) -> None:
    source = (Path(__file__).parent / "example_app" / "app.py").read_text()
    begin, end = source.index("class Decisions"), source.index("class Imported")
    assert source[begin:end].strip() in (root / "docs" / "constructs.md").read_text()


def test_the_page_is_a_program_with_all_its_imports(root: Path, tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "constructs.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(program.replace("App()", f"App(analytics_reporting=False, outdir={str(tmp_path)!r})"), names)
    assert (tmp_path / "Decisions.template.json").exists()
    assert names["PLACE"] == PLACE
    assert names["IMAGE"] == IMAGE


def test_the_page_names_what_the_package_exports(root: Path) -> None:
    tables = re.findall(r"^\| (`.*?) \|", (root / "docs" / "constructs.md").read_text(), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(tables))) == set(semif_constructs.__all__)
    assert semif_constructs.__all__ == sorted(semif_constructs.__all__)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
