"""The text path: an OpenAI-style chat endpoint is asked for an option's label and answers in words."""

import json
import re
import string
from collections.abc import Sequence
from typing import Any

from semif.evaluation.asking.forms import no_answer
from semif.evaluation.asking.forms.fields import count_of, model_name, object_of, read_reply, seconds_of
from semif.evaluation.runs.run_file import Pins
from semif.evaluation.runs.task_record import ReplyContent
from semif.evaluation.tasks.option_orders import OrderedTask
from semif_adapter.contract.question import content_text
from semif_adapter.contract.wire import Option

MAX_TOKENS = 64
"""Room for a label or a name, and for a short sentence that will not be understood."""
_WRAPPING = " \t\r\n\"'`*_."
_LABELLED = re.compile(r"\(?([A-Z]|\d{1,3})(?:\)|[.:])\s*(.*)", re.DOTALL)


class ChatForm:
    """One question a request, at temperature 0."""

    only_choices = False

    def __init__(self, max_tokens: int = MAX_TOKENS) -> None:
        self._max_tokens = max_tokens

    def body(self, ordered: OrderedTask) -> bytes:
        """A chat of one message."""
        request = {
            "messages": [{"role": "user", "content": _message(ordered)}],
            "temperature": 0,
            "max_tokens": self._max_tokens,
        }
        return json.dumps(request).encode()

    def read(self, ordered: OrderedTask, reply: bytes) -> ReplyContent:
        """The option that the words name."""
        try:
            document = read_reply(reply)
            text = document["choices"][0]["message"].get("content") or ""
            choice = named_option(text, ordered.options)
        except (ValueError, LookupError, TypeError, AttributeError):
            return no_answer("the reply holds no chat completion")
        usage, timings = object_of(document.get("usage")), object_of(document.get("timings"))
        return ReplyContent(
            status="answered" if choice is not None else "unparsable",
            choice=choice,
            input_tokens=count_of(usage.get("prompt_tokens")),
            cached_tokens=count_of(object_of(usage.get("prompt_tokens_details")).get("cached_tokens")),
            output_tokens=count_of(usage.get("completion_tokens")),
            server_seconds=_server_seconds(timings),
        )

    def pins(self, reply: bytes) -> Pins:
        """The name of the model that answered."""
        return Pins(model_name=model_name(reply))


def _labels(count: int) -> Sequence[str]:
    return string.ascii_uppercase[:count] if count <= 26 else [str(number + 1) for number in range(count)]


def _message(ordered: OrderedTask) -> str:
    labels = _labels(len(ordered.options))
    asked = ordered.task.decision(ordered.options)
    lines = [
        f"{label}. {option['id']}" + (f": {option['description']}" if "description" in option else "")
        for label, option in zip(labels, asked["options"], strict=True)
    ]
    what = "letter" if labels[0] == "A" else "number"
    return "\n".join(
        [
            content_text(ordered.task.state),
            "",
            ordered.task.question,
            "",
            *lines,
            "",
            f"Answer with one {what} only.",
        ]
    )


def named_option(text: str, options: Sequence[Option]) -> str | None:
    """The id of the option that `text` is: its label, its id, or both; None for all other words.

    Strict: a sentence that mentions an option is not an answer that a program could act on.
    """
    words = text.strip(_WRAPPING)
    labels = dict(zip(_labels(len(options)), options, strict=True))
    if (option := labels.get(words.strip("()"))) is not None:
        return option.id
    if labelled := _LABELLED.fullmatch(words):
        option = labels.get(labelled[1])
        return option.id if option is not None and _says(labelled[2], option) else None
    said = [option.id for option in options if _says(words, option)]
    return said[0] if len(said) == 1 else None


def _says(words: str, option: Option) -> bool:
    """Whether the words are the option as the list has it: its id, its description, or both."""
    plain = _plain(words)
    description = option.description or ""
    return plain in {_plain(option.id), _plain(description), _plain(f"{option.id}: {description}")} - {""}


def _plain(text: str) -> str:
    return " ".join(text.strip(_WRAPPING).replace("_", " ").casefold().split())


def _server_seconds(timings: dict[str, Any]) -> float | None:
    """llama-server's own clock: reading the prompt and writing the answer."""
    reading, writing = seconds_of(timings.get("prompt_ms")), seconds_of(timings.get("predicted_ms"))
    return None if reading is None or writing is None else (reading + writing) / 1000
