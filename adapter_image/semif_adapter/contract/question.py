"""What the engine is asked, whatever the wire that it came over."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from semif_adapter.contract.wire import QuestionKind

Content = str | dict[str, JsonValue] | list[JsonValue]


@dataclass(frozen=True)
class OptionText:
    """One allowed answer: its id in the result, what a list of options shows, and the words that say it."""

    id: str
    shown: str
    spoken: str


@dataclass(frozen=True)
class Question:
    """One question about one state.

    `path` is where it stands in the request, for errors. With `rotate` every rotation of the options is asked
    and the answers are averaged. A decision has no `kind`.
    """

    id: str
    state: Content
    text: str
    options: tuple[OptionText, ...]
    path: str
    rotate: bool = False
    kind: QuestionKind | None = None


def content_text(content: Content) -> str:
    """Content as the model reads it: a string as it is, JSON without spaces, keys in the order received."""
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
