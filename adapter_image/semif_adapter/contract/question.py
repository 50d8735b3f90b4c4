"""What the engine is asked, whatever the wire that it came over."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from semif_adapter.contract.wire import QuestionKind

Content = str | dict[str, JsonValue] | list[JsonValue]


@dataclass(frozen=True)
class OptionText:
    """One allowed answer: its id in the result, what a list of options shows, and the words that say it.

    `description` is what was sent with it, for models that bring their own prompt.
    """

    id: str
    shown: str
    spoken: str
    description: Content | None = None


@dataclass(frozen=True)
class Question:
    """One question about one state.

    `path` is where it stands in the request, for errors. With `rotate` every rotation of the options is asked
    and the answers are averaged. A decision has no `kind`. `instructions` are what was sent, for models that
    bring their own prompt, where `text` says it in our words.
    """

    id: str
    state: Content
    text: str
    options: tuple[OptionText, ...]
    path: str
    rotate: bool = False
    kind: QuestionKind | None = None
    instructions: Content | None = None

    @property
    def asked(self) -> Content:
        """What is asked, as it was sent."""
        return self.text if self.instructions is None else self.instructions


def content_text(content: Content) -> str:
    """Content as the model reads it: a string as it is, JSON without spaces, keys in the order received."""
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
