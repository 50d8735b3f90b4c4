"""One alarm of an endpoint, named after it."""

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


def endpoint_alarm(
    scope: Construct,
    name: str,
    *,
    alarm_actions: Sequence[cloudwatch.IAlarmAction] = (),
    comparison: cloudwatch.ComparisonOperator,
    datapoints: int,
    description: str,
    endpoint_name: str,
    metric: cloudwatch.IMetric,
    missing_is_bad: bool = False,
    ok_actions: Sequence[cloudwatch.IAlarmAction] = (),
    periods: int,
    threshold: float,
) -> cloudwatch.Alarm:
    """The alarm `ENDPOINT-name`, for `datapoints` of the last `periods` on the wrong side of `threshold`.

    `alarm_actions` are told when it goes off, `ok_actions` when all is well again. No data is no alarm,
    unless `missing_is_bad`.
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
    alarm.add_alarm_action(*alarm_actions)
    alarm.add_ok_action(*ok_actions)
    return alarm
