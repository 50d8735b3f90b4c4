"""What holds for every serving path with every setting of matrix.py."""

from itertools import combinations, product
from typing import Any

import pytest
from aws_cdk.assertions import Template

from semif.images.base_images import base_image
from tests.infra.matrix import BOUNDARY, KEY_ARN, MIRROR, cases

Templates = dict[str, Any]
CASES = cases()
every_case = pytest.mark.parametrize("name", CASES)


def of_type(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item.get("Properties", {}) for item in template["Resources"].values() if item["Type"] == kind]


def models_of(endpoint: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The Models by their logical ids."""
    resources = endpoint["Resources"].items()
    return {name: item["Properties"] for name, item in resources if item["Type"] == "AWS::SageMaker::Model"}


def test_any_two_settings_meet() -> None:
    settings = ("path", "network", "encrypted", "retained", "bounded", "uncompressed", "operation", "walled")
    realtime = [case for case in CASES.values() if case["mode"] == "realtime"]
    for one, other in combinations(settings, 2):
        wanted = product({case[one] for case in realtime}, {case[other] for case in realtime})
        assert set(wanted) == {(case[one], case[other]) for case in realtime}, (one, other)


@every_case
def test_the_image_fits_the_instances(matrix: dict[str, Templates], name: str) -> None:
    path = CASES[name]["path"]
    artifacts, endpoint = matrix[name]["Artifacts"], matrix[name]["Endpoint"]
    machines = {
        project["Source"]["BuildSpec"]: project["Environment"]
        for project in of_type(artifacts, "AWS::CodeBuild::Project")
    }
    (variant,) = of_type(endpoint, "AWS::SageMaker::EndpointConfig")[0]["ProductionVariants"]
    assert ("InferenceAmiVersion" in variant) == (path.endswith(("cuda", "fallback")))
    model = models_of(endpoint)[variant["ModelName"]["Fn::GetAtt"][0]]
    if path.startswith("text"):
        assert set(machines) == {"buildspec.model.yml"}
        assert not of_type(artifacts, "AWS::ECR::Repository")
        assert ".dkr.ecr.eu-central-1.amazonaws.com/llama-cpp@" in model["PrimaryContainer"]["Image"]
        return
    image = machines["buildspec.yml"]
    assert image["Type"] == ("ARM_CONTAINER" if path == "graviton" else "LINUX_CONTAINER")
    variables = {variable["Name"]: variable["Value"] for variable in image["EnvironmentVariables"]}
    repository, _, digest = variables["BASE_IMAGE"].partition("@")
    if CASES[name]["walled"]:
        assert repository == MIRROR
    else:
        assert repository.endswith("-arm64") == (path == "graviton")
    assert (digest == base_image("cuda").digest) == (path in {"cuda", "fallback"})
    layers = model["PrimaryContainer"]["Environment"].get("SEMIF_GPU_LAYERS")
    assert layers == ("-1" if path in {"cuda", "fallback"} else None)


@pytest.mark.parametrize("name", [name for name in CASES if "fallback" in name])
def test_a_pool_of_gpus_ends_in_cpus_with_a_model_of_their_own(
    matrix: dict[str, Templates], name: str
) -> None:
    endpoint = matrix[name]["Endpoint"]
    (config,) = of_type(endpoint, "AWS::SageMaker::EndpointConfig")
    (variant,) = config["ProductionVariants"]
    first, last = variant["InstancePools"]
    assert (first["InstanceType"], last["InstanceType"]) == ("ml.g6.xlarge", "ml.c6i.4xlarge")
    assert "ModelNameOverride" not in first
    models = models_of(endpoint)
    on_gpu = models.pop(variant["ModelName"]["Fn::GetAtt"][0])
    on_cpu = models.pop(last["ModelNameOverride"]["Fn::GetAtt"][0])
    assert not models
    assert on_gpu["ExecutionRoleArn"] == on_cpu["ExecutionRoleArn"]
    differs = {
        key
        for key, value in on_gpu["PrimaryContainer"]["Environment"].items()
        if on_cpu["PrimaryContainer"]["Environment"].get(key) != value
    }
    if name.startswith("text"):
        assert on_cpu["PrimaryContainer"]["Image"].endswith(base_image("cpu").digest)
        assert on_gpu["PrimaryContainer"]["Image"].endswith(base_image("cuda").digest)
        assert differs == {"SM_LLAMA_CPP_N_GPU_LAYERS"}
    else:
        assert on_cpu["PrimaryContainer"]["Image"] != on_gpu["PrimaryContainer"]["Image"]
        assert differs == {"SEMIF_GPU_LAYERS"}
    assert "KmsKeyId" not in config  # g6 has disks of its own


@every_case
def test_the_container_is_isolated_and_placed_where_the_file_says(
    matrix: dict[str, Templates], name: str
) -> None:
    endpoint = matrix[name]["Endpoint"]
    models = of_type(endpoint, "AWS::SageMaker::Model")
    assert {model["EnableNetworkIsolation"] for model in models} == {True}
    groups = of_type(endpoint, "AWS::EC2::SecurityGroup")
    if CASES[name]["network"] == "none":
        assert not [model for model in models if "VpcConfig" in model]
        assert not groups
        return
    place = models[0]["VpcConfig"]
    assert all(model["VpcConfig"] == place for model in models)
    assert place["Subnets"] == ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
    if CASES[name]["network"] == "groups":
        assert place["SecurityGroupIds"] == ["sg-0123456789abcdef0"]
        assert not groups
        return
    (group,) = groups
    (logical_id,) = Template.from_json(endpoint).find_resources("AWS::EC2::SecurityGroup")
    assert place["SecurityGroupIds"] == [{"Fn::GetAtt": [logical_id, "GroupId"]}]
    assert group["VpcId"] == "vpc-0123456789abcdef0"
    assert "SecurityGroupIngress" not in group
    (egress,) = group["SecurityGroupEgress"]
    assert (egress["IpProtocol"], egress["FromPort"], egress["ToPort"]) == ("tcp", 443, 443)
    assert egress["DestinationPrefixListId"] == "pl-6ea54007"
    assert "CidrIp" not in egress


@every_case
def test_builds_run_and_fetch_where_the_file_says(matrix: dict[str, Templates], name: str) -> None:
    walled, found = CASES[name]["walled"], {}
    for properties in of_type(matrix[name]["Artifacts"], "AWS::CodeBuild::Project"):
        place = {
            "SecurityGroupIds": ["sg-0123456789abcdef1"],
            "Subnets": ["subnet-0123456789abcdef2"],
            "VpcId": "vpc-0123456789abcdef0",
        }
        assert properties.get("VpcConfig") == (place if walled else None)
        variables = properties["Environment"]["EnvironmentVariables"]
        found[properties["Source"]["BuildSpec"]] = {
            variable["Name"]: variable["Value"]
            for variable in variables
            if variable["Name"] in {"PIP_INDEX_URL", "HF_ENDPOINT"}
        }
    index = {"PIP_INDEX_URL": "https://packages.example.com/simple"} if walled else {}
    hub = {"HF_ENDPOINT": "https://hub.example.com"} if walled else {}
    assert found.pop("buildspec.model.yml") == index | hub
    assert found in ({}, {"buildspec.yml": index})


@every_case
def test_a_build_may_make_interfaces_in_its_subnets_for_codebuild_alone(
    matrix: dict[str, Templates], name: str
) -> None:
    artifacts = matrix[name]["Artifacts"]
    ids = {item_id for item_id, item in artifacts["Resources"].items() if item["Type"] == "AWS::IAM::Policy"}
    policies = {item_id: artifacts["Resources"][item_id]["Properties"] for item_id in ids}
    networks = {
        item_id: policy["PolicyDocument"]["Statement"]
        for item_id, policy in policies.items()
        if "ec2:" in str(policy["PolicyDocument"])
    }
    projects = [item for item in artifacts["Resources"].values() if item["Type"] == "AWS::CodeBuild::Project"]
    assert len(networks) == (len(projects) if CASES[name]["walled"] else 0)
    for statements in networks.values():
        by_action = {str(one["Action"]): one for one in statements}
        made_in = str(by_action["ec2:CreateNetworkInterface"]["Resource"])
        assert "subnet/subnet-0123456789abcdef2" in made_in
        assert "security-group/sg-0123456789abcdef1" in made_in
        assert "subnet/*" not in made_in
        handed_on = by_action["ec2:CreateNetworkInterfacePermission"]["Condition"]
        assert handed_on["StringEquals"] == {"ec2:AuthorizedService": "codebuild.amazonaws.com"}
        assert "subnet/subnet-0123456789abcdef2" in str(handed_on["ArnEquals"]["ec2:Subnet"])
    for project in projects:
        assert bool(set(project["DependsOn"]) & set(networks)) == CASES[name]["walled"]


@every_case
def test_the_models_data_is_an_archive_or_a_prefix(matrix: dict[str, Templates], name: str) -> None:
    container, *others = [
        model["PrimaryContainer"] for model in of_type(matrix[name]["Endpoint"], "AWS::SageMaker::Model")
    ]
    for other in others:  # one archive, whatever it runs on
        assert {key: value for key, value in other.items() if key.startswith("ModelData")} == {
            key: value for key, value in container.items() if key.startswith("ModelData")
        }
    if not CASES[name]["uncompressed"]:
        assert container["ModelDataUrl"].endswith("/model.tar.gz")
        assert "ModelDataSource" not in container
        return
    assert "ModelDataUrl" not in container
    source = container["ModelDataSource"]["S3DataSource"]
    assert (source["CompressionType"], source["S3DataType"]) == ("None", "S3Prefix")
    assert source["S3Uri"].endswith("/")


@every_case
def test_the_key_is_used_wherever_data_lies(matrix: dict[str, Templates], name: str) -> None:
    artifacts, endpoint = matrix[name]["Artifacts"], matrix[name]["Endpoint"]
    with_volume = CASES[name]["path"] in {"cpu", "text"}  # the other pools hold a type with disks of its own
    buckets = [*of_type(artifacts, "AWS::S3::Bucket"), *of_type(endpoint, "AWS::S3::Bucket")]
    assert len(buckets) == (2 if CASES[name]["mode"] == "async" or CASES[name]["captured"] else 1)
    groups = of_type(artifacts, "AWS::Logs::LogGroup")
    found = {
        **{
            f"bucket {number}": rule["ServerSideEncryptionByDefault"].get("KMSMasterKeyID")
            for number, bucket in enumerate(buckets)
            for rule in bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        },
        **{
            f"repository {number}": repository.get("EncryptionConfiguration", {}).get("KmsKey")
            for number, repository in enumerate(of_type(artifacts, "AWS::ECR::Repository"))
        },
        **{
            f"project {number}": project.get("EncryptionKey")
            for number, project in enumerate(of_type(artifacts, "AWS::CodeBuild::Project"))
        },
        **{f"log {number}": group.get("KmsKeyId") for number, group in enumerate(groups)},
        **{
            f"topic {number}": topic.get("KmsMasterKeyId")
            for number, topic in enumerate(of_type(endpoint, "AWS::SNS::Topic"))
        },
    }
    (config,) = of_type(endpoint, "AWS::SageMaker::EndpointConfig")
    if CASES[name]["encrypted"]:
        assert set(found.values()) == {KEY_ARN}, found
        assert config.get("KmsKeyId") == (KEY_ARN if with_volume else None)
    else:
        assert set(found.values()) == {None}, found
        assert ":kms:" not in str(matrix[name])
        assert "KmsKeyId" not in config


@every_case
def test_a_volume_size_only_where_there_is_a_volume(matrix: dict[str, Templates], name: str) -> None:
    (config,) = of_type(matrix[name]["Endpoint"], "AWS::SageMaker::EndpointConfig")
    (variant,) = config["ProductionVariants"]
    assert variant.get("VolumeSizeInGB") == (40 if CASES[name]["path"] == "cpu" else None)


@every_case
def test_what_goes_and_what_stays(matrix: dict[str, Templates], name: str) -> None:
    policy = "Retain" if CASES[name]["retained"] else "Delete"
    stacks = matrix[name].values()
    for item in (item for stack in stacks for item in stack["Resources"].values()):
        if item["Type"] in {"AWS::S3::Bucket", "AWS::ECR::Repository"}:
            assert item["DeletionPolicy"] == item["UpdateReplacePolicy"] == policy


@every_case
def test_every_role_is_bounded_or_none(matrix: dict[str, Templates], name: str) -> None:
    roles = [role for stack in matrix[name].values() for role in of_type(stack, "AWS::IAM::Role")]
    wanted = BOUNDARY if CASES[name]["bounded"] else None
    assert len(roles) >= 2
    assert {role.get("PermissionsBoundary") for role in roles} == {wanted}
