"""What would end the process at the first text, or at the load, ends the start with a line."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from bench.models.random_gguf import byte_vocabulary
from bench.models.tiny_models import VOCABULARIES, write_tiny_gguf
from semif.models.gguf_file import check_gguf
from semif.models.gguf_header import NotAModelError
from semif_adapter.contract.errors import StartupError
from semif_adapter.engine.engine import Engine
from semif_adapter.engine.rehearsal import rehearse, texts

Tiny = Callable[..., Path]
SYSTEMONE = ("tokenizer.chat_template.systemone", "{{ state }}{{ instructions }}" + " " * 300)


def decision_type(name: str) -> tuple[tuple[str, object], ...]:
    """The metadata of a decision head."""
    return (("qwen3.decision.type", name), SYSTEMONE)


def test_texts_hold_every_byte_of_utf8() -> None:
    seen = {byte for _, text in texts() for byte in text.encode()}

    assert seen == {*range(0x80), *range(0x80, 0xC0), *range(0xC2, 0xF5)}


def test_the_child_processes_of_a_start_do_without_pydantic() -> None:
    """It would be half of their time, and they answer nobody."""
    looks = (
        "import sys, semif_adapter.engine.rehearsal, semif_adapter.prompt.rendering\n"
        "sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", looks], check=False).returncode == 0


@pytest.mark.parametrize("vocabulary", ["bytes", "sentencepiece"])
def test_a_sound_model_passes(library_dir: Path, tiny_gguf: Tiny, vocabulary: str) -> None:
    rehearse(library_dir, tiny_gguf(vocabulary=vocabulary), 0)


def test_a_vocabulary_that_lacks_characters_stops_the_start(
    load_engine: Callable[..., Engine], tiny_gguf: Tiny
) -> None:
    path = tiny_gguf(vocabulary="sentencepiece-without-bytes")

    with pytest.raises(
        StartupError, match=r"does not survive tiny.*told to tokenise .* SIGABRT \(.+\)"
    ) as raised:
        load_engine(path, readout="text")

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (("qwen3.block_count", 0), r"told to load .* SIGABRT \(.*n_layer"),
        (("qwen3.rope.dimension_count", 64), "rope.dimension_count is 64"),
        (("qwen3.attention.layer_norm_rms_epsilon", float("nan")), "does not survive|epsilon is nan"),
        (("qwen3.attention.causal", False), "is an encoder"),
        (("qwen3.pooling_type", 3), "is an embedding model"),
    ],
)
def test_a_file_that_aborts_the_library_or_answers_nonsense_stops_the_start(
    load_engine: Callable[..., Engine], tiny_gguf: Tiny, metadata: tuple[str, object], reason: str
) -> None:
    with pytest.raises(StartupError, match=reason) as raised:
        load_engine(tiny_gguf(metadata=(metadata,)))

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (decision_type("clef"), r"decision\.type is 'clef', served here are .*; llama-server serves it"),
        (decision_type("strands"), "Strands Decider's own container serves it"),
        (decision_type("d9"), "'d9', .* is told where it was published"),
        ((SYSTEMONE,), r"a chat template named systemone and no qwen3\.decision\.type"),
        (
            (("qwen3.decision.temperature.choice.3_5", 2.0),),
            r"has qwen3\.decision\.temperature\.choice\.3_5 and no qwen3\.decision\.type",
        ),
    ],
)
def test_a_head_that_cannot_be_asked_stops_the_start_and_the_packing(
    load_engine: Callable[..., Engine],
    tiny_gguf: Tiny,
    metadata: tuple[tuple[str, object], ...],
    reason: str,
) -> None:
    path = tiny_gguf(metadata=metadata)
    for refuse, error in ((load_engine, StartupError), (check_gguf, NotAModelError)):
        with pytest.raises(error, match=reason) as raised:
            refuse(path)
        assert "\n" not in str(raised.value)


def test_a_token_listed_twice_stops_the_start(
    load_engine: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As some published files have it; the library asserts that there is none."""
    sound = byte_vocabulary()
    twice = replace(sound, tokens=[sound.tokens[1], *sound.tokens[1:]])
    monkeypatch.setitem(VOCABULARIES, "twice", lambda: twice)
    path = tmp_path / "twice.gguf"
    write_tiny_gguf(path, vocabulary="twice")

    with pytest.raises(StartupError, match=r"does not survive twice\.gguf: told to load .*GGML_ASSERT"):
        load_engine(path)


def test_a_model_whose_logits_are_all_the_same_does_not_start(
    load_engine: Callable[..., Engine], tiny_gguf: Tiny, tmp_path: Path
) -> None:
    path = tmp_path / "even.gguf"
    path.write_bytes(tiny_gguf().read_bytes())
    for tensor in gguf.GGUFReader(path, "r+").tensors:
        if tensor.name == "output.weight":
            tensor.data[:] = np.zeros_like(tensor.data)
    with pytest.raises(StartupError, match="the same logit for every option"):
        load_engine(path)
