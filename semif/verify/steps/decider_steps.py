"""What is seen of an endpoint of kind `decider`: it answers from a GPU, and refuses what is too long."""

import json

from semif.client.errors import RequestRefusedError
from semif.client.other_servers import read_other
from semif.deployment.kinds.decider import SLOWEST_SECONDS
from semif.environment.environment import Environment
from semif.verify.step import Bench, SurpriseError

EXAMPLE = "systemone.json"


def ask(bench: Bench) -> str:
    """The example, after the first answer, which must come as fast as a GPU's."""
    target = bench.target()
    path = target.root / "examples" / EXAMPLE
    reply = read_other(target.decision_client().ask(path.read_bytes()).raw)
    asked = json.loads(path.read_bytes())["questions"]
    if reply is None or list(reply.answers) != list(asked):
        raise SurpriseError(f"the reply to examples/{EXAMPLE} has other answers than it has questions")
    if reply.latency_ms is None:
        raise SurpriseError("the reply does not tell the server's own time (latency_ms)")
    if reply.latency_ms > 1000 * SLOWEST_SECONDS:
        raise SurpriseError(f"the server took {reply.latency_ms / 1000:.1f} s, which is no GPU's time")
    return f"{len(asked)} answers of {reply.model} in {reply.latency_ms:.0f} ms by the server's clock"


def too_long(bench: Bench) -> str:
    """A state that no window holds is refused, and not cut."""
    target = bench.target()
    question = {"type": "noul", "instructions": "Is it long?"}
    body = json.dumps({"state": "word " * 200_000, "questions": {"long": question}}).encode()
    try:
        target.decision_client().ask(body)
    except RequestRefusedError as error:
        if error.status == 422:
            return f"refused: {error.message}"
        raise
    raise SurpriseError(
        "a state of 200,000 words was answered: --strict-window in DECIDER_ARGS did not reach it"
    )


def not_strict(environment: Environment) -> str | None:
    """Why a long state is cut."""
    return None if environment.decider.strict_window else "it has decider.strict_window = false"
