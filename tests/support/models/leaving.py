"""Somebody who leaves in the middle of a forward pass."""

import ctypes
from collections.abc import Callable

import pytest

from semif_adapter.llama import context


def in_the_middle_of_a_pass(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What is put into this list is done once, after the first node of the next pass's graph."""
    leave: list[Callable[[], None]] = []

    @ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
    def is_not_empty(flag: int) -> bool:
        """llama.cpp asks after each node of the graph."""
        if leave:
            leave.pop()()
        return bool(ctypes.string_at(flag))

    # The cast keeps the function alive as long as the patch.
    monkeypatch.setattr(context, "_IS_NOT_EMPTY", ctypes.cast(is_not_empty, ctypes.c_void_p))
    return leave
