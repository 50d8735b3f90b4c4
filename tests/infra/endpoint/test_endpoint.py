"""The Endpoint stack: pins from the lock, one variant that fits its hardware, a name that stays."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Annotations, Match, Template

from semif.environment.environment import Environment, environment_names, load_environment
from semif.errors import ProblemsError, SemifError
from semif.images.base_images import base_image
from semif.images.image_ref import ImageRef
from semif.images.regional_images import registry_of
from semif.lock.lock_file import LOCAL_ACCOUNT, Lock, UnbuiltImage
from semif_adapter.contract.settings import Settings
from semif_constructs.hosting.model_endpoint import ModelEndpoint
from semif_constructs.hosting.served_model import ServedModel
from semif_constructs.iam.image_access import repository_arn

Templates = dict[str, Any]
Synth = Callable[[Environment, Lock | None], Templates]
ExampleLock = Callable[[Environment], Lock]
HASH = "b" * 64


@pytest.fixture(params=environment_names())
def environment(request: pytest.FixtureRequest) -> Environment:
    return load_environment(request.param)


@pytest.fixture
def endpoint(templates: dict[str, Templates], environment: Environment) -> Template:
    return Template.from_json(templates[environment.name]["Endpoint"])


def only(template: Template, kind: str) -> dict[str, Any]:
    (resource,) = template.find_resources(kind).values()
    return resource


def variant_of(template: Template) -> dict[str, Any]:
    (variant,) = only(template, "AWS::SageMaker::EndpointConfig")["Properties"]["ProductionVariants"]
    return variant


def test_the_model_is_what_the_lock_pins(
    endpoint: Template, environment: Environment, example_lock: ExampleLock
) -> None:
    lock = example_lock(environment)
    model = only(endpoint, "AWS::SageMaker::Model")["Properties"]
    assert model["PrimaryContainer"]["Image"] == lock.image_uri
    if environment.model.format == "prefix":
        assert "ModelDataUrl" not in model["PrimaryContainer"]
        assert model["PrimaryContainer"]["ModelDataSource"]["S3DataSource"] == {
            "CompressionType": "None",
            "S3DataType": "S3Prefix",
            "S3Uri": lock.model.address,
        }
        assert lock.model.address.endswith("/files/")
    else:
        assert model["PrimaryContainer"]["ModelDataUrl"] == lock.model.address
    variables = model["PrimaryContainer"].get("Environment", {})
    if environment.kind == "text":
        assert variables == environment.container_variables
    else:
        # The container starts with the lock's model and no other, whoever may write to the bucket.
        pinned = environment.settings.model_copy(update={"manifest_sha256": lock.model.manifest_sha256})
        assert Settings.from_env(variables) == pinned


def test_the_adapters_figures_name_their_endpoint(templates: dict[str, Templates]) -> None:
    model = only(Template.from_json(templates["prod"]["Endpoint"]), "AWS::SageMaker::Model")["Properties"]
    assert model["PrimaryContainer"]["Environment"]["SEMIF_ENDPOINT_NAME"] == "semif-prod"


def test_the_container_has_no_network_and_no_hub(endpoint: Template) -> None:
    model = only(endpoint, "AWS::SageMaker::Model")["Properties"]
    assert model["EnableNetworkIsolation"] is True
    assert not [key for key in model["PrimaryContainer"].get("Environment", {}) if "HF" in key]


def test_the_model_or_its_configuration_waits_for_all_policies_of_its_role(endpoint: Template) -> None:
    waiting = [*endpoint.find_resources("AWS::SageMaker::EndpointConfig").values()]
    waiting.append(only(endpoint, "AWS::SageMaker::Model"))
    awaited = {name for resource in waiting for name in resource.get("DependsOn", [])}
    assert set(endpoint.find_resources("AWS::IAM::Policy")) <= awaited


def test_only_the_endpoint_has_a_name(endpoint: Template, environment: Environment) -> None:
    assert "ModelName" not in only(endpoint, "AWS::SageMaker::Model")["Properties"]
    if environment.endpoint.mode == "batch":
        return
    assert "EndpointConfigName" not in only(endpoint, "AWS::SageMaker::EndpointConfig")["Properties"]
    (config_id,) = endpoint.find_resources("AWS::SageMaker::EndpointConfig")
    properties = only(endpoint, "AWS::SageMaker::Endpoint")["Properties"]
    assert properties["EndpointName"] == f"semif-{environment.name}"
    assert properties["EndpointConfigName"] == {"Fn::GetAtt": [config_id, "EndpointConfigName"]}
    (model_id,) = endpoint.find_resources("AWS::SageMaker::Model")
    assert variant_of(endpoint)["ModelName"] == {"Fn::GetAtt": [model_id, "ModelName"]}


def test_the_variant_is_bounded_and_routed(endpoint: Template, environment: Environment) -> None:
    if environment.endpoint.mode == "batch":
        return
    variant = variant_of(endpoint)
    table = environment.endpoint
    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] == environment.startup_timeout_seconds
    assert variant["ModelDataDownloadTimeoutInSeconds"] == environment.model_download_timeout_seconds
    assert 60 <= environment.startup_timeout_seconds <= environment.model_download_timeout_seconds <= 3600
    assert variant["InitialInstanceCount"] == table.initial_instance_count
    routing = None if table.mode == "async" else {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}
    assert variant.get("RoutingConfig") == routing
    assert "VolumeSizeInGB" not in variant


def test_a_pool_is_ordered_and_stands_alone(templates: dict[str, Templates]) -> None:
    variant = variant_of(Template.from_json(templates["prod"]["Endpoint"]))
    assert variant["InstancePools"] == [
        {"InstanceType": "ml.g6.xlarge", "Priority": 1},
        {"InstanceType": "ml.g6e.xlarge", "Priority": 2},
        {"InstanceType": "ml.g5.xlarge", "Priority": 3},
    ]
    assert variant["VariantInstanceProvisionTimeoutInSeconds"] == 600
    assert variant["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert "InstanceType" not in variant


def test_a_cpu_variant_has_neither_pool_nor_host_image(templates: dict[str, Templates]) -> None:
    variant = variant_of(Template.from_json(templates["dev"]["Endpoint"]))
    assert variant["InstanceType"] == "ml.c6i.8xlarge"
    absent = {"InstancePools", "InferenceAmiVersion", "VariantInstanceProvisionTimeoutInSeconds"}
    assert not absent & set(variant)


def test_the_unbuilt_image_of_this_machine_names_itself(synth: Synth, example_lock: ExampleLock) -> None:
    demo = load_environment("demo")
    lock = example_lock(demo).model_copy(
        update={"account": LOCAL_ACCOUNT, "image": UnbuiltImage(built=False, source_sha256=HASH)}
    )
    template = Template.from_json(synth(demo, lock)["Endpoint"])
    image = only(template, "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]["Image"]
    assert image == f"000000000000.dkr.ecr.eu-central-1.amazonaws.com/unbuilt@sha256:{HASH}"


def test_text_runs_the_published_container_of_its_region(templates: dict[str, Templates]) -> None:
    template = Template.from_json(templates["text"]["Endpoint"])
    container = only(template, "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]
    digest = base_image("cpu").digest
    assert container["Image"] == f"763104351884.dkr.ecr.eu-central-1.amazonaws.com/llama-cpp@{digest}"
    assert container["Environment"]
    assert all(key.startswith("SM_LLAMA_CPP_") for key in container["Environment"])


def served_model(
    stack: Stack,
    *,
    repository: str = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/x",
    subnets: Sequence[ec2.ISubnet] = (),
) -> ServedModel:
    return ServedModel(
        stack,
        "Model",
        image=ImageRef.parse(f"{repository}@sha256:{HASH}"),
        model_bucket=s3.Bucket.from_bucket_name(stack, "Bucket", "bucket"),
        model_key="models/x/model.tar.gz",
        environment=Settings.from_env({}).to_env(),
        subnets=subnets,
    )


@pytest.fixture
def model(stack: Stack) -> ServedModel:
    return served_model(stack)


def test_the_endpoint_construct_says_all_problems_of_its_arguments(stack: Stack, model: ServedModel) -> None:
    with pytest.raises(ProblemsError) as caught:
        ModelEndpoint(
            stack,
            "Endpoint",
            container_startup_health_check_timeout_seconds=59,
            endpoint_name="semif-test",
            initial_instance_count=0,
            instance_pool=["ml.g6.xlarge", "ml.g6.xlarge", "ml.c7g.large"],
            instance_type="ml.c6i.large",
            model=model,
            model_data_download_timeout_seconds=3601,
            provision_timeout_seconds=299,
            volume_size_gb=513,
        )
    said = [
        "exactly one of instance_type and instance_pool is needed, got both",
        "provision_timeout_seconds = 299: allowed are 300 to 3600",
        "name each type once",
        "mix accelerators",
        "container_startup_health_check_timeout_seconds = 59: allowed are 60 to 3600",
        "model_data_download_timeout_seconds = 3601: allowed are 60 to 3600",
        "volume_size_gb = 513: allowed are 1 to 512",
        "initial_instance_count = 0: a variant keeps at least 1",
    ]
    assert len(caught.value.problems) == len(said)
    for beginning, problem in zip(said, caught.value.problems, strict=True):
        assert beginning in problem


def test_disks_of_ones_own_take_neither_size_nor_key_and_a_warning_says_so(
    stack: Stack, model: ServedModel
) -> None:
    key = kms.Key.from_key_arn(stack, "Key", "arn:aws:kms:eu-central-1:111122223333:key/1")
    for types in (["ml.m5.large", "ml.m5d.large"], ["ml.m5.large"]):
        ModelEndpoint(
            stack,
            f"Endpoint{len(types)}",
            container_startup_health_check_timeout_seconds=600,
            encryption_key=key,
            endpoint_name=f"semif-{len(types)}",
            instance_pool=types,
            model=model,
            model_data_download_timeout_seconds=600,
            volume_size_gb=40,
        )
    warnings = Annotations.from_stack(stack)
    warnings.has_warning(
        "/Test/Endpoint2", Match.string_like_regexp("volume_size_gb = 40 is left out: ml.m5d")
    )
    warnings.has_warning(
        "/Test/Endpoint2", Match.string_like_regexp("the KMS key is not used .* ml.m5d.large")
    )
    warnings.has_no_warning("/Test/Endpoint1", Match.any_value())
    template = Template.from_stack(stack)
    template.resource_properties_count_is(
        "AWS::SageMaker::EndpointConfig", {"KmsKeyId": Match.any_value()}, 1
    )
    sizes = [
        variant.get("VolumeSizeInGB")
        for config in template.find_resources("AWS::SageMaker::EndpointConfig").values()
        for variant in config["Properties"]["ProductionVariants"]
    ]
    assert sizes == [None, 40]


def test_subnets_and_security_groups_come_together(stack: Stack) -> None:
    subnet = ec2.Subnet.from_subnet_id(stack, "Subnet", "subnet-0123456789abcdef0")
    with pytest.raises(SemifError, match="subnets alone place no network interface"):
        served_model(stack, subnets=[subnet])


@pytest.mark.parametrize(
    "repository", ["public.ecr.aws/x/y", "111122223333.dkr.ecr.eu-central-1.amazonaws.com.invalid/x"]
)
def test_sagemaker_pulls_from_private_registries_only(stack: Stack, repository: str) -> None:
    with pytest.raises(SemifError, match="private ECR registries only"):
        served_model(stack, repository=repository)


def test_a_caller_is_let_in_and_metrics_are_of_this_variant(stack: Stack, model: ServedModel) -> None:
    endpoint = ModelEndpoint(
        stack,
        "Endpoint",
        container_startup_health_check_timeout_seconds=600,
        endpoint_name="semif-test",
        instance_type="ml.c7g.large",
        model=model,
        model_data_download_timeout_seconds=600,
    )
    caller = iam.Role(stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    grant = endpoint.grant_invoke(caller)
    assert grant.success
    template = Template.from_stack(stack)
    (statement,) = [
        statement
        for policy in template.find_resources("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == ["sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream"]
    ]
    assert str(statement["Resource"]).count(":endpoint/semif-test") == 1
    for metric, name in (
        (endpoint.metric_invocations(), "Invocations"),
        (endpoint.metric_client_errors(), "Invocation4XXErrors"),
        (endpoint.metric_server_errors(), "Invocation5XXErrors"),
        (endpoint.metric_model_latency(), "ModelLatency"),
    ):
        assert (metric.namespace, metric.metric_name) == ("AWS/SageMaker", name)
        assert metric.dimensions == {"EndpointName": "semif-test", "VariantName": "AllTraffic"}


@pytest.mark.parametrize("region", ["cn-north-1", "eusc-de-east-1", "us-gov-west-1"])
def test_an_image_in_a_registry_of_another_partition_can_be_pulled(stack: Stack, region: str) -> None:
    image = ImageRef.parse(f"{registry_of('111122223333', region)}/x@sha256:{HASH}")
    arn = repository_arn(stack, image)
    assert arn is not None
    assert arn.endswith(f":ecr:{region}:111122223333:repository/x")
