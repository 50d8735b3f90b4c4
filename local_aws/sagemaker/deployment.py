"""What is told of an endpoint's fleet, and its move to another configuration, watched by alarms.

After "Blue/Green Deployments" and "Use all at once traffic shifting" of SageMaker's developer guide, read
2026-11-30. Whatever the traffic routing asks for, all of it is shifted at once: there is one instance.
"""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from local_aws.core.api import Params
from local_aws.core.context import LocalContext

BAKING_SECONDS = 3.0
"""How long the alarms are watched here, however long a DeploymentConfig says."""
_LOOK_SECONDS = 0.2
_TOLD = {"VariantName", "DeployedImages", "CurrentWeight", "DesiredWeight", "InstancePools", "RoutingConfig"}


@dataclass
class Deployment:
    """The new fleet while it comes up and is watched; `config` is the DeploymentConfig, or nothing."""

    context: LocalContext
    config_name: str
    variant: Params
    """The ProductionVariantSummary that it will have."""
    config: Params
    stage: str = "Creating"
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def summary(self) -> Params:
        """The PendingDeploymentSummary."""
        wanted = self.variant["DesiredInstanceCount"]
        variant = {
            **{name: value for name, value in self.variant.items() if name in _TOLD},
            "CurrentInstanceCount": 0 if self.stage == "Creating" else wanted,
            "DesiredInstanceCount": wanted,
            "VariantStatus": [{"Status": self.stage}],
        }
        return {
            "EndpointConfigName": self.config_name,
            "ProductionVariants": [variant],
            "StartTime": self.began,
        }

    def bake(self) -> str | None:
        """Watch the alarms of AutoRollbackConfiguration; the first one that goes off, None where none does.

        Without alarms there is nothing to watch, and it returns at once.
        """
        alarms = self.config.get("AutoRollbackConfiguration", {}).get("Alarms", [])
        if not alarms:
            return None
        self.stage = "Baking"
        cloudwatch, names = self.context.client("cloudwatch"), [alarm["AlarmName"] for alarm in alarms]
        deadline = time.monotonic() + BAKING_SECONDS
        while True:
            for alarm in cloudwatch.describe_alarms(AlarmNames=names)["MetricAlarms"]:
                if alarm["StateValue"] == "ALARM":
                    return str(alarm["AlarmName"])
            if time.monotonic() > deadline:
                return None
            time.sleep(_LOOK_SECONDS)


def retained(variant: Params, update: Params) -> Params:
    """What of `variant`, a ProductionVariantSummary, an UpdateEndpoint keeps: its numbers, or nothing."""
    excluded = {one["VariantPropertyType"] for one in update.get("ExcludeRetainedVariantProperties", [])}
    if not update.get("RetainAllVariantProperties") or "DesiredInstanceCount" in excluded:
        return {}
    return {name: variant[name] for name in ("CurrentInstanceCount", "DesiredInstanceCount")}
