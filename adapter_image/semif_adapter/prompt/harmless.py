"""A caller's words with nothing in them that the tokenizer would take for a mark of the prompt.

Where a model brings its own prompt it is tokenised in one piece, as the model was trained, so that what looks
like a control token would be one: user text could end its turn, or add an option.
"""

import re

from pydantic import JsonValue

from semif_adapter.llama.marks import Marks
from semif_adapter.llama.model import Model

_NAMED = re.compile(r"<\|([A-Za-z0-9_]+)\|>")


class Harmless:
    """Takes the meaning from the marks of one model, in texts and in any JSON.

    `<|name|>` becomes `<¦name¦>` and other marks a space, as llama-server has it
    (tools/server/server-decision.cpp, read at 3cafcc83 on 2026-11-30: the first for Kev, the second for
    Laya's `[MASK]`; texts without marks stay what they are).
    """

    def __init__(self, model: Model, template: str, *, all_named: bool) -> None:
        """The control tokens of `model`, and those user-defined ones that its `template` has.

        With `all_named` every `<|name|>` is one, whether the vocabulary has it or not.
        """
        marks = {model.token_text(token) for token in range(model.vocab_size) if model.is_control(token)}
        marks |= {text for text in model.user_defined_texts if text.strip() and text in template}
        self._marks = Marks(marks - {""})
        self._all_named = all_named

    def text(self, text: str) -> str:
        """`text` without marks."""
        if self._all_named:
            text = _NAMED.sub(r"<¦\1¦>", text)
        return self._marks.replaced(text, _harmless)

    def content(self, content: JsonValue) -> JsonValue:
        """`content` without marks, in keys too."""
        match content:
            case str():
                return self.text(content)
            case list():
                return [self.content(item) for item in content]
            case dict():
                return {self.text(key): self.content(item) for key, item in content.items()}
            case _:
                return content


def _harmless(mark: str) -> str:
    named = _NAMED.fullmatch(mark)
    return f"<¦{named[1]}¦>" if named else " "
