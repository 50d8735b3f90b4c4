"""The first answer of an endpoint: a small question, asked as its mode and kind are asked."""

import secrets

from semif.background.queue.ask_and_wait import ask_and_wait
from semif.background.queue.endpoint_queue import EndpointQueue
from semif.client.chat import Completion, complete, read_completion
from semif.client.reply import WireAnswer, read_answer
from semif.target.target import Target

_SCALE_OUT_SECONDS = 600.0
"""For an endpoint without an instance to notice a request, and for SageMaker to find an instance."""
SMOKE_REQUEST = b"""{"decision": {
  "id": "smoke", "state": "The sky is blue.", "question": "Which colour is the sky?",
  "options": [{"id": "blue"}, {"id": "green"}]}}"""
SMOKE_CHAT = b"""{"messages": [{"role": "user", "content": "Which colour is the sky?"}], "max_tokens": 16}"""


def first_answer(target: Target) -> WireAnswer | Completion:
    """Ask the endpoint a small decision, or for a small completion. Raises DecisionError.

    An asynchronous endpoint may have to start an instance first.
    """
    environment, endpoint = target.environment, target.environment.endpoint_name
    if environment.endpoint.mode == "async":
        queue = EndpointQueue.find(
            target.aws,
            endpoint,
            job=f"first-{secrets.token_hex(8)}",
            invocation_timeout_seconds=environment.async_.invocation_timeout_seconds,
        )
        raw = ask_and_wait(
            queue,
            SMOKE_CHAT if environment.kind == "text" else SMOKE_REQUEST,
            limit_seconds=_SCALE_OUT_SECONDS + 2 * environment.start_seconds,
            poll_seconds=target.poll_seconds,
        )
        return read_completion(endpoint, raw) if environment.kind == "text" else read_answer(raw)
    if environment.kind == "text":
        return complete(target.aws, endpoint, SMOKE_CHAT)
    return target.decision_client().ask(SMOKE_REQUEST)
