"""No text is refused that could fit, and those that cannot are refused before they are tokenised."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.contract.errors import PromptTooLongError
from semif_adapter.llama import model as models
from semif_adapter.llama.libllama import Library
from semif_adapter.llama.model import Model
from semif_adapter.prompt.text_length import TextLength

PIECES = st.sampled_from(
    [
        "a",
        "the ",
        "lamp",
        " ",
        "    ",
        "\n",
        "\n\n",
        "-" * 40,
        "=",
        "7",
        "é",
        "漢字",
        "\U0001f469",
        "▁",
        "<think>",
    ]
) | st.characters(exclude_categories=["Cs"])
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from([1, 2, 9, 200]))).map(
    lambda parts: "".join(piece * times for piece, times in parts)
)


@pytest.fixture(scope="module", params=["tiny", "embedded"])
def model(
    library: Library, tiny_gguf: Callable[..., Path], embedded_gguf: Path, request: pytest.FixtureRequest
) -> Iterator[Model]:
    with closing(Model(library, tiny_gguf() if request.param == "tiny" else embedded_gguf, 0)) as model:
        yield model


@pytest.fixture(scope="module")
def endless(model: Model) -> TextLength:
    return TextLength(model, 10**9)


@given(text=TEXTS)
def test_a_text_that_fits_is_never_refused(model: Model, endless: TextLength, text: str) -> None:
    assert endless.least_tokens(text) <= len(model.tokenize(text, parse_special=False))


def test_long_words_are_refused_though_each_of_their_tokens_could_be_longer(model: Model) -> None:
    """By the longest token alone (that of many spaces, say) they could fit."""
    length = TextLength(model, 26_000)
    for text in (
        "a" * 4_000_000,
        "lamp" * 1_000_000,
        "漢" * 1_000_000,
        "e\u0301" * 1_000_000,
        "9" * 4_000_000,
    ):
        with pytest.raises(PromptTooLongError, match="a text has at least"):
            length.refuse_endless(text, "state")


@given(text=TEXTS)
def test_cutting_a_text_at_marks_changes_no_token(model: Model, text: str) -> None:
    """Every text is cut where it is longer than a few marks, and none where many are taken at once."""
    for parse_special in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(models, "MARKS_AT_ONCE", 1)
            in_parts = model.tokenize(text, parse_special=parse_special)
            patch.setattr(models, "MARKS_AT_ONCE", 1_000_000)
            whole = model.tokenize(text, parse_special=parse_special)
        assert np.array_equal(in_parts, whole)
