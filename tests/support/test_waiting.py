"""Waiting: for as long as it takes, not for ever, and telling what was seen last."""

import pytest

from tests.support.machine.waiting import eventually


def test_it_returns_what_it_waited_for() -> None:
    seen = iter([1, 2, 3, 4])
    assert eventually(lambda: next(seen), lambda number: number > 2) == 3


def test_it_gives_up_with_what_it_saw_last() -> None:
    with pytest.raises(AssertionError, match=r"not within 0\.01 seconds; last seen: 'loading'"):
        eventually(lambda: "loading", lambda status: status == "ready", seconds=0.01)
