"""All that is wrong with a file of many lines, in a message that fits a screen."""

import re
from collections.abc import Sequence
from pathlib import Path

from semif.errors import ProblemsError

MAX_TOLD = 6
"""Most kinds of problems that a message spells out: with its first line and two of advice it has ten."""
_MAX_LINES = 3
"""Most lines that are named for a kind of problem."""
_NUMBER = re.compile(r"[0-9]+")


class LinesError(ProblemsError):
    """What is wrong with the lines of a file.

    `problems` holds all of it, line by line. The message tells each kind of problem once, with the first
    lines that have it, and ends with `advice`: what such a file must look like. Problems that differ in their
    numbers alone are of one kind. Lines are counted, or what else `each` says.
    """

    def __init__(
        self, source: Path, found: Sequence[tuple[int, str]], advice: Sequence[str], *, each: str = "line"
    ) -> None:
        super().__init__(source, (f"{each} {number}: {text}" for number, text in found))
        kinds: dict[str, list[tuple[int, str]]] = {}
        for number, text in found:
            kinds.setdefault(_NUMBER.sub("0", text), []).append((number, text))
        told = [_told(each, kind) for kind in kinds.values()]
        if rest := len(told) - MAX_TOLD:
            told[MAX_TOLD:] = [f"and {rest} other kinds of problems"] if rest > 0 else []
        first = f"{source}: {told[0]}" if len(told) == 1 else f"{source} has {len(found):,} problems:"
        self.args = ("\n  ".join((first, *(told if len(told) > 1 else ()), *advice)),)


def _told(each: str, found: Sequence[tuple[int, str]]) -> str:
    """One kind of problem: in its first line's words, which may not be to the letter those of the others."""
    numbers, text = [number for number, _ in found], found[0][1]
    if all(other == text for _, other in found):
        return f"{_places(each, numbers)}: {text}"
    return f"{each} {numbers[0]}: {text}; the like in {_places(each, numbers[1:])}"


def _places(each: str, numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{each} {numbers[0]}"
    first, rest = numbers[:_MAX_LINES], len(numbers) - _MAX_LINES
    return f"{each}s {', '.join(map(str, first))}{f' and {rest:,} more' if rest > 0 else ''}"
