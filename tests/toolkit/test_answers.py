"""Bars: full at one, empty at nothing, and monotone between."""

from hypothesis import given
from hypothesis import strategies as st

from semif.cli.answers import BAR_CELLS, bar

shares = st.floats(0, 1)


@given(shares, shares)
def test_a_greater_share_is_never_a_shorter_bar(one: float, other: float) -> None:
    lesser, greater = sorted((one, other))
    assert bar(lesser).count("█") <= bar(greater).count("█")


def test_the_ends_and_the_middle() -> None:
    assert bar(1) == "█" * BAR_CELLS
    assert bar(0) == "·" * BAR_CELLS
    assert bar(0.5, blocks=False) == "#" * (BAR_CELLS // 2) + "." * (BAR_CELLS // 2)
