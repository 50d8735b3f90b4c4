"""What each mode keeps in memory: the decoders, the check at start and the toolkit's estimate ask here."""

from typing import NamedTuple

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Mode
from semif_adapter.machine.memory import MAX_STATE_BYTES

BATCHED_SEQUENCES = 64
"""Prefixes, prompts and continuations at once; a hybrid model keeps a recurrent state for each."""
JOINED_BRANCHES = 16
"""Prompts, and continuations of prompts, at once; likewise."""
JOINED_ROOM_TOKENS = 1280
"""What the context holds beside the longest prompt: a portion of prompts and a pass of continuations."""


class ContextSize(NamedTuple):
    """What a context has room for."""

    tokens: int
    sequences: int


def chosen_mode(settings: Settings, *, on_gpu: bool) -> Mode:
    """The mode that the settings come to."""
    if settings.mode != "auto":
        return settings.mode
    return "batched" if on_gpu else "invariant"


def context_size(mode: Mode, *, streams: int, context_tokens: int) -> ContextSize:
    """The context of a mode."""
    if mode == "joined":
        return ContextSize(context_tokens + JOINED_ROOM_TOKENS, 1 + JOINED_BRANCHES)
    return ContextSize(streams * context_tokens, BATCHED_SEQUENCES if mode == "batched" else streams)


def saved_bytes(mode: Mode, longest: int, *, streams: int, can_cut: bool) -> int:
    """Most memory of the states saved beside the context; that of the longest prompt has `longest` bytes.

    In joined mode one is saved while another, which is then put back, is still there (`sole_prefix.py`). In
    invariant mode a model that cannot cut a tail goes back to nothing but saved states: as much for them as
    for its streams.
    """
    if mode == "batched":
        return 0
    least = 2 if mode == "joined" else 0 if can_cut else streams
    return max(MAX_STATE_BYTES, least * longest)
