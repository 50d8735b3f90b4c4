"""Whether an alarm that an update goes back on is in ALARM already, before anything is changed."""

from collections.abc import Iterator

from semif.aws.clients import Aws
from semif.environment.environment import Environment
from semif.sagemaker.update_strategies import ROLLBACK_ALARMS


def rollback_alarm_warnings(aws: Aws, environment: Environment) -> Iterator[str]:
    """A line for each of the endpoint's alarms that would end an update, new model good or bad.

    SageMaker watches the alarms over both fleets: where the old one trips them it terminates the deployment
    ("Auto-Rollback Configuration and Monitoring", developer guide, read 2026-11-30). Raises
    ClientError and BotoCoreError.
    """
    if environment.deployment is None:
        return
    names = [f"{environment.endpoint_name}-{name}" for name in ROLLBACK_ALARMS]
    found = aws.cloudwatch.describe_alarms(AlarmNames=names, AlarmTypes=["MetricAlarm"])["MetricAlarms"]
    for name in (alarm["AlarmName"] for alarm in found if alarm["StateValue"] == "ALARM"):
        yield (
            f"the alarm {name} is in ALARM: SageMaker would take an update back for it, however "
            "good the new model is; see to it first, or deploy once without [deployment]"
        )
