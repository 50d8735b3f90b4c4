"""All that is wrong with a file of many lines, in a message that fits a screen."""

from collections.abc import Sequence
from pathlib import Path

from semif.errors import ProblemsError

MAX_TOLD = 6
"""Most kinds of problems that a message spells out: with its first line and two of advice it has ten."""
_MAX_LINES = 3
"""Most lines that are named for a kind of problem."""


class LinesError(ProblemsError):
    """What is wrong with the lines of a file.

    `problems` holds all of it, line by line. The message tells each kind of problem once, with the first
    lines that have it, and ends with `advice`: what such a file must look like. Lines are counted, or what
    else `each` says.
    """

    def __init__(
        self, source: Path, found: Sequence[tuple[int, str]], advice: Sequence[str], *, each: str = "line"
    ) -> None:
        super().__init__(source, (f"{each} {number}: {text}" for number, text in found))
        kinds: dict[str, list[int]] = {}
        for number, text in found:
            kinds.setdefault(text, []).append(number)
        told = [f"{_places(each, numbers)}: {text}" for text, numbers in kinds.items()]
        if rest := len(told) - MAX_TOLD:
            told[MAX_TOLD:] = [f"and {rest} other kinds of problems"] if rest > 0 else []
        first = f"{source}: {told[0]}" if len(told) == 1 else f"{source} has {len(found):,} problems:"
        self.args = ("\n  ".join((first, *(told if len(told) > 1 else ()), *advice)),)


def _places(each: str, numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{each} {numbers[0]}"
    first, rest = numbers[:_MAX_LINES], len(numbers) - _MAX_LINES
    return f"{each}s {', '.join(map(str, first))}{f' and {rest:,} more' if rest > 0 else ''}"
