"""How many instances: bounds that are refused, the policies by concurrency and by backlog."""

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Annotations, Match, Template

from semif.environment.environment import Environment
from semif.errors import ProblemsError
from semif.images.image_ref import ImageRef
from semif_constructs.hosting.async_inference import AsyncInference
from semif_constructs.hosting.backlog_scaling import BacklogScaling
from semif_constructs.hosting.model_endpoint import ModelEndpoint
from semif_constructs.hosting.served_model import ServedModel
from semif_constructs.hosting.variant_scaling import VariantScaling
from semif_constructs.watching.capacity_alarms import CapacityAlarms
from tests.infra.matrix import cases

Templates = dict[str, Any]
TARGET, POLICY = "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::ApplicationAutoScaling::ScalingPolicy"
ALARM, ENDPOINT = "AWS::CloudWatch::Alarm", "AWS::SageMaker::Endpoint"


def endpoint_of(
    stack: Stack,
    instance_type: str = "ml.c7i.large",
    *,
    asynchronous: bool = False,
    pool: list[str] | None = None,
) -> ModelEndpoint:
    model = ServedModel(
        stack,
        "Model",
        environment={},
        image=ImageRef.parse(f"111122223333.dkr.ecr.eu-central-1.amazonaws.com/x@sha256:{'b' * 64}"),
        model_bucket=s3.Bucket.from_bucket_name(stack, "Bucket", "bucket"),
        model_key="models/x/model.tar.gz",
    )
    return ModelEndpoint(
        stack,
        "Endpoint",
        async_inference=AsyncInference(stack, "Async", concurrent_invocations_per_instance=4)
        if asynchronous
        else None,
        container_startup_health_check_timeout_seconds=600,
        endpoint_name="semif-test",
        instance_pool=pool,
        instance_type=None if pool else instance_type,
        model=model,
        model_data_download_timeout_seconds=600,
    )


def test_an_endpoint_is_scaled_by_the_requests_in_its_containers(templates: dict[str, Templates]) -> None:
    template = Template.from_json(templates["prod"]["Endpoint"])
    (endpoint_id,) = template.find_resources(ENDPOINT)
    template.has_resource(
        TARGET,
        {
            "Properties": {
                "MaxCapacity": 6,
                "MinCapacity": 2,
                "ResourceId": "endpoint/semif-prod/variant/AllTraffic",
                "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
                "ServiceNamespace": "sagemaker",
                "RoleARN": Match.absent(),
            },
            "DependsOn": Match.array_with([endpoint_id]),
        },
    )
    (target_id,) = template.find_resources(TARGET)
    template.has_resource_properties(
        POLICY,
        {
            "PolicyType": "TargetTrackingScaling",
            "ScalingTargetId": {"Ref": target_id},
            "TargetTrackingScalingPolicyConfiguration": {
                "PredefinedMetricSpecification": {
                    "PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"
                },
                "ScaleInCooldown": 1620,
                "ScaleOutCooldown": 810,
                "TargetValue": 8,
            },
        },
    )


def test_an_update_keeps_the_instances_that_scaling_came_to(templates: dict[str, Templates]) -> None:
    scaled = Template.from_json(templates["prod"]["Endpoint"])
    scaled.has_resource_properties(ENDPOINT, {"RetainAllVariantProperties": True})
    still = Template.from_json(templates["dev"]["Endpoint"])
    still.has_resource_properties(ENDPOINT, {"RetainAllVariantProperties": Match.absent()})
    still.resource_count_is(TARGET, 0)


@pytest.mark.parametrize(("timeout", "idle_minutes"), [(60, 12), (900, 15), (3600, 60)])
def test_a_queue_is_followed_down_to_no_instance(stack: Stack, timeout: int, idle_minutes: int) -> None:
    scaling = VariantScaling(
        stack,
        "Scaling",
        endpoint=endpoint_of(stack, asynchronous=True),
        max_instance_count=4,
        min_instance_count=0,
    )
    BacklogScaling(
        stack,
        "Backlog",
        backlog_per_instance=10,
        invocation_timeout_seconds=timeout,
        scale_in_cooldown_seconds=700,
        scale_out_cooldown_seconds=300,
        variant_scaling=scaling,
    )
    template = Template.from_stack(stack)
    policies = {
        item["Properties"]["PolicyName"]: (key, item["Properties"]["StepScalingPolicyConfiguration"])
        for key, item in template.find_resources(POLICY).items()
    }
    alarms = {
        item["Properties"]["AlarmName"]: item["Properties"]
        for item in template.find_resources(ALARM).values()
    }
    names = {
        "ScaleOut": "scale-out",
        "ScaleIn": "scale-in",
        "Idle": "idle",
        "ScaleFromZero": "scale-from-zero",
    }
    assert set(policies) == {f"semif-test-{name}" for name in names}
    assert set(alarms) == {f"semif-test-{name}" for name in names.values()}
    for policy, alarm in names.items():
        assert alarms[f"semif-test-{alarm}"]["AlarmActions"] == [{"Ref": policies[f"semif-test-{policy}"][0]}]
    out = policies["semif-test-ScaleOut"][1]
    assert out["StepAdjustments"] == [
        {"MetricIntervalLowerBound": 0, "MetricIntervalUpperBound": 20, "ScalingAdjustment": 100},
        {"MetricIntervalLowerBound": 20, "ScalingAdjustment": 300},
    ]
    assert (out["AdjustmentType"], out["Cooldown"]) == ("PercentChangeInCapacity", 300)
    assert alarms["semif-test-scale-out"]["MetricName"] == "ApproximateBacklogSizePerInstance"
    assert alarms["semif-test-scale-out"]["Threshold"] == 10
    idle = policies["semif-test-Idle"][1]
    assert (idle["AdjustmentType"], idle["StepAdjustments"]) == (
        "ExactCapacity",
        [{"MetricIntervalUpperBound": 0, "ScalingAdjustment": 0}],
    )
    assert alarms["semif-test-idle"]["EvaluationPeriods"] == idle_minutes, (
        "neither before the cooldown nor while a request may be at work"
    )
    one_less = str(alarms["semif-test-scale-in"]["Metrics"])
    assert "IF(per_instance < 5 AND backlog > per_instance, 1, 0)" in one_less
    first = policies["semif-test-ScaleFromZero"][1]
    assert (first["AdjustmentType"], first["StepAdjustments"]) == (
        "ExactCapacity",
        [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}],
    )
    assert alarms["semif-test-scale-from-zero"]["MetricName"] == "HasBacklogWithoutCapacity"
    assert alarms["semif-test-scale-from-zero"]["Dimensions"] == [
        {"Name": "EndpointName", "Value": "semif-test"}
    ]


def test_no_instance_is_wrong_only_while_requests_wait(stack: Stack) -> None:
    CapacityAlarms(
        stack,
        "Alarms",
        adapter=True,
        backlog_age_seconds=900,
        endpoint=endpoint_of(stack),
        longest_start_seconds=1200,
        scales_to_zero=True,
    )
    template = Template.from_stack(stack)
    dimensions = [{"Name": "EndpointName", "Value": "semif-test"}]
    template.has_resource_properties(
        ALARM,
        {
            "AlarmName": "semif-test-no-healthy-instance",
            "Dimensions": dimensions,
            "EvaluationPeriods": 30,
            "MetricName": "HasBacklogWithoutCapacity",
            "TreatMissingData": "notBreaching",
        },
    )
    template.has_resource_properties(
        ALARM,
        {
            "AlarmName": "semif-test-backlog-age",
            "Dimensions": dimensions,
            "MetricName": "ApproximateAgeOfOldestRequest",
            "Threshold": 900,
        },
    )


def test_the_fewest_follow_the_clock(matrix: dict[str, Templates]) -> None:
    wanted = ("canary", "realtime")
    name = next(key for key, case in cases().items() if (case["operation"], case["mode"]) == wanted)
    Template.from_json(matrix[name]["Endpoint"]).has_resource_properties(
        TARGET,
        {
            "MinCapacity": 2,
            "ScheduledActions": [
                {
                    "ScalableTargetAction": {"MinCapacity": count},
                    "Schedule": when,
                    "ScheduledActionName": f"fewest-{number}",
                    "Timezone": "Europe/Berlin",
                }
                for number, (when, count) in enumerate(
                    {"cron(0 7 ? * MON-FRI *)": 4, "cron(0 20 ? * MON-FRI *)": 2}.items(), start=1
                )
            ],
        },
    )


@pytest.mark.parametrize(("count", "refused"), [(1, True), (2, False), (3, False), (4, True)])
def test_a_schedule_stays_within_the_bounds(
    environment_of: Callable[..., Environment], count: int, refused: bool
) -> None:
    text = (
        'kind = "decision"\nremoval = "destroy"\n[model]\npreset = "embedded"\n[endpoint]\n'
        'instance_type = "ml.c6i.large"\ninitial_instance_count = 2\n[scaling]\nmin_instance_count = 2\n'
        f'max_instance_count = 3\n[scaling.schedule]\n"cron(0 7 ? * MON-FRI *)" = {count}\n'
    )
    if not refused:
        assert environment_of(text).scaling
        return
    with pytest.raises(
        ProblemsError, match=rf"schedule: {count} from cron\(0 7 .* on: allowed are 2 .* to 3"
    ):
        environment_of(text)


@pytest.mark.parametrize(("second", "unlike"), [("ml.c7i.2xlarge", True), ("ml.c6i.large", False)])
def test_a_pool_of_unlike_types_is_warned_of(stack: Stack, second: str, unlike: bool) -> None:
    endpoint = endpoint_of(stack, pool=["ml.c7i.large", second])
    VariantScaling(stack, "Scaling", endpoint=endpoint, max_instance_count=2, min_instance_count=1)
    warnings = Annotations.from_stack(stack)
    if unlike:
        told = "one target for ml.c7i.large, ml.c7i.2xlarge, which do unlike work"
        warnings.has_warning("/Test/Scaling", Match.string_like_regexp(told))
    else:
        warnings.has_no_warning("/Test/Scaling", Match.any_value())


@pytest.mark.parametrize(
    ("instance_type", "fewest", "most", "said"),
    [
        ("ml.c7i.large", 0, 3, ["min_instance_count = 0: a realtime variant keeps at least 1"]),
        ("ml.c7i.large", 3, 2, ["max_instance_count = 2: allowed are 3"]),
        ("ml.c7i.large", 2, 3, ["initial_instance_count = 1: allowed are 2 to 3"]),
        (
            "ml.t2.large",
            0,
            0,
            [
                "min_instance_count = 0",
                "max_instance_count = 0: allowed are 1",
                "ml.t2.large cannot be scaled",
            ],
        ),
    ],
)
def test_bounds_that_are_refused(
    stack: Stack, instance_type: str, fewest: int, most: int, said: list[str]
) -> None:
    with pytest.raises(ProblemsError) as caught:
        VariantScaling(
            stack,
            "Scaling",
            endpoint=endpoint_of(stack, instance_type),
            max_instance_count=most,
            min_instance_count=fewest,
        )
    assert len(caught.value.problems) == len(said)
    for beginning, problem in zip(said, caught.value.problems, strict=True):
        assert problem.startswith(beginning)
