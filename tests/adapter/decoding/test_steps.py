"""How segments are cut into forward passes."""

from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.decoding.steps import cuts
from semif_adapter.llama.context import BATCH_TOKENS, LEAST_JOINED, SHORT_TOKENS


@given(count=st.integers(0, 4 * BATCH_TOKENS))
def test_a_rest_goes_with_the_pass_before_it_where_that_pays(count: int) -> None:
    parts = cuts(count, BATCH_TOKENS)

    assert [place for start, end in parts for place in range(start, end)] == list(range(count))
    assert all(start % BATCH_TOKENS == 0 for start, _ in parts)
    assert all(0 < end - start < BATCH_TOKENS + SHORT_TOKENS for start, end in parts)
    rest = count % BATCH_TOKENS
    joined = count > BATCH_TOKENS and LEAST_JOINED <= rest < SHORT_TOKENS
    assert [end for _, end in parts[-1:]] == ([count] if count else [])
    assert len(parts) == -(-count // BATCH_TOKENS) - joined
