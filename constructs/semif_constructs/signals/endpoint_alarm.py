"""One alarm of an endpoint, named after it."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


def endpoint_alarm(
    scope: Construct,
    name: str,
    *,
    actions: Sequence[str],
    comparison: cloudwatch.ComparisonOperator,
    datapoints: int,
    description: str,
    endpoint_name: str,
    metric: cloudwatch.IMetric,
    missing_is_bad: bool = False,
    ok_actions: Sequence[str] = (),
    periods: int,
    threshold: float,
) -> cloudwatch.Alarm:
    """The alarm `ENDPOINT-name`, for `datapoints` of the last `periods` on the wrong side of `threshold`.

    `actions` are the ARNs of what is told when it goes off (topics, a scaling policy), `ok_actions` of what
    is told when all is well again. No data is no alarm, unless `missing_is_bad`.
    """
    treatment = cloudwatch.TreatMissingData
    alarm = cloudwatch.Alarm(
        scope,
        name.title().replace("-", ""),
        alarm_description=description,
        alarm_name=f"{endpoint_name}-{name}",
        comparison_operator=comparison,
        datapoints_to_alarm=datapoints,
        evaluation_periods=periods,
        metric=metric,
        threshold=threshold,
        treat_missing_data=treatment.BREACHING if missing_is_bad else treatment.NOT_BREACHING,
    )
    resource = cast(cloudwatch.CfnAlarm, alarm.node.default_child)
    # Importing the CDK's classes for actions takes longer than all else that an alarm needs.
    resource.alarm_actions = list(actions) or None
    resource.ok_actions = list(ok_actions) or None
    return alarm
