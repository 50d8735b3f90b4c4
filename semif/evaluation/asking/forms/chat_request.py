"""What is sent for each task where answers are words, and where in the reply the answer stands.

A body is any JSON whose strings hold places: `{state}`, `{question}`, `{options}` (a lettered list) and
`{label}` ("letter", or "number" where there are more than 26 options). All other braces stay as they are.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from semif.errors import SemifError, shown
from semif.evaluation.asking.forms.fields import read_reply
from semif.evaluation.asking.forms.named_option import labels
from semif.evaluation.tasks.option_orders import OrderedTask
from semif.project.whole_files import read_whole, utf8
from semif_adapter.contract.question import content_text
from semif_adapter.contract.wire import MAX_BODY_BYTES

MAX_TOKENS = 64
"""Room for a label or a name, and for a short sentence that will not be understood."""
PROMPT = "{state}\n\n{question}\n\n{options}\n\nAnswer with one {label} only."
"""What is asked where nobody says otherwise."""
ANSWER = "choices[0].message.[content || ''] | [0]"
"""Where a chat completion has its words; null, as of one that only thought, are none and no fault."""
_PLACES = re.compile(r"\{(state|question|options|label)\}")


@dataclass(frozen=True)
class ChatRequest:
    """How a task is asked in words."""

    body: JsonValue
    """With places in its strings."""
    answer: tuple[str, ...]
    """JMESPath expressions: the first goes into the reply, each next one into the JSON that the text is."""

    is_completion: bool = True
    """Whether it is one of OpenAI's chat completions, which have an address of their own under a base."""

    @cached_property
    def labelled(self) -> bool:
        """Whether the options' letters are sent, so that a letter may be the answer."""
        return "{options}" in json.dumps(self.body)

    @property
    def sha256(self) -> str:
        """Of all of it."""
        return hashlib.sha256(json.dumps([self.body, self.answer]).encode()).hexdigest()

    def filled(self, ordered: OrderedTask) -> bytes:
        """The body for a task."""
        places = _places(ordered)
        return json.dumps(_filled(self.body, places)).encode()

    def answer_in(self, document: object) -> str:
        """The words of a reply; empty where they lead no further. Raises ValueError where it holds none."""
        first, *others = self.answer
        words = _words(first, document)
        if words is None:
            raise ValueError("the reply has neither text nor a number where its answer is looked for")
        for path in others:
            try:
                words = _words(path, read_reply(words.encode()))
            except ValueError:  # words that are no JSON name no option
                words = None
            if words is None:
                return ""
        return words


def chat_request(
    *,
    model: str | None = None,
    system: str | None = None,
    prompt: str | None = None,
    max_tokens: int | None = None,
    answer: Sequence[str] = (),
) -> ChatRequest:
    """A chat completion at temperature 0. Raises SemifError for a prompt or an expression that is none."""
    asked = PROMPT if prompt is None else prompt
    messages = [] if system is None else [{"role": "system", "content": system}]
    body = {
        **({} if model is None else {"model": model}),
        "messages": [*messages, {"role": "user", "content": asked}],
        "temperature": 0,
        "max_tokens": max_tokens or MAX_TOKENS,
    }
    return _checked(body, answer, "the prompt", is_completion=True)


def body_request(path: Path, answer: Sequence[str] = ()) -> ChatRequest:
    """The body of a JSON file. Raises SemifError where it is none or holds no state."""
    try:
        body = read_reply(utf8(read_whole(path, MAX_BODY_BYTES), path), str(path))
    except ValueError as error:
        raise SemifError(str(error)) from None
    return _checked(body, answer, str(path), is_completion=False)


def _checked(body: Any, answer: Sequence[str], named: str, *, is_completion: bool) -> ChatRequest:
    if "{state}" not in json.dumps(body):
        raise SemifError(f"{named} has no {{state}}: write it where the text to be judged goes")
    for path in answer:
        _check_path(path)
    return ChatRequest(body, tuple(answer) or (ANSWER,), is_completion)


def _check_path(path: str) -> None:
    import jmespath  # noqa: PLC0415 - of the extra

    try:
        jmespath.compile(path)
    except (jmespath.exceptions.JMESPathError, RecursionError):
        raise SemifError(
            f"{shown(path)} is no JMESPath expression; write names with dots between and positions in "
            "brackets, as in choices[0].message.content"
        ) from None


def _places(ordered: OrderedTask) -> dict[str, str]:
    names = labels(len(ordered.options))
    asked = ordered.task.decision(ordered.options)
    lines = [
        f"{name}. {option['id']}" + (f": {option['description']}" if "description" in option else "")
        for name, option in zip(names, asked["options"], strict=True)
    ]
    return {
        "state": content_text(ordered.task.state),
        "question": ordered.task.question,
        "options": "\n".join(lines),
        "label": "letter" if names[0] == "A" else "number",
    }


def _filled(value: JsonValue, places: dict[str, str]) -> JsonValue:
    match value:
        case str():
            return _PLACES.sub(lambda place: places[place[1]], value)  # once: a state may hold a place, too
        case list():
            return [_filled(item, places) for item in value]
        case dict():
            return {key: _filled(item, places) for key, item in value.items()}
    return value


def _words(path: str, document: object) -> str | None:
    """What is at a place, a number or truth value as JSON has it; None for anything else."""
    import jmespath  # noqa: PLC0415 - of the extra

    try:
        found = jmespath.search(path, document)
    except (jmespath.exceptions.JMESPathError, ValueError):  # a function of another type, a slice by zero
        return None
    if isinstance(found, bool | int | float):
        return json.dumps(found)
    return found if isinstance(found, str) else None
