"""The Artifacts stack: what it holds, and what each part may do."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk.assertions import Match, Template

from semif.environment.environment import Environment, environment_names, load_environment
from semif.lock.lock_file import Lock

Templates = dict[str, Any]
Synth = Callable[[Environment, Lock | None], Templates]
ENVIRONMENTS = environment_names()
WITH_IMAGE = tuple(name for name in ENVIRONMENTS if load_environment(name).kind == "decision")


@pytest.fixture(params=ENVIRONMENTS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


with_image = pytest.mark.parametrize("name", WITH_IMAGE, indirect=True)
"""For tests of what only an environment that builds an image has."""


@pytest.fixture
def artifacts(templates: dict[str, Templates], name: str) -> Template:
    return Template.from_json(templates[name]["Artifacts"])


def test_the_bucket_is_private_encrypted_versioned_and_tls_only(artifacts: Template) -> None:
    artifacts.resource_count_is("AWS::S3::Bucket", 1)
    artifacts.has_resource_properties(
        "AWS::S3::Bucket",
        {
            "BucketEncryption": {
                "ServerSideEncryptionConfiguration": [
                    {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
                ]
            },
            "LifecycleConfiguration": {
                "Rules": [{"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 2}, "Status": "Enabled"}]
            },
            "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
            "PublicAccessBlockConfiguration": {
                "BlockPublicAcls": True,
                "BlockPublicPolicy": True,
                "IgnorePublicAcls": True,
                "RestrictPublicBuckets": True,
            },
            "VersioningConfiguration": {"Status": "Enabled"},
        },
    )
    deny = {"Action": "s3:*", "Effect": "Deny", "Principal": {"AWS": "*"}}
    artifacts.has_resource_properties(
        "AWS::S3::BucketPolicy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [
                        Match.object_like({**deny, "Condition": {"Bool": {"aws:SecureTransport": "false"}}}),
                        Match.object_like({**deny, "Condition": {"NumericLessThan": {"s3:TlsVersion": 1.2}}}),
                    ]
                )
            }
        },
    )


@with_image
def test_images_are_scanned_and_tags_do_not_move(artifacts: Template) -> None:
    artifacts.has_resource_properties(
        "AWS::ECR::Repository",
        {"ImageScanningConfiguration": {"ScanOnPush": True}, "ImageTagMutability": "IMMUTABLE"},
    )


@with_image
def test_no_clean_up_rule_can_match_a_tagged_image(artifacts: Template) -> None:
    (repository,) = artifacts.find_resources("AWS::ECR::Repository").values()
    rules = json.loads(repository["Properties"]["LifecyclePolicy"]["LifecyclePolicyText"])["rules"]
    assert rules
    for rule in rules:
        assert rule["selection"]["tagStatus"] == "untagged"
        assert "tagPrefixList" not in rule["selection"]
        assert "tagPatternList" not in rule["selection"]


def test_what_destroy_leaves(artifacts: Template, name: str) -> None:
    retain = load_environment(name).removal == "retain"
    policy = "Retain" if retain else "Delete"
    artifacts.has_resource("AWS::S3::Bucket", {"DeletionPolicy": policy, "UpdateReplacePolicy": policy})
    for repository in artifacts.find_resources("AWS::ECR::Repository").values():
        assert repository["DeletionPolicy"] == repository["UpdateReplacePolicy"] == policy
        assert repository["Properties"]["EmptyOnDelete"] is not retain
    # `semif destroy` empties the bucket: a Lambda function that may delete every object would stay deployed.
    artifacts.resource_count_is("AWS::Lambda::Function", 0)
    artifacts.resource_count_is("Custom::S3AutoDeleteObjects", 0)


@with_image
def test_only_the_image_project_is_privileged(artifacts: Template) -> None:
    projects = artifacts.find_resources("AWS::CodeBuild::Project").values()
    privileged = {
        project["Properties"]["Source"]["BuildSpec"]: project["Properties"]["Environment"]["PrivilegedMode"]
        for project in projects
    }
    assert privileged == {"buildspec.yml": True, "buildspec.model.yml": False}


def test_projects_build_from_a_zip_of_the_bucket_with_bounds_and_a_log(artifacts: Template) -> None:
    for logical_id, project in artifacts.find_resources("AWS::CodeBuild::Project").items():
        properties = project["Properties"]
        assert properties["Source"]["Type"] == "S3"
        assert properties["Artifacts"] == {"Type": "NO_ARTIFACTS"}
        assert properties["Environment"]["ComputeType"].startswith("BUILD_GENERAL1_")
        assert 5 <= properties["TimeoutInMinutes"] <= 60
        assert properties["QueuedTimeoutInMinutes"] <= 60
        group = properties["LogsConfig"]["CloudWatchLogs"]["GroupName"]["Ref"]
        assert artifacts.find_resources("AWS::Logs::LogGroup")[group]["Properties"]["RetentionInDays"] == 90
        policies = artifacts.find_resources("AWS::IAM::Policy")
        assert set(project["DependsOn"]) & set(policies), f"{logical_id} may start before its policy is there"


@with_image
def test_projects_know_what_every_build_of_theirs_shares(artifacts: Template, name: str) -> None:
    variables = {
        project["Properties"]["Source"]["BuildSpec"]: {
            variable["Name"]: variable["Value"]
            for variable in project["Properties"]["Environment"]["EnvironmentVariables"]
        }
        for project in artifacts.find_resources("AWS::CodeBuild::Project").values()
    }
    assert set(variables["buildspec.yml"]) == {"BASE_IMAGE", "MODEL_BUCKET", "REPOSITORY_URI"}
    assert set(variables["buildspec.model.yml"]) == {"MODEL_BUCKET"}
    assert variables["buildspec.yml"]["BASE_IMAGE"].startswith(
        "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:"
    )
    bucket, *_ = artifacts.find_resources("AWS::S3::Bucket")
    assert variables["buildspec.model.yml"]["MODEL_BUCKET"] == {"Ref": bucket}


def test_cpu_and_gpu_extend_different_bases(templates: dict[str, Templates]) -> None:
    def base(name: str) -> str:
        template = Template.from_json(templates[name]["Artifacts"])
        (project,) = template.find_resources(
            "AWS::CodeBuild::Project", {"Properties": {"Source": {"BuildSpec": "buildspec.yml"}}}
        ).values()
        return project["Properties"]["Environment"]["EnvironmentVariables"][0]["Value"]

    assert base("dev") == base("demo") != base("prod")


@with_image
def test_the_outputs_that_builds_need(artifacts: Template) -> None:
    outputs = artifacts.to_json()["Outputs"]
    assert set(outputs) == {"BucketName", "RepositoryUri", "ImageProjectName", "ModelProjectName"}


def test_text_builds_its_model_and_no_image(templates: dict[str, Templates]) -> None:
    artifacts = Template.from_json(templates["text"]["Artifacts"])
    artifacts.resource_count_is("AWS::ECR::Repository", 0)
    (project,) = artifacts.find_resources("AWS::CodeBuild::Project").values()
    assert project["Properties"]["Source"]["BuildSpec"] == "buildspec.model.yml"
    assert project["Properties"]["Environment"]["PrivilegedMode"] is False
    assert set(artifacts.to_json()["Outputs"]) == {"BucketName", "ModelProjectName"}


def test_the_stack_is_the_same_with_and_without_a_lock(
    synth: Synth, templates: dict[str, Templates], name: str
) -> None:
    assert synth(load_environment(name), None) == {"Artifacts": templates[name]["Artifacts"]}
