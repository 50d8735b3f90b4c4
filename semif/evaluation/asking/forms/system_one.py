"""System One's form: any server of `POST /v1/systemone`."""

import json
from typing import Any

from semif.client.results import best_option
from semif.evaluation.asking.forms import no_answer
from semif.evaluation.asking.forms.fields import (
    count_of,
    model_name,
    object_of,
    problem_of,
    read_reply,
    seconds_of,
    share_of,
)
from semif.evaluation.runs.run_file import Pins
from semif.evaluation.runs.task_record import ReplyContent
from semif.evaluation.tasks.option_orders import OrderedTask
from semif_adapter.forms.systemone.questions import FALSE, TRUE

MODEL = "jev-latest"
"""What its servers take for the model that they have."""


class SystemOneForm:
    """One question a request. What a server tells beyond the API (`x_...`) is taken from ours alone."""

    only_choices = True
    sought = "an answer of System One is looked for (--as system-one); say with --as what this server answers"

    def body(self, ordered: OrderedTask) -> bytes:
        """State and question."""
        question = ordered.task.system_one(ordered.options)
        return json.dumps(
            {"model": MODEL, "state": ordered.task.state, "questions": {"task": question}}
        ).encode()

    def read(self, ordered: OrderedTask, reply: bytes) -> ReplyContent:
        """The answer's probabilities, in the order asked."""
        try:
            document = read_reply(reply)
            answer = document["answers"]["task"]
            probabilities = tuple(_probabilities(answer)[name] for name in ordered.option_ids)
        except (ValueError, LookupError, TypeError, AttributeError):
            return no_answer("the reply holds no answer of System One to this question")
        if problem := problem_of(probabilities, len(ordered.options)):
            return no_answer(problem)
        probabilities = tuple(map(float, probabilities))
        usage, timing = object_of(document.get("usage")), object_of(document.get("x_timing"))
        return ReplyContent(
            choice=ordered.option_ids[best_option(probabilities)],
            probabilities=probabilities,
            allowed_token_mass=share_of(answer.get("x_allowed_token_mass")),
            input_tokens=count_of(usage.get("input_tokens")),
            cached_tokens=count_of(timing.get("prefix_cached_tokens")),
            output_tokens=count_of(usage.get("output_tokens")),
            server_seconds=seconds_of(timing.get("total_seconds")),
        )

    def pins(self, reply: bytes) -> Pins:
        """The name of the model that answered, and the calibration if it tells one."""
        return Pins(model_name=model_name(reply), calibration=_calibration(reply))


def _calibration(reply: bytes) -> str | None:
    try:
        sha256 = read_reply(reply)["answers"]["task"]["x_calibration"]["sha256"]
    except (ValueError, LookupError, TypeError):
        return None
    return sha256 if isinstance(sha256, str) else None


def _probabilities(answer: dict[str, Any]) -> dict[str, Any]:
    if answer["type"] == "noul":
        return {TRUE: answer["noul"], FALSE: 1 - answer["noul"]}
    probabilities: dict[str, Any] = answer["probabilities"]
    return probabilities
