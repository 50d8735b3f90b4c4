"""A first answer of kind `decider`, which must come from a GPU."""

import time

from semif.client.other_servers import read_other
from semif.client.reply import WireAnswer, read_answer
from semif.deployment.kinds.kind import DeployedKind
from semif.errors import SemifError
from semif.target.target import Target

SLOWEST_SECONDS = 2.0
"""Longest a small decision takes on a GPU. Two questions took 0.13 s on an L4, 0.48 s on a T4, and 5.6 s
where a container fell back to such an instance's processors without an error (strands-labs/strands-decider,
docs/deployment.md at 523ae576, read on 2026-11-30; measured by nobody here)."""


class DeployedDecider(DeployedKind):
    """Asked a small choice, in System One's form."""

    smoke_request = b"""{"state": "The sky is blue.", "questions": {"colour": {
  "type": "choice", "instructions": "Which colour is the sky?",
  "criteria": {"blue": null, "green": null}}}}"""

    def ask(self, target: Target) -> WireAnswer:
        """By the client, twice: what a first request has to wait for is not what is judged."""
        client = target.decision_client()
        client.ask(self.smoke_request)
        began = time.monotonic()
        answer = client.ask(self.smoke_request)
        check_on_gpu(target.environment.endpoint_name, answer.raw, time.monotonic() - began)
        return answer

    def read(self, endpoint: str, reply: bytes) -> WireAnswer:
        """Its answers, where the server's own time is a GPU's."""
        answer = read_answer(reply)
        check_on_gpu(endpoint, reply, None)
        return answer


def check_on_gpu(endpoint: str, reply: bytes, seconds: float | None) -> None:
    """Raise SemifError where the decision took longer than any GPU needs.

    The server's own time counts, and where it tells none what the call took, in `seconds`.
    """
    told = read_other(reply)
    taken = told.latency_ms / 1000 if told is not None and told.latency_ms is not None else seconds
    if taken is not None and taken > SLOWEST_SECONDS:
        raise SemifError(
            f"{endpoint} took {taken:.1f} s for a small decision, on a GPU it is less than "
            f"{SLOWEST_SECONDS:g} s: the container computes on the processors and does not say so; see that "
            "inference_ami_version in [endpoint] has a driver for its CUDA, and read its log (semif logs)"
        )
