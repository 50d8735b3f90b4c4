"""Marks in a text are found as a regular expression of all of them would find them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.prompt.marks import Marks

PIECES = st.sampled_from(["<", "<a", "<ab", "<ab>", "b>", "]", "^", "-", "\\", "\n", "¦", "x", "\U0001f469"])
TEXTS = st.lists(PIECES, min_size=1, max_size=4).map("".join)


@given(marks=st.sets(TEXTS, max_size=8), text=st.lists(PIECES, max_size=40).map("".join))
def test_the_leftmost_longest_marks_are_found(marks: set[str], text: str) -> None:
    longest_first = sorted(marks, key=lambda mark: (-len(mark), mark))
    expression = re.compile("|".join(map(re.escape, longest_first)) if marks else r"(?!)")

    assert list(Marks(marks).found(text)) == [match.span() for match in expression.finditer(text)]
    replaced = Marks(marks).replaced(text, lambda mark: f"({len(mark)})")
    assert replaced == expression.sub(lambda match: f"({len(match[0])})", text)


@pytest.mark.parametrize("text", ["<", "<unused", "<unused1", "<unused5999>"])
def test_thousands_of_marks_take_no_longer_than_one(text: str) -> None:
    """With 6000 alternatives this text takes a minute, in which no other thread runs."""
    marks = Marks(f"<unused{number}>" for number in range(6000))

    assert sum(1 for _ in marks.found(text * 300_000)) == 300_000 * text.endswith(">")
