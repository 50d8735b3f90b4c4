"""What options are called in a prompt: the letters that the model answers with, one token each."""

import itertools
import string
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.wire import MAX_OPTIONS
from semif_adapter.llama.model import Model
from semif_adapter.prompt.chat_template import Template


@dataclass(frozen=True)
class Label:
    """What an option is called in the prompt, and the one token that answers with it."""

    text: str
    token: int


def find_labels(model: Model, template: Template) -> tuple[Label, ...]:
    """The labels that `model` can answer with, at most 255: A to Z first, then pairs and small letters.

    A label is one token of its own behind the rendered prompt, leaving the prompt's tokens as they are.
    Raises StartupError where a letter from A to Z is not; others that are not are passed over.
    """
    before = model.tokenize(template.tail, parse_special=True)
    labels: dict[int, Label] = {}
    for text in _label_texts():
        tokens = model.tokenize(template.tail + template.answer_lead + text, parse_special=True)
        token = int(tokens[-1])
        single = (
            len(tokens) == len(before) + 1 and np.array_equal(tokens[:-1], before) and token not in labels
        )
        if single:
            labels[token] = Label(text, token)
        elif len(text) == 1 and text.isupper():
            raise StartupError(
                f"the model cannot answer with the letter {text}: "
                "behind its prompt it is not one token of its own; "
                'set readout = "text" in the [prompt] of its preset (SEMIF_READOUT=text)'
            )
        if len(labels) == MAX_OPTIONS:
            break
    return tuple(labels.values())


def _label_texts() -> Iterator[str]:
    upper, lower = string.ascii_uppercase, string.ascii_lowercase
    yield from upper
    yield from map("".join, itertools.product(upper, repeat=2))
    yield from lower
    yield from map("".join, itertools.product(upper, lower))
    yield from map("".join, itertools.product(lower, repeat=2))
