"""The decision form of the adapter, over its URL or an endpoint."""

import json
import math

from pydantic import ValidationError

from semif.evaluation.forms import Reading, no_answer
from semif.evaluation.forms.fields import count_of, most_probable, problem_of, seconds_of, share_of
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
        if len(result.option_logits) != len(job.options) or not all(map(math.isfinite, result.option_logits)):
            return no_answer("the option logits are not one finite number for each option")
        return Reading(
            choice=most_probable(result.option_ids, result.probabilities),
            probabilities=result.probabilities,
            option_logits=result.option_logits,
            allowed_token_mass=share_of(result.allowed_token_mass),
            input_tokens=count_of(result.input_tokens),
            cached_tokens=count_of(result.cached_tokens),
            server_seconds=seconds_of(result.timing.total_seconds),
        )

    def pins(self, reply: bytes) -> Pins:
        """The result's model, prompt and calibration."""
        try:
            result = DecisionResponse.model_validate_json(reply).result
        except ValidationError:
            return Pins()
        return Pins(
            model_name=result.model.name,
            model=result.model,
            prompt_version=result.prompt_version,
            calibration=result.calibration.sha256 if result.calibration else None,
        )
