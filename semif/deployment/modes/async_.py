"""Mode `async`: the first answer comes by the queue, after an instance has started if there is none."""

import secrets

from semif.background.queue.ask_and_wait import ask_and_wait
from semif.background.queue.endpoint_queue import EndpointQueue
from semif.client.chat import Completion
from semif.client.reply import WireAnswer
from semif.deployment.kinds import DEPLOYED_KINDS
from semif.deployment.modes.endpoint import DeployedEndpoint
from semif.target.target import Target

_SCALE_OUT_SECONDS = 600.0
"""For an endpoint without an instance to notice a request."""


class DeployedAsync(DeployedEndpoint):
    """An endpoint with a queue."""

    def first_answer(self, target: Target) -> WireAnswer | Completion:
        """By the queue."""
        environment, kind = target.environment, DEPLOYED_KINDS[target.environment.kind]
        queue = EndpointQueue.find(
            target.aws,
            environment.endpoint_name,
            job=f"first-{secrets.token_hex(8)}",
            invocation_timeout_seconds=environment.async_.invocation_timeout_seconds,
        )
        reply = ask_and_wait(
            queue,
            kind.smoke_request,
            limit_seconds=_SCALE_OUT_SECONDS + environment.longest_start_seconds,
            poll_seconds=target.poll_seconds,
        )
        return kind.read(environment.endpoint_name, reply)
