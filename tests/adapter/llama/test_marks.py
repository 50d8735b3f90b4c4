"""Marks in a text are found as a regular expression of all of them would find them."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.llama.marks import Marks

PIECES = st.sampled_from(["<", "<a", "<ab", "<ab>", "b>", "]", "^", "-", "\\", "\n", "¦", "x", "\U0001f469"])
TEXTS = st.lists(PIECES, min_size=1, max_size=4).map("".join)


@given(marks=st.sets(TEXTS, max_size=8), text=st.lists(PIECES, max_size=40).map("".join))
def test_the_leftmost_longest_marks_are_found(marks: set[str], text: str) -> None:
    longest_first = sorted(marks, key=lambda mark: (-len(mark), mark))
    expression = re.compile("|".join(map(re.escape, longest_first)) if marks else r"(?!)")

    assert list(Marks(marks).found(text)) == [match.span() for match in expression.finditer(text)]
    replaced = Marks(marks).replaced(text, lambda mark: f"({len(mark)})")
    assert replaced == expression.sub(lambda match: f"({len(match[0])})", text)


def _partition(text: str, marks: set[str]) -> list[str]:
    """`text` cut as llama.cpp does it: mark by mark, the longest first, in what the ones before have left."""
    parts = [(text, False)]
    for mark in sorted(marks, key=lambda mark: (-len(mark), mark)):
        cut: list[tuple[str, bool]] = []
        for part, is_mark in parts:
            pieces = [part] if is_mark else part.split(mark)
            for index, piece in enumerate(pieces):
                cut += [(mark, True)] if index else []
                cut += [(piece, is_mark)] if piece else []
        parts = cut
    return [part for part, _ in parts]


@given(marks=st.sets(TEXTS, max_size=8), text=st.lists(PIECES, max_size=40).map("".join))
def test_where_a_text_may_be_cut_its_sides_stay_what_they_are(marks: set[str], text: str) -> None:
    for apart in (0, 3):
        cuts = [0, *Marks(marks).cuts(text, apart), len(text)]
        assert cuts == sorted(cuts)
        apart_from_each_other = [
            part for ends in pairwise(cuts) for part in _partition(text[slice(*ends)], marks)
        ]
        assert apart_from_each_other == _partition(text, marks)


def test_a_text_of_marks_alone_is_cut_often() -> None:
    cuts = list(Marks(["<a>", "<b>"]).cuts("<a>" * 1000, 100))
    assert len(cuts) >= 8
    assert all(after - before <= 110 * len("<a>") for before, after in pairwise(cuts))


@pytest.mark.parametrize("text", ["<", "<unused", "<unused1", "<unused5999>"])
def test_thousands_of_marks_take_no_longer_than_one(text: str) -> None:
    """With 6000 alternatives this text takes a minute, in which no other thread runs."""
    marks = Marks(f"<unused{number}>" for number in range(6000))

    assert sum(1 for _ in marks.found(text * 300_000)) == 300_000 * text.endswith(">")
