"""By what a label differs from an option that a person would take for the same."""

import json
from collections.abc import Callable, Sequence
from unicodedata import normalize

from semif_adapter.contract.request_problems import type_name

_ALIKE: dict[str, Callable[[str], str]] = {
    "but for its quotes": str,
    "but for the space around it": str.strip,
    "but for upper and lower case": str.casefold,
    "in another form of Unicode (NFC and NFD, say)": lambda text: normalize("NFC", text),
    "but for case, space and form of Unicode": lambda text: normalize("NFKC", text).strip().casefold(),
}
"""The ways in which two names may differ, and what is left without it."""


def near_option(expected: object, options: Sequence[str]) -> str:
    """By what `expected` differs from an option, as the end of a sentence; nothing where none is near."""
    if not isinstance(expected, str | int | float):
        return ""
    text = json.dumps(expected) if not isinstance(expected, str) else expected
    for place, option in enumerate(options):
        for what, alike in _ALIKE.items():
            if alike(text) == alike(option):
                kind = "" if isinstance(expected, str) else f"{type_name(expected)}, "
                return f"; it is {kind}options[{place}] {what}"
    return ""
