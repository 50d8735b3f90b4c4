"""Whoever answers in words: an OpenAI-style chat endpoint, or an API of one's own."""

from typing import Any

from semif.evaluation.asking.forms import no_answer
from semif.evaluation.asking.forms.chat_request import ChatRequest, chat_request
from semif.evaluation.asking.forms.fields import count_of, model_name, object_of, read_reply, seconds_of
from semif.evaluation.asking.forms.named_option import named_option
from semif.evaluation.runs.run_file import Pins
from semif.evaluation.runs.task_record import ReplyContent
from semif.evaluation.tasks.option_orders import OrderedTask

_PLAIN = chat_request()


class ChatForm:
    """One question a request. What a reply tells of tokens and times is taken where OpenAI's form has it."""

    only_choices = False

    def __init__(self, request: ChatRequest = _PLAIN) -> None:
        self._request = request

    @property
    def sought(self) -> str:
        """The paths."""
        places = ", and in the JSON there at ".join(self._request.answer)
        change = "say with --answer-path where it is, or in the prompt how to answer"
        return f"the answer is looked for at {places}; {change}"

    def body(self, ordered: OrderedTask) -> bytes:
        """The request's own, filled in."""
        return self._request.filled(ordered)

    def read(self, ordered: OrderedTask, reply: bytes) -> ReplyContent:
        """The option that the words name."""
        try:
            document = read_reply(reply)
            words = self._request.answer_in(document)
        except ValueError as error:
            return no_answer(str(error))
        choice = named_option(words, ordered.options, labelled=self._request.labelled)
        usage, timings = (object_of(object_of(document).get(key)) for key in ("usage", "timings"))
        return ReplyContent(
            status="answered" if choice is not None else "unparsable",
            choice=choice,
            input_tokens=count_of(usage.get("prompt_tokens")),
            cached_tokens=count_of(object_of(usage.get("prompt_tokens_details")).get("cached_tokens")),
            output_tokens=count_of(usage.get("completion_tokens")),
            server_seconds=_server_seconds(timings),
        )

    def pins(self, reply: bytes) -> Pins:
        """The name of the model that answered, and what it is asked with."""
        own = self._request != _PLAIN
        return Pins(model_name=model_name(reply), request=self._request.sha256 if own else None)


def _server_seconds(timings: dict[str, Any]) -> float | None:
    """llama-server's own clock: reading the prompt and writing the answer."""
    reading, writing = seconds_of(timings.get("prompt_ms")), seconds_of(timings.get("predicted_ms"))
    return None if reading is None or writing is None else (reading + writing) / 1000
