from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from semif_adapter.contract.errors import EngineError, StartupError
from semif_adapter.contract.probabilities import log_sum_exp, softmax
from semif_adapter.decoding.continuations import MOST_SHARED_TOKENS, count_decoded
from semif_adapter.llama.libllama import Library
from semif_adapter.llama.model import Model
from semif_adapter.prompt.chat_template import Template, chat_template, plain_template
from semif_adapter.prompt.labels import find_labels
from semif_adapter.readouts.letters import read_labels


def test_every_label_is_a_token_of_its_own_behind_the_prompt(library: Library, embedded_gguf: Path) -> None:
    with closing(Model(library, embedded_gguf, 0)) as model:
        for template in (chat_template(model, str(model.chat_template), "s"), plain_template("s")):
            labels = find_labels(model, template)

            assert len(labels) == 255
            assert "".join(label.text for label in labels[:26]) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
            assert len({label.text for label in labels}) == len({label.token for label in labels}) == 255
            tail = model.tokenize(template.tail, parse_special=True).tolist()
            for label in labels:
                answered = template.tail + template.answer_lead + label.text
                assert model.tokenize(answered, parse_special=True).tolist() == [*tail, label.token]


def test_a_small_vocabulary_gives_fewer_labels(library: Library, tiny_gguf: Callable[..., Path]) -> None:
    with closing(Model(library, tiny_gguf(), 0)) as model:
        labels = find_labels(model, Template("chat", "", "<|im_start|>assistant\n"))

        assert sorted(label.text for label in labels) == sorted({label.text for label in labels})
        assert len(labels) == 52


def test_a_letter_that_is_no_token_of_its_own_stops_the_start(
    library: Library, tiny_gguf: Callable[..., Path]
) -> None:
    """The byte vocabulary has no token for a space and a letter together."""
    with (
        closing(Model(library, tiny_gguf(), 0)) as model,
        pytest.raises(StartupError, match=r"the letter A: .*text"),
    ):
        find_labels(model, plain_template("s"))


def test_mass_counts_the_whole_vocabulary() -> None:
    row = np.array([1.0, 2.0, 3.0, 1000.0, -np.inf], np.float32)
    labels = np.array([3, 2], np.int32)

    logits, mass = read_labels(row, labels)

    np.testing.assert_array_equal(logits, [1000.0, 3.0])
    assert mass == pytest.approx(1.0)
    assert log_sum_exp(row) == pytest.approx(1000.0)
    with pytest.raises(EngineError, match="no probability on any option"):
        read_labels(row, np.array([0, 2], np.int32))


@pytest.mark.parametrize("row", [[np.nan, 1.0], [-np.inf, -np.inf], [np.inf, 1.0]])
def test_what_is_no_number_is_an_error(row: list[float]) -> None:
    with pytest.raises(EngineError, match="not finite numbers"):
        log_sum_exp(np.array(row, np.float32))
    with pytest.raises(EngineError, match="not finite numbers"):
        softmax(np.array(row))


def test_equal_logits_share_equally_and_sum_to_one() -> None:
    probabilities = softmax(np.full(3, -12.5))

    assert len(set(probabilities.tolist())) == 1
    assert abs(probabilities.sum() - 1) < 1e-6
    assert softmax(np.array([0.0, -np.inf])).tolist() == [1.0, 0.0]


def test_tokens_that_continuations_share_count_once() -> None:
    spoken = [[1, 2, 3, 9], [1, 2, 4, 9], [5], [1, 2, 3, 8], [1, 2, 3, 9]]
    continuations = [np.array(tokens, np.int32) for tokens in spoken]

    # Of 1 2 3, 1 2 3, 1 2 3, 1 2 4: the last token of a continuation is never decoded.
    assert count_decoded(continuations, can_cut=True) == 4
    assert count_decoded(continuations, can_cut=False) == 12
    long = [np.arange(100, dtype=np.int32), np.arange(100, dtype=np.int32)]
    assert count_decoded(long, can_cut=True) == 99 + 99 - MOST_SHARED_TOKENS
