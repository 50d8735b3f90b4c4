"""The modes of environments as a deployment sees them, by name; a line here registers one."""

from semif.deployment.modes.async_ import DeployedAsync
from semif.deployment.modes.batch import DeployedBatch
from semif.deployment.modes.mode import DeployedMode
from semif.deployment.modes.realtime import DeployedRealtime
from semif.environment.environment import Environment

DEPLOYED_MODES: dict[str, DeployedMode] = {
    "realtime": DeployedRealtime(),
    "async": DeployedAsync(),
    "batch": DeployedBatch(),
}


def deployed_mode(environment: Environment) -> DeployedMode:
    """The mode of `environment`."""
    return DEPLOYED_MODES[environment.endpoint.mode]
