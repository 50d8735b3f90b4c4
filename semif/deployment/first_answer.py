"""The first answer of an endpoint: a small question, asked as its mode and kind are asked."""

from semif.client.chat import Completion
from semif.client.reply import WireAnswer
from semif.deployment.modes import deployed_mode
from semif.target.target import Target


def first_answer(target: Target) -> WireAnswer | Completion | None:
    """Ask the endpoint a small decision, or for a small completion; None where there is no endpoint.

    An asynchronous endpoint may have to start an instance first. Raises DecisionError.
    """
    return deployed_mode(target.environment).first_answer(target)
