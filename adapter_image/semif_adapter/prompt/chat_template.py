"""What stands before and after the user's words: the model's own chat template, or our plain one.

The template is rendered once, at start, around a placeholder. No caller's text ever goes through it, so a
template that trims, splits or quotes its messages changes nothing, and rendering costs nothing per request.
"""

from dataclasses import dataclass
from typing import NoReturn

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from semif_adapter.contract.errors import StartupError
from semif_adapter.llama.model import Model

_PLACEHOLDER = "SEMIF-USER-WORDS"
_THINK_OPEN, _THINK_CLOSE = "<think>", "</think>"


@dataclass(frozen=True)
class Template:
    """The text around the user's words."""

    name: str
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

    Where the template refuses or drops a system message, its text opens the user's. Raises StartupError where
    the template cannot be rendered, does not show the user's words exactly once, or ends with them.
    """
    apart = [{"role": "system", "content": system}, {"role": "user", "content": _PLACEHOLDER}]
    together = [{"role": "user", "content": f"{system}\n\n{_PLACEHOLDER}"}]
    reason = "it does not show the user's message exactly once"
    for messages in (apart, together):
        try:
            text = _render(model, source, messages)
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            reason = " ".join(str(error).split())
            continue
        if text.count(_PLACEHOLDER) == 1 and system in text:
            head, tail = text.split(_PLACEHOLDER)
            if tail.strip():
                return Template("chat", head, _close_thinking(tail))
            reason = "it does not hand over to the assistant behind the user's message"
    raise StartupError(
        f"the model's chat template cannot be used: {reason}; "
        'set template = "plain" in the [prompt] of its preset'
    )


def _render(model: Model, source: str, messages: list[dict[str, str]]) -> str:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    environment.globals["raise_exception"] = _raise
    return environment.from_string(source).render(
        messages=messages,
        add_generation_prompt=True,
        enable_thinking=False,
        bos_token=model.token_text(model.bos),
        eos_token=model.token_text(model.eos),
    )


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _close_thinking(tail: str) -> str:
    """`tail` with a thinking block that it opens closed again, empty."""
    if tail.rfind(_THINK_OPEN) <= tail.rfind(_THINK_CLOSE):
        return tail
    return f"{tail.rstrip()}\n\n{_THINK_CLOSE}\n\n"
