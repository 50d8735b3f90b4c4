"""What stands before and after the user's words: the model's own chat template, or our plain one.

The template is rendered once, at start, around a placeholder. No caller's text ever goes through it, so a
template that trims, splits or quotes its messages changes nothing, and rendering costs nothing per request.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from semif_adapter.contract.errors import StartupError
from semif_adapter.llama.model import Model
from semif_adapter.prompt.rendering import Messages, render

_PLACEHOLDER = "SEMIF-USER-WORDS"


class _Thinking(NamedTuple):
    """How a template opens a block of thoughts, and what closes it empty and begins the answer."""

    opened: str
    closed: str


# Read in the templates of llama.cpp (models/templates) and in its parsers of replies, 2026-11-30.
_THINKING = (
    _Thinking("<think>", "\n\n</think>\n\n"),
    _Thinking("<|START_THINKING|>", "<|END_THINKING|>"),  # Cohere Command A Reasoning, R7B
    _Thinking("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),  # Kimi K3
    _Thinking("[THINK]", "[/THINK]"),  # Magistral
    _Thinking("<seed:think>", "</seed:think>"),  # Seed OSS
    _Thinking("<mm:think>", "</mm:think>"),  # MiniMax M3
    _Thinking("Here are my reasoning steps:", "\n[BEGIN FINAL RESPONSE]\n"),  # Apriel 1.5, 1.6
)
# gpt-oss: without a channel the model begins with its analysis.
_HARMONY_TURN, _HARMONY_ANSWER = "<|start|>assistant", "<|channel|>final<|message|>"


@dataclass(frozen=True)
class Template:
    """The text around the user's words."""

    name: str
    """What `prompt_version` calls it."""
    head: str
    tail: str

    @property
    def answer_lead(self) -> str:
        """What separates the answer from `tail`: a space, unless `tail` ends a line."""
        return "" if self.tail[-1:].isspace() else " "


def plain_template(system: str) -> Template:
    """For models without a chat template: the same words, and a lead-in to the answer."""
    return Template("plain", f"{system}\n\n", "\n\nAnswer:")


def chat_template(model: Model, source: str, system: str) -> Template:
    """The GGUF's template `source` with `system` as system message, thinking off, ready for the answer.

    Where the template refuses or drops a system message, its text opens the user's; where it shows no texts,
    contents are lists of parts. Raises StartupError where it cannot be rendered, does not show the user's
    words exactly once, or ends with them.
    """
    apart = [("system", system), ("user", _PLACEHOLDER)]
    together = [("user", f"{system}\n\n{_PLACEHOLDER}")]
    rendered = render(
        source,
        bos_token=model.token_text(model.bos),
        eos_token=model.token_text(model.eos),
        conversations=[form(messages) for form in (_texts, _parts) for messages in (apart, together)],
    )
    texts, parts = rendered[:2], rendered[2:]
    # A template that shows a text would show a list of parts as Python writes it.
    shows_texts = any(_PLACEHOLDER in (one.text or "") for one in texts)
    reasons = []
    for one in texts if shows_texts else [*texts, *parts]:
        text = one.text
        if text is None:
            reasons.append(one.reason)
        elif text.count(_PLACEHOLDER) != 1 or system not in text:
            reasons.append("it does not show the user's message exactly once")
        elif not text.split(_PLACEHOLDER)[1].strip():
            reasons.append("it does not hand over to the assistant behind the user's message")
        else:
            head, tail = text.split(_PLACEHOLDER)
            return Template("chat", head, _begin_answer(tail, source))
    raise StartupError(
        f"the model's chat template cannot be used: {'; '.join(dict.fromkeys(reasons))}; "
        'set template = "plain" in the [prompt] of its preset'
    )


def _texts(messages: Sequence[tuple[str, str]]) -> Messages:
    return tuple({"role": role, "content": content} for role, content in messages)


def _parts(messages: Sequence[tuple[str, str]]) -> Messages:
    return tuple({"role": role, "content": [{"type": "text", "text": text}]} for role, text in messages)


def _begin_answer(tail: str, source: str) -> str:
    """`tail` with a thinking block that it opens closed again, empty, and the channel of answers opened."""
    last = max(_THINKING, key=lambda mark: tail.rfind(mark.opened))
    if tail.rfind(last.opened) > tail.rfind(last.closed.strip()):
        return tail.rstrip() + last.closed
    if tail.endswith(_HARMONY_TURN) and _HARMONY_ANSWER in source:
        return tail + _HARMONY_ANSWER
    return tail
