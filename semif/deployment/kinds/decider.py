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
deployment.md at 523ae576, read on 2026-11-30; measured by nobody here)."""
TRIES = 3
"""One fast answer is enough: others may have waited for somebody else's request."""


class DeployedDecider(DeployedKind):
    """Asked a small choice, in System One's form."""

    smoke_request = b"""{"state": "The sky is blue.", "questions": {"colour": {
  "type": "choice", "instructions": "Which colour is the sky?",
  "criteria": {"blue": null, "green": null}}}}"""

    def ask(self, target: Target) -> WireAnswer:
        """By the client. What a first request has to wait for is not what is judged."""
        client, taken = target.decision_client(), []
        client.ask(self.smoke_request)
        for _ in range(TRIES):
            began = time.monotonic()
            answer = client.ask(self.smoke_request)
            taken.append(_seconds_of(answer.raw, time.monotonic() - began))
            if taken[-1] <= SLOWEST_SECONDS:
                return answer
        raise _too_slow(target.environment.endpoint_name, min(taken))

    def read(self, endpoint: str, reply: bytes) -> WireAnswer:
        """Its answers, where the server's own time is a GPU's."""
        answer = read_answer(reply)
        if (seconds := _seconds_of(reply, 0.0)) > SLOWEST_SECONDS:
            raise _too_slow(endpoint, seconds)
        return answer


def _seconds_of(reply: bytes, otherwise: float) -> float:
    """The server's own time; `otherwise` where it tells none."""
    told = read_other(reply)
    return otherwise if told is None or told.latency_ms is None else told.latency_ms / 1000


def _too_slow(endpoint: str, seconds: float) -> SemifError:
    return SemifError(
        f"{endpoint} took {seconds:.1f} s for a small decision, on a GPU it is less than "
        f"{SLOWEST_SECONDS:g} s: the container computes on the processors and does not say so; see that "
        "inference_ami_version in [endpoint] has a driver for its CUDA, and read its log (semif logs)"
    )
