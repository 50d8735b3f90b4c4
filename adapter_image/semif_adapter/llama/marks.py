"""Finds a vocabulary's marks in a text, in a time that does not grow with how many marks there are.

Models have thousands (`<unused5999>`). A regular expression with all of them as alternatives tries each at
every `<`: megabytes of `<` took minutes in which no other thread of the interpreter ran.
"""

import re
from collections.abc import Callable, Iterable, Iterator


class Marks:
    """Some texts, none of them empty."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)
        self._lengths = sorted({len(text) for text in self._texts}, reverse=True)
        firsts = "".join(sorted(re.escape(first) for first in {text[0] for text in self._texts}))
        self._first = re.compile(f"[{firsts}]" if firsts else r"(?!)")

    def found(self, text: str) -> Iterator[tuple[int, int]]:
        """Where marks begin and end in `text`, from left to right, the longest where several begin."""
        end = 0
        for first in self._first.finditer(text):
            start = first.start()
            if start >= end and (length := self._length_at(text, start)):
                end = start + length
                yield start, end

    def cuts(self, text: str, apart: int) -> Iterator[int]:
        """Where `text` may be cut before a mark, with at least `apart` marks between two cuts.

        Only before a mark that no other overlaps: whoever looks for marks one after the other, in whatever
        order, finds that one, so that both sides stay what they are in the whole text.
        """
        passed = end = 0
        waiting: int | None = None
        for first in self._first.finditer(text):
            start = first.start()
            length = self._length_at(text, start)
            if not length:
                continue
            if waiting is not None and start >= end:
                yield waiting
                passed = 0
            passed += 1
            waiting = start if start >= end and passed > apart else None
            end = max(end, start + length)

    def replaced(self, text: str, by: Callable[[str], str]) -> str:
        """`text` with what `by` makes of it in the place of each mark."""
        parts: list[str] = []
        done = 0
        for start, end in self.found(text):
            parts += text[done:start], by(text[start:end])
            done = end
        return "".join(parts) + text[done:] if parts else text

    def _length_at(self, text: str, start: int) -> int:
        """Of the longest mark that begins there; 0 for none."""
        # At the end of the text a slice may be shorter than was asked for.
        candidates = (text[start : start + length] for length in self._lengths)
        return next((len(one) for one in candidates if one in self._texts), 0)
