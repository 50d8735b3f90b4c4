"""A first answer of kind `decision`."""

from semif.client.reply import WireAnswer, read_answer
from semif.deployment.kinds.kind import DeployedKind
from semif.target.target import Target


class DeployedDecision(DeployedKind):
    """Asked a small decision."""

    smoke_request = b"""{"decision": {
  "id": "smoke", "state": "The sky is blue.", "question": "Which colour is the sky?",
  "options": [{"id": "blue"}, {"id": "green"}]}}"""

    def ask(self, target: Target) -> WireAnswer:
        """By the client."""
        return target.decision_client().ask(self.smoke_request)

    def read(self, _endpoint: str, reply: bytes) -> WireAnswer:
        """Its probabilities."""
        return read_answer(reply)
