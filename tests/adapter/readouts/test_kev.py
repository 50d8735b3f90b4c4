"""Kev's head: the numbers of llama.cpp's own server, and what that one has not (turns, caches, refusals)."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.models.tiny_heads import KEV_TEMPLATE, head_metadata
from bench.models.tiny_models import write_tiny_gguf
from semif.errors import SemifError
from semif.images.base_images import check_knows_head
from semif.models.gguf_file import check_gguf
from semif.models.gguf_header import NotAModelError
from semif_adapter.archive.manifest import MANIFEST_FILE, Member, ModelManifest, PromptSpec
from semif_adapter.contract.errors import PromptTooLongError, StartupError
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.decisions import DecisionForm
from semif_adapter.forms.systemone.form import SystemOneForm
from semif_adapter.llama.libllama import Library
from semif_adapter.prompt.flattened import flattened
from tests.adapter.readouts.comparing import (
    QUESTIONS,
    STATE,
    answers_of,
    body,
    in_one_piece,
    largest_difference,
    numbered,
    probabilities,
)
from tests.adapter.readouts.conftest import Ask
from tests.support.models.small_models import pin_of

LoadEngine = Callable[..., Engine]
APART = 2e-3
"""What computing the state in passes of its own moves with these random weights: llama.cpp attends with
another kernel where a pass is short."""


@pytest.fixture(scope="session")
def kev(kev_gguf: Path, load_engine: LoadEngine) -> Engine:
    return load_engine(kev_gguf, context_tokens=4096)


def test_a_prompt_in_one_piece_gets_the_references_numbers(
    kev_gguf: Path, library: Library, reference: Callable[[Path], Ask]
) -> None:
    """Where nothing is cached, as llama-server has it: what is read, and how, is the same."""
    request = body(QUESTIONS)

    with in_one_piece(library, kev_gguf) as ask:
        assert largest_difference(ask(request), reference(kev_gguf)(request)) < 1e-6


def test_a_state_computed_apart_moves_the_last_digits_alone(
    kev: Engine, kev_gguf: Path, reference: Callable[[Path], Ask]
) -> None:
    request = body(QUESTIONS | {f"{count}": numbered(count) for count in (2, 26, 255)})

    reply, results = answers_of(kev, request)

    expected = reference(kev_gguf)(request)
    for name, told in probabilities(expected).items():
        assert probabilities(reply)[name] == pytest.approx(told, abs=APART), name
    assert reply["usage"] == expected["usage"]
    assert {result.readout for result in results} == {"head"}
    assert {result.prompt_version for result in results} == {"kev-head-state-first-2"}
    assert {result.allowed_token_mass for result in results} == {None}


def test_an_answer_depends_on_nothing_but_its_question(kev: Engine) -> None:
    form = SystemOneForm.parse(body(QUESTIONS), Settings())
    together, shared = kev.score(form.questions, form.layout)

    alone = [kev.score([question], "schema-first")[0][0] for question in form.questions[::-1]][::-1]

    assert kev.info.invariant
    assert [result.option_logits for result in together] == [result.option_logits for result in alone]
    assert shared.prefix_tokens > len(flattened(STATE))
    assert all(result.cached_tokens >= shared.prefix_tokens for result in alone)


def test_batched_answers_are_the_same_but_for_the_last_digits(
    kev_gguf: Path, load_engine: LoadEngine
) -> None:
    batched = load_engine(kev_gguf, context_tokens=4096, mode="batched")
    alone = load_engine(kev_gguf, context_tokens=4096)
    request = body(QUESTIONS | {"many": numbered(255)})

    told, expected = (probabilities(answers_of(engine, request)[0]) for engine in (batched, alone))

    for name, each in expected.items():
        assert told[name] == pytest.approx(each, abs=APART), name


def test_a_decision_is_a_choice_to_it(kev: Engine) -> None:
    options = [{"id": "a", "description": "money"}, {"id": "b"}, {"id": "c"}]
    decision = {"id": "d", "state": STATE, "question": "Which?", "options": options}
    criteria = {option["id"]: option.get("description") for option in options}
    question = {"type": "choice", "instructions": "Which?", "criteria": criteria}

    plain = DecisionForm.parse({"decision": decision}, Settings())
    rotated = DecisionForm.parse(
        {"decision": decision, "parameters": {"order_debiasing": "rotate"}}, Settings()
    )
    [[result], [turned]] = [kev.score(form.questions, form.layout)[0] for form in (plain, rotated)]

    [(_, expected)] = probabilities(answers_of(kev, body({"d": question}))[0]).items()
    assert dict(zip(result.option_ids, result.probabilities, strict=True)) == expected
    assert (turned.timing.rotations, sum(turned.probabilities)) == (3, pytest.approx(1))
    assert turned.probabilities != result.probabilities


@pytest.mark.parametrize("mark", ["<|box_end|>", "<|fim_suffix|>", "<|never_heard_of|>", "<s>"])
def test_marks_in_a_callers_words_are_words(
    kev: Engine, kev_gguf: Path, reference: Callable[[Path], Ask], mark: str
) -> None:
    """The reference leaves alone what is not `<|name|>`; here that is taken for a mark, too."""
    request = body(
        {
            "a": {
                "type": "choice",
                "instructions": f"{mark}?",
                "criteria": {f"x{mark}": mark, "y": {mark: [mark]}},
            }
        },
        {f"k{mark}": mark},
    )

    reply, _ = answers_of(kev, request)

    assert set(reply["answers"]["a"]["probabilities"]) == {f"x{mark}", "y"}
    if mark.startswith("<|"):
        told = probabilities(reference(kev_gguf)(request))["a"]
        assert probabilities(reply)["a"] == pytest.approx(told, abs=APART)


def test_too_long_a_state_is_refused_with_its_count(kev: Engine) -> None:
    [question] = SystemOneForm.parse(body({"a": numbered(2)}, "x" * 5000), Settings()).questions
    with pytest.raises(PromptTooLongError, match=r"has at least 5\d\d\d tokens, allowed are 4096"):
        kev.prepare([question], "state-first")


@pytest.mark.parametrize("readout", ["letters", "text"])
def test_a_readout_that_is_not_the_models_stops_the_start(
    kev_gguf: Path, tiny_gguf: Callable[..., Path], load_engine: LoadEngine, readout: str
) -> None:
    with pytest.raises(StartupError, match=r"SEMIF_READOUT=.*decision head \(kev\); allowed: head"):
        load_engine(kev_gguf, readout=readout)
    with pytest.raises(StartupError, match="has no decision head; allowed: letters and text"):
        load_engine(tiny_gguf(), readout="head")


def test_a_preset_that_says_something_else_packs_nothing_and_starts_nothing(
    kev_gguf: Path, tiny_gguf: Callable[..., Path], library_dir: Path, tmp_path: Path
) -> None:
    letters, kev, lev = (
        PromptSpec(readout="letters"),
        PromptSpec(readout="head", head="kev"),
        PromptSpec(readout="head", head="lev"),
    )
    check_gguf(kev_gguf, kev)
    check_gguf(tiny_gguf(), letters)
    for path, prompt in ((kev_gguf, letters), (kev_gguf, lev), (tiny_gguf(), kev)):
        with pytest.raises(NotAModelError, match=r"cannot be asked as its preset says: .*; (write|remove)"):
            check_gguf(path, prompt)
    copy = tmp_path / "m.gguf"
    copy.write_bytes(kev_gguf.read_bytes())
    pin = pin_of(copy)
    member = Member(file="m.gguf", role="gguf", bytes=pin.bytes, sha256=pin.sha256)
    manifest = ModelManifest(
        preset="k", source="file:m", revision=None, quantization="F32", prompt=letters, members=(member,)
    )
    (tmp_path / MANIFEST_FILE).write_bytes(manifest.canonical_bytes())
    with pytest.raises(
        StartupError, match=r"as its manifest says: .* write readout = 'head' and head = 'kev'"
    ):
        Engine.load(Settings(model_dir=tmp_path, library_dir=library_dir, threads=1))


@pytest.mark.parametrize(
    ("build", "has_heads"),
    [
        (None, False), ("b10964", False), ("v0.4.1", False), ("v0.5.9", False),
        ("b11361", True), ("v0.6.0", True), ("v0.6", True), ("v1.0", True),
    ],
)  # fmt: skip
def test_a_container_that_is_too_old_for_the_head_is_told_before_it_is_paid_for(
    tmp_path: Path, build: str | None, has_heads: bool
) -> None:
    path = tmp_path / "dlc.toml"
    entry = f'repository = "r.example/l"\ntag = "t"\ndigest = "sha256:{"0" * 64}"\n'
    entry += f'llama_cpp_build = "{build}"\n' if build else ""
    path.write_text("".join(f"[{name}]\n{entry}" for name in ("cpu", "cuda", "decider", "graviton")))

    check_knows_head("cpu", "lev", path)  # needs nothing of the library
    if has_heads:
        check_knows_head("cpu", "kev", path)
    else:
        told = r"v0\.6\.0 \(b11361\) or newer; run `semif image pin arm64 --heads`"
        with pytest.raises(SemifError, match=told):
            check_knows_head("graviton", "kev", path)


def test_a_library_that_knows_no_head_is_named(tmp_path: Path, load_engine: LoadEngine) -> None:
    """Qwen 3 stands for an old library: it has no use for the head's tensors."""
    refused, ignored = tmp_path / "refused.gguf", tmp_path / "ignored.gguf"
    metadata = (*head_metadata("qwen3", "kev", KEV_TEMPLATE), ("qwen3.embedding_length_out", 32))
    write_tiny_gguf(refused, metadata=metadata, head={"cls.output.weight": np.zeros((32, 64), np.float32)})
    write_tiny_gguf(ignored, metadata=metadata[:-1])

    for path in (refused, ignored):
        with pytest.raises(
            StartupError, match=r"type 'kev': llama\.cpp v0\.6\.0 \(b11361\) or newer"
        ) as raised:
            load_engine(path)
        assert "\n" not in str(raised.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_any_json_becomes_lines_that_name_all_its_keys(content: object) -> None:
    text = flattened(content)  # type: ignore[arg-type]  # hypothesis' type is any

    def keys(value: object) -> list[str]:
        match value:
            case dict():
                return [key for name, inner in value.items() for key in (name, *keys(inner))]
            case list():
                return [key for inner in value for key in keys(inner)]
            case _:
                return []

    # White space that begins an item of a list is taken away, as in training, and a key may be nothing else.
    assert all(key.lstrip(" \t\n\r") + ":" in text for key in keys(content))
