"""Mode `realtime`: the first answer comes at once."""

from semif.client.chat import Completion
from semif.client.reply import WireAnswer
from semif.deployment.kinds import DEPLOYED_KINDS
from semif.deployment.modes.endpoint import DeployedEndpoint
from semif.target.target import Target


class DeployedRealtime(DeployedEndpoint):
    """An endpoint whose callers wait."""

    def first_answer(self, target: Target) -> WireAnswer | Completion:
        """As its kind is asked."""
        return DEPLOYED_KINDS[target.environment.kind].ask(target)

    def probe(self, target: Target) -> WireAnswer | Completion:
        """A first answer again."""
        return self.first_answer(target)
