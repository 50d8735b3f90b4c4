"""How SageMaker moves an endpoint to another configuration, as CloudFormation wants it."""

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sagemaker as sagemaker

from semif.errors import ProblemsError
from semif.sagemaker.update_strategies import (
    Strategy,
    execution_problems,
    execution_seconds,
    step_percent,
    update_problems,
)

_Endpoint = sagemaker.CfnEndpoint


def deployment_config(
    *,
    instance_count: int,
    longest_start_seconds: int,
    rollback_alarms: Sequence[cloudwatch.IAlarm],
    strategy: Strategy,
    wait_seconds: int,
) -> sagemaker.CfnEndpoint.DeploymentConfigProperty:
    """The endpoint's DeploymentConfig; SageMaker goes back when one of `rollback_alarms` (1 to 10) goes off.

    `instance_count` is the fewest instances that the variant has, `longest_start_seconds` what they may take
    at most to serve (`semif.sagemaker.placement`). The alarms are watched for `wait_seconds` after each step.

    Raises ProblemsError with everything that is wrong with the arguments.
    """
    problems = list(
        update_problems(instance_count=instance_count, strategy=strategy, wait_seconds=wait_seconds)
    )
    if not 1 <= len(rollback_alarms) <= 10:
        problems.append(f"rollback_alarms holds {len(rollback_alarms)} alarms, allowed are 1 to 10")
    times = {"longest_start_seconds": longest_start_seconds, "wait_seconds": wait_seconds}
    problems = problems or list(execution_problems(strategy, instance_count, **times))
    if problems:
        raise ProblemsError("the update policy", problems)
    limit = execution_seconds(strategy, instance_count, **times)
    alarms = [_Endpoint.AlarmProperty(alarm_name=alarm.alarm_name) for alarm in rollback_alarms]
    rollback = _Endpoint.AutoRollbackConfigProperty(alarms=alarms)
    if strategy == "rolling":
        return _Endpoint.DeploymentConfigProperty(
            auto_rollback_configuration=rollback,
            rolling_update_policy=_Endpoint.RollingUpdatePolicyProperty(
                maximum_batch_size=_share(strategy, instance_count),
                maximum_execution_timeout_in_seconds=limit,
                wait_interval_in_seconds=wait_seconds,
            ),
        )
    return _Endpoint.DeploymentConfigProperty(
        auto_rollback_configuration=rollback,
        blue_green_update_policy=_Endpoint.BlueGreenUpdatePolicyProperty(
            maximum_execution_timeout_in_seconds=limit,
            termination_wait_in_seconds=wait_seconds,
            traffic_routing_configuration=_Endpoint.TrafficRoutingConfigProperty(
                canary_size=_share(strategy, instance_count) if strategy == "canary" else None,
                linear_step_size=_share(strategy, instance_count) if strategy == "linear" else None,
                type=strategy.upper().replace("-", "_"),
                wait_interval_in_seconds=wait_seconds,
            ),
        ),
    )


def _share(strategy: Strategy, instance_count: int) -> sagemaker.CfnEndpoint.CapacitySizeProperty:
    return _Endpoint.CapacitySizeProperty(
        type="CAPACITY_PERCENT", value=step_percent(strategy, instance_count)
    )
