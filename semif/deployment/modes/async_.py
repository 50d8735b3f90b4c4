"""Mode `async`: the first answer comes by the queue, after an instance has started if there is none."""

import secrets

from semif.background.queue.ask_and_wait import ask_and_wait, ask_once
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
        queue = _queue(target, "first")
        reply = ask_and_wait(
            queue,
            kind.smoke_request,
            limit_seconds=_SCALE_OUT_SECONDS + environment.longest_start_seconds,
            poll_seconds=target.poll_seconds,
        )
        return kind.read(environment.endpoint_name, reply)

    def probe(self, target: Target) -> None:
        """Put a request into the queue; nobody waits for its answer."""
        ask_once(_queue(target, "probe"), "probe", DEPLOYED_KINDS[target.environment.kind].smoke_request)


def _queue(target: Target, purpose: str) -> EndpointQueue:
    """The endpoint's queue, for a job of its own."""
    environment = target.environment
    return EndpointQueue.find(
        target.aws,
        environment.endpoint_name,
        job=f"{purpose}-{secrets.token_hex(8)}",
        invocation_timeout_seconds=environment.async_.invocation_timeout_seconds,
    )
