"""The decision form of the adapter, over its URL or an endpoint."""

import json

from pydantic import ValidationError

from semif.evaluation.forms import Reading, no_answer
from semif.evaluation.forms.fields import most_probable, problem_of
from semif.evaluation.orders import Job
from semif.evaluation.run_file import Pins
from semif_adapter.contract import DecisionResponse


class DecisionForm:
    """One `decision` a request."""

    only_choices = False

    def body(self, job: Job) -> bytes:
        """`{"decision": ...}`."""
        return json.dumps({"decision": job.task.decision(job.options)}).encode()

    def read(self, job: Job, reply: bytes) -> Reading:
        """The adapter's result."""
        try:
            result = DecisionResponse.model_validate_json(reply).result
        except ValidationError:
            return no_answer("the reply is no decision's of this version")
        if result.option_ids != job.option_ids:
            return no_answer("the reply has other options")
        if problem := problem_of(result.probabilities, len(job.options)):
            return no_answer(problem)
        return Reading(
            choice=most_probable(result.option_ids, result.probabilities),
            probabilities=result.probabilities,
            option_logits=result.option_logits,
            allowed_token_mass=result.allowed_token_mass,
            input_tokens=result.input_tokens,
            cached_tokens=result.cached_tokens,
            server_seconds=result.timing.total_seconds,
        )

    def pins(self, reply: bytes) -> Pins:
        """The result's `model`."""
        try:
            model = DecisionResponse.model_validate_json(reply).result.model
        except ValidationError:
            return Pins()
        return Pins(model_name=model.name, model=model)
