"""The decision form of the adapter, over its URL or an endpoint."""

import json

from semif.client.errors import UnknownReplyError
from semif.client.reply import read_answer
from semif.client.results import best_option
from semif.evaluation.asking.forms import no_answer
from semif.evaluation.asking.forms.fields import count_of, seconds_of, share_of
from semif.evaluation.runs.run_file import Pins
from semif.evaluation.runs.task_record import ReplyContent
from semif.evaluation.tasks.option_orders import OrderedTask


class DecisionForm:
    """One `decision` a request."""

    only_choices = False
    sought = "an answer of an adapter is looked for (--as decision); say with --as what this server answers"

    def body(self, ordered: OrderedTask) -> bytes:
        """`{"decision": ...}`."""
        return json.dumps({"decision": ordered.task.decision(ordered.options)}).encode()

    def read(self, ordered: OrderedTask, reply: bytes) -> ReplyContent:
        """The adapter's result."""
        try:
            (result,) = read_answer(reply).results
        except UnknownReplyError as error:
            return no_answer(error.message)
        except ValueError:
            return no_answer("the reply is not that of one decision")
        if result.option_ids != ordered.option_ids:
            return no_answer("the reply has other options")
        return ReplyContent(
            choice=result.option_ids[best_option(result.probabilities)],
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
            (result,) = read_answer(reply).results
        except (UnknownReplyError, ValueError):
            return Pins()
        return Pins(
            model_name=result.model.name,
            model=result.model,
            prompt_version=result.prompt_version,
            calibration=result.calibration.sha256 if result.calibration else None,
        )
