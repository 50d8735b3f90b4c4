"""How segments are cut into forward passes."""

from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.decoding.steps import cuts
from semif_adapter.llama.context import BATCH_TOKENS, SHORT_TOKENS


@given(count=st.integers(0, 4 * BATCH_TOKENS))
def test_a_pass_of_a_longer_segment_is_never_short(count: int) -> None:
    parts = cuts(count, BATCH_TOKENS)

    assert [place for start, end in parts for place in range(start, end)] == list(range(count))
    assert all(start % BATCH_TOKENS == 0 for start, _ in parts)
    assert all(0 < end - start < BATCH_TOKENS + SHORT_TOKENS for start, end in parts)
    assert len(parts) < 2 or all(end - start >= SHORT_TOKENS for start, end in parts)
