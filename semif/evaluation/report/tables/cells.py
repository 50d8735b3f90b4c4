"""What stands in the cells of reports: figures and foreign text, written the same way everywhere."""

from semif.errors import printable
from semif.evaluation.figures.measures import Share

MAX_TEXT = 200
"""Longest foreign text that is shown, in characters: an image's or a model's whole pin is shorter."""
NONE = "-"
"""For a figure that there is none of."""


class ForeignText(str):
    """What a task, a server or a file has named: printable, on one line, not longer than `MAX_TEXT`."""

    __slots__ = ()

    def __new__(cls, text: str) -> "ForeignText":
        """Anything that is not printable becomes a replacement character."""
        plain = printable(text)
        return super().__new__(cls, plain if len(plain) <= MAX_TEXT else f"{plain[: MAX_TEXT - 1]}…")


def foreign_text(text: str | None) -> str:
    """Foreign text, or the sign that there is none."""
    return ForeignText(text) if text else NONE


def percent(fraction: float | None) -> str:
    """0.475 as 47.5%."""
    return NONE if fraction is None else f"{fraction:.1%}"


def interval(share: Share) -> str:
    """The 95 % interval of a share: 38.7 to 56.4%."""
    return f"{100 * share.low:.1f} to {100 * share.high:.1f}%"


def part_of_whole(share: Share) -> str:
    """57 of 120."""
    return f"{share.part:,} of {share.whole:,}"


def duration(seconds: float | None) -> str:
    """A time with three figures that say something: 0.0475 as 47.5 ms, 4.75 as 4.750 s."""
    if seconds is None:
        return NONE
    return f"{seconds * 1000:.3g} ms" if seconds < 0.0995 else f"{seconds:.3f} s"


def three_decimals(number: float | None) -> str:
    """0.1234 as 0.123."""
    return NONE if number is None else f"{number:.3f}"


def whole_number(number: float | None) -> str:
    """47500 as 47,500."""
    return NONE if number is None else f"{number:,.0f}"
