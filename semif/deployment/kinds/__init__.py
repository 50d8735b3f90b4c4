"""The kinds of environments as a deployment sees them, by name; a line here registers one."""

from semif.deployment.kinds.decider import DeployedDecider
from semif.deployment.kinds.decision import DeployedDecision
from semif.deployment.kinds.kind import DeployedKind
from semif.deployment.kinds.text import DeployedText

DEPLOYED_KINDS: dict[str, DeployedKind] = {
    "decision": DeployedDecision(),
    "text": DeployedText(),
    "decider": DeployedDecider(),
}
