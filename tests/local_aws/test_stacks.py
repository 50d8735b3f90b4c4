"""CloudFormation of the local AWS: what a stack says is there, is there; what it cannot do fails by name."""

import ast
import copy
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnResource, Stack
from botocore.exceptions import ClientError

from tests.support.servers.local_aws import MODEL_ARCHIVE, MODEL_BUCKET, LocalAws, put_archive
from tests.support.servers.local_stacks import deploy, destroy, reasons, resource, status_when_settled

CDK_SECONDS = 120

Template = dict[str, Any]


def artifacts_template() -> Template:
    """A bucket with a policy, a repository, a log group, a role and a project that refers to all of them."""
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "sts:AssumeRole",
                "Principal": {"Service": "codebuild.amazonaws.com"},
            }
        ],
    }
    tls_only = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Deny",
                "Principal": "*",
                "Action": "s3:*",
                "Resource": {"Fn::GetAtt": ["Bucket", "Arn"]},
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            }
        ],
    }
    resources = {
        "Project": resource(
            "AWS::CodeBuild::Project",
            {
                "Source": {"Type": "S3", "Location": "b/k", "BuildSpec": "buildspec.yml"},
                "Artifacts": {"Type": "NO_ARTIFACTS"},
                "Environment": {
                    "Type": "LINUX_CONTAINER",
                    "Image": "aws/codebuild/standard:7.0",
                    "ComputeType": "BUILD_GENERAL1_SMALL",
                    "PrivilegedMode": "false",
                    "EnvironmentVariables": [{"Name": "MODEL_BUCKET", "Value": {"Ref": "Bucket"}}],
                },
                "ServiceRole": {"Fn::GetAtt": ["Role", "Arn"]},
                "LogsConfig": {"CloudWatchLogs": {"Status": "ENABLED", "GroupName": {"Ref": "Logs"}}},
                "TimeoutInMinutes": "30",
            },
        ),
        "Bucket": resource(
            "AWS::S3::Bucket",
            {
                "VersioningConfiguration": {"Status": "Enabled"},
                "PublicAccessBlockConfiguration": {"BlockPublicAcls": True, "BlockPublicPolicy": True},
            },
        ),
        "BucketPolicy": resource(
            "AWS::S3::BucketPolicy", {"Bucket": {"Ref": "Bucket"}, "PolicyDocument": tls_only}
        ),
        "Repository": resource("AWS::ECR::Repository", {"ImageTagMutability": "IMMUTABLE"}),
        "Role": resource("AWS::IAM::Role", {"AssumeRolePolicyDocument": trust}),
        "Logs": resource("AWS::Logs::LogGroup", {"RetentionInDays": 30}),
        "Metadata": resource("AWS::CDK::Metadata", {"Analytics": "v2:deflate64:"}),
    }
    outputs = {name: {"Value": {"Ref": name}} for name in ("Bucket", "Project", "Repository", "Logs")} | {
        "ProjectArn": {"Value": {"Fn::GetAtt": ["Project", "Arn"]}}
    }
    return {"Resources": resources, "Outputs": outputs}


def endpoint_template(container: Path, name: str, **environment: str) -> Template:
    """Model, EndpointConfig and Endpoint, written in the order in which they must not be created."""
    resources = {
        "Endpoint": resource(
            "AWS::SageMaker::Endpoint",
            {"EndpointName": name, "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]}},
        ),
        "Config": resource(
            "AWS::SageMaker::EndpointConfig",
            {
                "ProductionVariants": [
                    {
                        "VariantName": "primary",
                        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                        "InitialInstanceCount": "1",
                        "InitialVariantWeight": 1,
                        "InstancePools": [{"InstanceType": "ml.g6.xlarge", "Priority": "1"}],
                        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
                        "InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1",
                    }
                ]
            },
        ),
        "Model": resource(
            "AWS::SageMaker::Model",
            {
                "ExecutionRoleArn": "arn:aws:iam::000000000000:role/hosting",
                "EnableNetworkIsolation": "true",
                "PrimaryContainer": {
                    "Image": "adapter",
                    "ModelDataUrl": f"s3://{MODEL_BUCKET}/{MODEL_ARCHIVE}",
                    "Environment": {"PYTHONPATH": str(container), **environment},
                },
            },
            DependsOn=["Marker"],
        ),
        "Marker": resource("AWS::CDK::Metadata", {}),
    }
    return {"Resources": resources}


def test_a_stack_makes_what_it_says_and_deletes_it(local_aws: LocalAws) -> None:
    deploy(local_aws, "artifacts", artifacts_template())
    (stack,) = local_aws.cloudformation.describe_stacks(StackName="artifacts")["Stacks"]
    made = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    bucket = made["Bucket"]
    assert local_aws.s3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    blocked = local_aws.s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert blocked["BlockPublicAcls"] is True
    assert blocked["RestrictPublicBuckets"] is False
    assert "SecureTransport" in local_aws.s3.get_bucket_policy(Bucket=bucket)["Policy"]
    (project,) = local_aws.codebuild.batch_get_projects(names=[made["Project"]])["projects"]
    assert project["arn"] == made["ProjectArn"]
    assert project["environment"]["privilegedMode"] is False
    assert project["environment"]["environmentVariables"] == [{"name": "MODEL_BUCKET", "value": bucket}]
    assert project["source"]["buildspec"] == "buildspec.yml"
    assert project["timeoutInMinutes"] == 30
    assert project["logsConfig"]["cloudWatchLogs"]["groupName"] == made["Logs"]
    listed = local_aws.cloudformation.describe_stack_resources(StackName="artifacts")["StackResources"]
    assert {one["LogicalResourceId"] for one in listed} == set(artifacts_template()["Resources"])

    destroy(local_aws, "artifacts")
    assert bucket not in {one["Name"] for one in local_aws.s3.list_buckets()["Buckets"]}
    assert made["Project"] not in local_aws.codebuild.list_projects()["projects"]


def test_an_unknown_type_fails_by_name(local_aws: LocalAws) -> None:
    template = artifacts_template()
    template["Resources"]["Alien"] = resource("AWS::Alien::Thing", {})
    template["Resources"]["Custom"] = resource("Custom::Thing", {"ServiceToken": "arn:x"})
    template["Resources"]["Nested"] = resource("AWS::CloudFormation::Stack", {"TemplateURL": "https://x"})
    unknown = "['AWS::Alien::Thing', 'AWS::CloudFormation::Stack', 'Custom::Thing']"
    with pytest.raises(ClientError, match=re.escape(f"Unrecognized resource types: {unknown}")):
        local_aws.cloudformation.create_stack(StackName="alien", TemplateBody=json.dumps(template))
    with pytest.raises(ClientError, match="does not exist"):
        local_aws.cloudformation.describe_stacks(StackName="alien")


def test_an_unknown_property_of_our_types_fails_and_is_rolled_back(local_aws: LocalAws) -> None:
    template = artifacts_template()
    template["Resources"]["Project"]["Properties"]["Fleets"] = "many"
    local_aws.cloudformation.create_stack(StackName="rolled-back", TemplateBody=json.dumps(template))
    assert status_when_settled(local_aws, "rolled-back") == "ROLLBACK_COMPLETE"
    assert "the property Fleets is not supported" in reasons(local_aws, "rolled-back")["Project"]
    assert not [one["Name"] for one in local_aws.s3.list_buckets()["Buckets"] if "rolled-back" in one["Name"]]
    destroy(local_aws, "rolled-back")


def test_a_bucket_that_is_not_empty_stops_the_deletion_and_loses_nothing(local_aws: LocalAws) -> None:
    template = {"Resources": {"Bucket": artifacts_template()["Resources"]["Bucket"]}}
    deploy(local_aws, "filled", template)
    (bucket,) = local_aws.cloudformation.describe_stack_resources(StackName="filled")["StackResources"]
    name = bucket["PhysicalResourceId"]
    version = local_aws.s3.put_object(Bucket=name, Key="kept", Body=b"x")["VersionId"]
    local_aws.cloudformation.delete_stack(StackName="filled")
    assert status_when_settled(local_aws, "filled") == "DELETE_FAILED"
    assert "not empty" in reasons(local_aws, "filled")["Bucket"]
    local_aws.s3.delete_object(Bucket=name, Key="kept", VersionId=version)
    destroy(local_aws, "filled")


@pytest.mark.parametrize("empty_on_delete", [True, False])
def test_a_repository_goes_with_its_images_only_where_the_template_says_so(
    local_aws: LocalAws, empty_on_delete: bool
) -> None:
    name = f"images-{empty_on_delete}".lower()
    properties = {"RepositoryName": name, "EmptyOnDelete": empty_on_delete}
    deploy(local_aws, name, {"Resources": {"Images": resource("AWS::ECR::Repository", properties)}})
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}
    local_aws.ecr.put_image(repositoryName=name, imageManifest=json.dumps(manifest), imageTag="one")
    if empty_on_delete:
        destroy(local_aws, name)
        return
    local_aws.cloudformation.delete_stack(StackName=name)
    assert status_when_settled(local_aws, name) == "DELETE_FAILED"
    assert "still contains images" in reasons(local_aws, name)["Images"]


def test_a_retained_resource_outlives_its_stack(local_aws: LocalAws) -> None:
    logs = resource("AWS::Logs::LogGroup", {"LogGroupName": "kept-lines"}, DeletionPolicy="Retain")
    deploy(local_aws, "retaining", {"Resources": {"Logs": logs}})
    destroy(local_aws, "retaining")
    groups = local_aws.logs.describe_log_groups(logGroupNamePrefix="kept-lines")["logGroups"]
    assert len(groups) == 1


def updated(aws: LocalAws, name: str, template: Template) -> str:
    """Update a stack; its status in the end."""
    aws.cloudformation.update_stack(StackName=name, TemplateBody=json.dumps(template))
    return status_when_settled(aws, name)


def config_names(aws: LocalAws) -> set[str]:
    return {one["EndpointConfigName"] for one in aws.sagemaker.list_endpoint_configs()["EndpointConfigs"]}


def files_of_containers(aws: LocalAws, endpoint: str) -> list[list[str]]:
    """The model files that each container of an endpoint has found, in the order of their starts."""
    group = f"/aws/sagemaker/Endpoints/{endpoint}"
    streams = aws.logs.describe_log_streams(logGroupName=group)["logStreams"]
    names = [one["logStreamName"] for one in sorted(streams, key=lambda one: one["creationTime"])]
    lines = [line for name in names for line in aws.log_lines(group, name)]
    found = [line.partition("container: model files ")[2] for line in lines if "model files" in line]
    return [list(ast.literal_eval(line)) for line in found]


def test_an_endpoint_stack_is_complete_when_the_endpoint_is_in_service(
    local_aws: LocalAws, container: Path
) -> None:
    template = endpoint_template(container, "stacked")
    deploy(local_aws, "endpoint", template)
    described = local_aws.sagemaker.describe_endpoint(EndpointName="stacked")
    assert described["EndpointStatus"] == "InService"
    first_config = described["EndpointConfigName"]

    changed = copy.deepcopy(template)
    put_archive(local_aws, "other/model.tar.gz", "other.gguf")
    data = f"s3://{MODEL_BUCKET}/other/model.tar.gz"
    changed["Resources"]["Model"]["Properties"]["PrimaryContainer"]["ModelDataUrl"] = data
    assert updated(local_aws, "endpoint", changed) == "UPDATE_COMPLETE"
    described = local_aws.sagemaker.describe_endpoint(EndpointName="stacked")
    assert described["EndpointStatus"] == "InService"
    second_config = described["EndpointConfigName"]
    assert second_config != first_config
    assert config_names(local_aws) >= {second_config}
    assert first_config not in config_names(local_aws)
    assert files_of_containers(local_aws, "stacked") == [["model.gguf"], ["other.gguf"]]
    with pytest.raises(ClientError, match="No updates are to be performed"):
        local_aws.cloudformation.update_stack(StackName="endpoint", TemplateBody=json.dumps(changed))

    failing = copy.deepcopy(changed)
    failing["Resources"]["Topic"] = resource("AWS::SNS::Topic", {"TopicName": "stays-not"})
    failing["Resources"]["Model"]["Properties"]["PrimaryContainer"]["Environment"]["REFUSE"] = "bad weights"
    assert updated(local_aws, "endpoint", failing) == "UPDATE_ROLLBACK_COMPLETE"
    assert "cannot start: bad weights" in reasons(local_aws, "endpoint")["Endpoint"]
    described = local_aws.sagemaker.describe_endpoint(EndpointName="stacked")
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("InService", second_config)
    assert [name for name in config_names(local_aws) if name.startswith("endpoint-")] == [second_config]
    listed = local_aws.cloudformation.describe_stack_resources(StackName="endpoint")["StackResources"]
    assert {one["LogicalResourceId"] for one in listed} == set(template["Resources"])
    stored = local_aws.cloudformation.get_template(StackName="endpoint")["TemplateBody"]
    assert stored == changed
    assert updated(local_aws, "endpoint", template) == "UPDATE_COMPLETE"

    destroy(local_aws, "endpoint")
    with pytest.raises(ClientError, match="Could not find endpoint"):
        local_aws.sagemaker.describe_endpoint(EndpointName="stacked")


def endpoint_names(aws: LocalAws) -> list[str]:
    return [one["EndpointName"] for one in aws.sagemaker.list_endpoints()["Endpoints"]]


def test_another_name_is_another_endpoint_and_the_old_one_goes_last(
    local_aws: LocalAws, container: Path
) -> None:
    """Also where its old configuration stays, and where the new one cannot start."""
    template = endpoint_template(container, "named-first")
    template["Outputs"] = {"Name": {"Value": {"Fn::GetAtt": ["Endpoint", "EndpointName"]}}}
    deploy(local_aws, "named", template)
    config = local_aws.sagemaker.describe_endpoint(EndpointName="named-first")["EndpointConfigName"]

    refused = copy.deepcopy(template)
    refused["Resources"]["Endpoint"]["Properties"]["EndpointName"] = "named-never"
    refused["Resources"]["Model"]["Properties"]["PrimaryContainer"]["Environment"]["REFUSE"] = "bad weights"
    assert updated(local_aws, "named", refused) == "UPDATE_ROLLBACK_COMPLETE"
    assert [name for name in endpoint_names(local_aws) if name.startswith("named")] == ["named-first"]
    described = local_aws.sagemaker.describe_endpoint(EndpointName="named-first")
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("InService", config)

    template["Resources"]["Endpoint"]["Properties"]["EndpointName"] = "named-second"
    assert updated(local_aws, "named", template) == "UPDATE_COMPLETE"
    described = local_aws.sagemaker.describe_endpoint(EndpointName="named-second")
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("InService", config)
    assert [name for name in endpoint_names(local_aws) if name.startswith("named")] == ["named-second"]
    (stack,) = local_aws.cloudformation.describe_stacks(StackName="named")["Stacks"]
    assert stack["Outputs"][0]["OutputValue"] == "named-second"
    events = local_aws.cloudformation.describe_stack_events(StackName="named")["StackEvents"]
    of_endpoint = [event for event in events if event["LogicalResourceId"] == "Endpoint"]
    assert of_endpoint[0]["ResourceStatus"] == "DELETE_COMPLETE", "the newest"
    assert of_endpoint[0]["PhysicalResourceId"].endswith("named-first")

    queue = {"OutputConfig": {"S3OutputPath": f"s3://{MODEL_BUCKET}/answers/"}}
    template["Resources"]["Config"]["Properties"]["AsyncInferenceConfig"] = queue
    assert updated(local_aws, "named", template) == "UPDATE_ROLLBACK_COMPLETE"
    events = local_aws.cloudformation.describe_stack_events(StackName="named")["StackEvents"]
    newest, *_ = [one["ResourceStatusReason"] for one in events if one["ResourceStatus"] == "UPDATE_FAILED"]
    assert "AsyncInferenceConfig parameter cannot be added" in newest
    assert local_aws.sagemaker.describe_endpoint(EndpointName="named-second")["EndpointConfigName"] == config

    del template["Resources"]["Endpoint"]["Properties"]["EndpointName"]
    assert updated(local_aws, "named", template) == "UPDATE_COMPLETE"
    (made_up,) = [name for name in endpoint_names(local_aws) if name.startswith("named")]
    assert "Endpoint" in made_up
    assert local_aws.sagemaker.describe_endpoint(EndpointName=made_up)["AsyncInferenceConfig"] == queue
    destroy(local_aws, "named")
    assert made_up not in endpoint_names(local_aws)


def test_another_name_is_another_project(local_aws: LocalAws) -> None:
    template = artifacts_template()
    template["Resources"]["Project"]["Properties"]["Name"] = "project-first"
    deploy(local_aws, "projects", template)
    template["Resources"]["Project"]["Properties"]["Name"] = "project-second"
    assert updated(local_aws, "projects", template) == "UPDATE_COMPLETE"
    names = ["project-first", "project-second"]
    found = local_aws.codebuild.batch_get_projects(names=names)
    assert [one["name"] for one in found["projects"]] == ["project-second"]
    assert found["projectsNotFound"] == ["project-first"]
    (stack,) = local_aws.cloudformation.describe_stacks(StackName="projects")["Stacks"]
    made = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    assert made["Project"] == "project-second"
    assert made["ProjectArn"] == found["projects"][0]["arn"]
    destroy(local_aws, "projects")


def test_an_update_that_is_cancelled_goes_back(local_aws: LocalAws, container: Path, tmp_path: Path) -> None:
    template = endpoint_template(container, "cancelled")
    deploy(local_aws, "cancelled", template)
    before = local_aws.sagemaker.describe_endpoint(EndpointName="cancelled")["EndpointConfigName"]
    with pytest.raises(ClientError, match="current stack status: CREATE_COMPLETE"):
        local_aws.cloudformation.cancel_update_stack(StackName="cancelled")
    container_of = template["Resources"]["Model"]["Properties"]["PrimaryContainer"]
    container_of["Environment"]["READY_WITH"] = str(tmp_path / "ready")
    local_aws.cloudformation.update_stack(StackName="cancelled", TemplateBody=json.dumps(template))
    local_aws.cloudformation.cancel_update_stack(StackName="cancelled")
    (tmp_path / "ready").touch()
    assert status_when_settled(local_aws, "cancelled") == "UPDATE_ROLLBACK_COMPLETE"
    described = local_aws.sagemaker.describe_endpoint(EndpointName="cancelled")
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("InService", before)
    destroy(local_aws, "cancelled")


def test_a_change_set_that_is_gone_and_a_parameter_that_keeps_its_value(local_aws: LocalAws) -> None:
    """What the CDK does before and in every update: its templates have a parameter out of SSM."""
    local_aws.ssm.put_parameter(Name="/toy/version", Value="31", Type="String")
    template = {
        "Parameters": {"Version": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/toy/version"}},
        "Resources": {"Topic": resource("AWS::SNS::Topic", {"DisplayName": {"Ref": "Version"}})},
    }
    deploy(local_aws, "parametrised", template)
    local_aws.cloudformation.delete_change_set(StackName="parametrised", ChangeSetName="gone")
    with pytest.raises(ClientError, match=r"ChangeSet \[gone\] does not exist") as caught:
        local_aws.cloudformation.describe_change_set(StackName="parametrised", ChangeSetName="gone")
    assert caught.value.response["Error"]["Code"] == "ChangeSetNotFound"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    template["Resources"]["Other"] = resource("AWS::SNS::Topic", {"DisplayName": {"Ref": "Version"}})
    local_aws.cloudformation.create_change_set(
        StackName="parametrised",
        ChangeSetName="next",
        ChangeSetType="UPDATE",
        TemplateBody=json.dumps(template),
        Parameters=[{"ParameterKey": "Version", "UsePreviousValue": True}],
    )
    local_aws.cloudformation.execute_change_set(StackName="parametrised", ChangeSetName="next")
    assert status_when_settled(local_aws, "parametrised") == "UPDATE_COMPLETE"
    listed = local_aws.cloudformation.describe_stack_resources(StackName="parametrised")["StackResources"]
    assert {one["LogicalResourceId"] for one in listed} == {"Topic", "Other"}
    destroy(local_aws, "parametrised")


def test_a_failed_endpoint_fails_its_stack_with_the_containers_reason(
    local_aws: LocalAws, container: Path
) -> None:
    template = endpoint_template(container, "failing", REFUSE="bad weights")
    local_aws.cloudformation.create_stack(StackName="failing", TemplateBody=json.dumps(template))
    assert status_when_settled(local_aws, "failing") == "ROLLBACK_COMPLETE"
    assert "cannot start: bad weights" in reasons(local_aws, "failing")["Endpoint"]
    with pytest.raises(ClientError, match="Could not find endpoint"):
        local_aws.sagemaker.describe_endpoint(EndpointName="failing")


def test_the_cdk_bootstraps_deploys_and_destroys(local_aws: LocalAws, tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path / "out"))
    stack = Stack(app, "Toy")
    for name, one in artifacts_template()["Resources"].items():
        CfnResource(stack, name, type=one["Type"], properties=one["Properties"]).override_logical_id(name)
    app.synth()

    def cdk(*arguments: str) -> str:
        done = subprocess.run(
            ["cdk", *arguments],
            cwd=tmp_path,
            env=local_aws.environment | {"CDK_DISABLE_CLI_TELEMETRY": "1", "CI": "1"},
            timeout=CDK_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    cdk("bootstrap", f"aws://{local_aws.account}/{local_aws.region}", "--app", "")
    cdk("deploy", "Toy", "--app", "out", "--require-approval", "never")
    (deployed,) = local_aws.cloudformation.describe_stacks(StackName="Toy")["Stacks"]
    assert deployed["StackStatus"] == "CREATE_COMPLETE"
    assert "no changes" in cdk("deploy", "Toy", "--app", "out", "--require-approval", "never")
    cdk("destroy", "Toy", "--app", "out", "--force")
    with pytest.raises(ClientError, match="does not exist"):
        local_aws.cloudformation.describe_stacks(StackName="Toy")
