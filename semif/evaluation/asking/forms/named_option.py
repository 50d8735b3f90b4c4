"""From words to the option that they are.

Strict: a sentence that mentions an option is not an answer that a program could act on.
"""

import re
import string
from collections.abc import Sequence

from semif_adapter.contract.wire import Option

_WRAPPING = " \t\r\n\"'`*_."
_LABELLED = re.compile(r"\(?([A-Z]|\d{1,3})(?:\)|[.:])\s*(.*)", re.DOTALL)


def labels(count: int) -> Sequence[str]:
    """What a list of so many options is lettered with; numbers beyond 26."""
    return string.ascii_uppercase[:count] if count <= 26 else [str(number + 1) for number in range(count)]


def named_option(text: str, options: Sequence[Option], *, labelled: bool = True) -> str | None:
    """The id of the option that `text` is, None for all other words.

    That is its id or its description, or both; where the options were `labelled`, its label too, alone or
    before them.
    """
    words = text.strip(_WRAPPING)
    by_label = dict(zip(labels(len(options)), options, strict=True)) if labelled else {}
    if (option := by_label.get(words.strip("()"))) is not None:
        return option.id
    if by_label and (found := _LABELLED.fullmatch(words)):
        option = by_label.get(found[1])
        return option.id if option is not None and _says(found[2], option) else None
    said = [option.id for option in options if _says(words, option)]
    return said[0] if len(said) == 1 else None


def _says(words: str, option: Option) -> bool:
    """Whether the words are the option as the list has it: its id, its description, or both."""
    plain = _plain(words)
    description = option.description or ""
    return plain in {_plain(option.id), _plain(description), _plain(f"{option.id}: {description}")} - {""}


def _plain(text: str) -> str:
    return " ".join(text.strip(_WRAPPING).replace("_", " ").casefold().split())
