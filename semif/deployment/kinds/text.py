"""A first answer of kind `text`."""

from semif.client.chat import Completion, complete, read_completion
from semif.deployment.kinds.kind import DeployedKind
from semif.target.target import Target


class DeployedText(DeployedKind):
    """Asked for a small completion."""

    smoke_request = (
        b"""{"messages": [{"role": "user", "content": "Which colour is the sky?"}], "max_tokens": 16}"""
    )

    def ask(self, target: Target) -> Completion:
        """By one invocation."""
        return complete(target.aws, target.environment.endpoint_name, self.smoke_request)

    def read(self, endpoint: str, reply: bytes) -> Completion:
        """Its words."""
        return read_completion(endpoint, reply)
