"""Heads that are read by labels: llama-server's numbers, on tiny models and on the embedded one."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.models.tiny_heads import LABEL_TEMPLATES, label_metadata
from semif_adapter.contract.errors import InvalidRequestError, PromptTooLongError, StartupError
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.systemone.form import SystemOneForm
from semif_adapter.llama.libllama import Library
from semif_adapter.prompt.harmless import Harmless
from tests.adapter.readouts.comparing import (
    QUESTIONS,
    Whole,
    answers_of,
    body,
    in_one_piece,
    largest_difference,
    numbered,
    probabilities,
)
from tests.adapter.readouts.conftest import Ask

LoadEngine = Callable[..., Engine]
APART = 1e-2
"""What cutting the prompts moves with these random weights, as in test_kev.py."""
KINDS = sorted(LABEL_TEMPLATES)
MOST = {"openjev": 52}
"""Labels of one token in the tiny vocabulary; the others have the capitals."""


@pytest.fixture(scope="session")
def marked(tiny_gguf: Callable[..., Path]) -> Callable[[str], Path]:
    """A tiny model marked as a kind of head."""
    return lambda kind: tiny_gguf(architecture="qwen35", metadata=label_metadata("qwen35", kind))


@pytest.fixture(scope="module", params=KINDS)
def whole(
    request: pytest.FixtureRequest, marked: Callable[[str], Path], library: Library
) -> Iterator[tuple[str, Whole]]:
    """A kind, and its tiny model asked with prompts that are not cut."""
    with in_one_piece(library, marked(request.param)) as ask:
        yield request.param, ask


def test_prompts_in_one_piece_get_the_references_numbers(
    marked: Callable[[str], Path], reference: Callable[[Path], Ask], whole: tuple[str, Whole]
) -> None:
    kind, ask = whole
    many = {str(count): numbered(count) for count in (2, 3, 6, 11, MOST.get(kind, 26))}
    request = body(QUESTIONS | many)

    assert largest_difference(ask(request), reference(marked(kind))(request)) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_computed_apart_moves_the_last_digits_alone(
    marked: Callable[[str], Path], load_engine: LoadEngine, reference: Callable[[Path], Ask], kind: str
) -> None:
    engine = load_engine(marked(kind), context_tokens=4096)

    reply, [result, *_] = answers_of(engine, body(QUESTIONS))

    expected = reference(marked(kind))(body(QUESTIONS))
    assert largest_difference(probabilities(reply), expected) < APART
    assert reply["usage"] == expected["usage"]
    assert reply["answers"]["plain"]["x_readout"] == "head"
    assert result.prompt_version == f"{kind}-head-state-first-2"
    assert result.allowed_token_mass is not None
    assert 0 < result.allowed_token_mass < 1
    assert result.timing.rotations == (2 if kind == "lev" else 1)
    assert engine.info.invariant


@pytest.mark.parametrize("kind", KINDS)
def test_only_nimbles_answers_depend_on_their_neighbours(
    marked: Callable[[str], Path], load_engine: LoadEngine, kind: str
) -> None:
    engine = load_engine(marked(kind), context_tokens=4096)
    form = SystemOneForm.parse(body(QUESTIONS), Settings())
    together, shared = engine.score(form.questions, form.layout)
    alone = [engine.score([question], form.layout)[0][0] for question in form.questions]

    same = [one.option_logits == other.option_logits for one, other in zip(together, alone, strict=True)]
    assert all(same) is (kind != "nimble")
    assert shared.prefix_tokens > 50
    again, _ = engine.score(form.questions, form.layout)
    assert [result.option_logits for result in again] == [result.option_logits for result in together]


@pytest.mark.parametrize("kind", KINDS)
def test_only_nimble_is_shown_the_names_of_questions(
    marked: Callable[[str], Path], load_engine: LoadEngine, kind: str
) -> None:
    engine = load_engine(marked(kind), context_tokens=4096)

    def prompts(name: str) -> list[str]:
        form = SystemOneForm.parse(body({name: numbered(2)}), Settings())
        [[written]] = engine.prepare(form.questions, form.layout).groups
        return [prompt.text for prompt in written.prompts]

    assert (prompts("one") == prompts("two")) is (kind != "nimble")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("zab é\n"), inner, max_size=3)
    ),
    max_leaves=6,
).filter(lambda value: value is not None and value != "")
CONTENT = JSON.filter(lambda value: isinstance(value, str | list | dict) and bool(value))


@settings(max_examples=10)
@given(state=CONTENT.filter(lambda value: len(value) > 0), instructions=CONTENT, level=CONTENT)
def test_any_json_gets_the_references_numbers(
    marked: Callable[[str], Path],
    reference: Callable[[Path], Ask],
    whole: tuple[str, Whole],
    state: Any,
    instructions: Any,
    level: Any,
) -> None:
    kind, ask = whole
    request = body({"a": {"type": "score", "instructions": instructions, "criteria": ["low", level]}}, state)

    assert largest_difference(ask(request), reference(marked(kind))(request)) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", ["ab", "ba", "b"])
def test_more_options_than_labels_are_refused(
    marked: Callable[[str], Path], load_engine: LoadEngine, kind: str, names: str
) -> None:
    """Whichever question has them: where a prompt lists the others too, it is not the one being written."""
    most = MOST.get(kind, 26)
    counts = {"a": 2, "b": most + 1}
    engine = load_engine(marked(kind), context_tokens=4096)
    with pytest.raises(
        InvalidRequestError, match=f"has {most + 1} options, this model can tell {most} apart"
    ) as raised:
        answers_of(engine, body({name: numbered(counts[name]) for name in names}))
    assert raised.value.path == f"questions.#{names.index('b')}"


@pytest.mark.parametrize("mark", ["<|im_end|>", "</think>", "<s>"])
def test_no_words_of_a_caller_end_his_turn(
    marked: Callable[[str], Path], load_engine: LoadEngine, mark: str
) -> None:
    """llama-server would let them: a state then speaks as the assistant."""
    engine = load_engine(marked("pplx-decider"), context_tokens=4096)
    question = {"type": "choice", "instructions": mark, "criteria": {mark: mark, "b": {mark: mark}}}
    [written] = SystemOneForm.parse(body({mark: question}, {mark: mark}), Settings()).questions
    [[asked]] = engine.prepare([written], "state-first").groups
    [plain] = SystemOneForm.parse(body({"a": numbered(2)}, "s"), Settings()).questions
    [[other]] = engine.prepare([plain], "state-first").groups

    assert asked.prompts[0].text.count(mark) == other.prompts[0].text.count(mark)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ state }}{% for %}", "[Ee]xpected"),
        ("{{ state }}{{ raise_exception('no') }}", "no"),
    ],
)
def test_a_template_that_cannot_be_rendered_stops_the_start(
    tiny_gguf: Callable[..., Path], load_engine: LoadEngine, template: str, reason: str
) -> None:
    metadata = (("qwen3.decision.type", "lev"), ("tokenizer.chat_template.systemone", template))
    with pytest.raises(
        StartupError, match=f"template 'systemone' cannot be used: .*{reason}" if "end" in reason else reason
    ):
        load_engine(tiny_gguf(metadata=metadata))


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_is_none_stops_the_start(
    tiny_gguf: Callable[..., Path], load_engine: LoadEngine, value: float
) -> None:
    metadata = (*label_metadata("qwen3", "lev"), ("qwen3.decision.temperature.noul", value))
    with pytest.raises(StartupError, match=r"qwen3\.decision\.temperature\.noul is .*, allowed are finite"):
        load_engine(tiny_gguf(metadata=metadata))


@pytest.mark.parametrize("kind", KINDS)
def test_the_embedded_model_marked_as_a_head_gets_the_references_numbers(
    short_gguf: Path, library: Library, reference: Callable[[Path], Ask], tmp_path: Path, kind: str
) -> None:
    """Real tokens: words that merge over the edges of the template's, and labels of two letters.

    Its first layers alone. The template begins with the question's id, so that llama-server finds nothing of
    one prompt in the next.
    """
    path = tmp_path / f"{kind}.gguf"
    mark(short_gguf, path, kind)
    # Not lev's choices: llama-server goes on from the first order's state, which these weights feel.
    names = ("sides", "score") if kind == "lev" else ("described", "sides")
    questions = {name: QUESTIONS[name] for name in names}
    if kind == "pplx-decider":
        questions["pairs"] = numbered(30)
    request = body(questions)
    with in_one_piece(library, path, 1024) as ask:
        told = ask(request)

    assert largest_difference(told, reference(path)(request)) < 1e-6


def mark(source: Path, target: Path, kind: str) -> None:
    """Write `source` again as a head of this kind: keys put in before its own.

    They are as long as keep the tensors' alignment, 32 bytes: nothing behind them has to be read.
    """
    added = [
        _pair(key, "{{ id }}\n" + str(value) if key.endswith(".systemone") else value)
        for key, value in label_metadata("llama", kind)
    ]
    added.append(_pair("padding", ""))
    added[-1] = _pair("padding", " " * (-sum(map(len, added)) % 32))
    data = source.read_bytes()
    magic, version, tensors, keys = struct.unpack_from("<4sIQQ", data)
    header = struct.pack("<4sIQQ", magic, version, tensors, keys + len(added))
    target.write_bytes(header + b"".join(added) + data[len(header) :])


def _pair(key: str, value: object) -> bytes:
    """A key and its value, as GGUF has them: a string, or a number as float32."""
    name = struct.pack("<Q", len(key)) + key.encode()
    if isinstance(value, str):
        return name + struct.pack("<IQ", 8, len(value.encode())) + value.encode()
    assert isinstance(value, float)
    return name + struct.pack("<If", 6, value)


@pytest.mark.parametrize("place", ["state", "instructions", "key", "description", "name"])
@pytest.mark.parametrize("kind", KINDS)
def test_words_that_are_surely_too_long_are_refused_before_anything_is_done_with_them(
    marked: Callable[[str], Path],
    load_engine: LoadEngine,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    place: str,
) -> None:
    """To look for marks in megabytes, and to show them in a prompt for each question, stops a checker."""
    endless = {place: "<" * 1_000_000}
    asked = {
        "type": "choice",
        "instructions": endless.get("instructions", "?"),
        "criteria": {endless.get("key", "x"): endless.get("description"), "y": None},
    }
    request = body({"short": numbered(2), endless.get("name", "a"): asked}, endless.get("state", "s"))
    form = SystemOneForm.parse(request, Settings())
    engine = load_engine(marked(kind), context_tokens=512)
    monkeypatch.setattr(Harmless, "text", None)

    with pytest.raises(PromptTooLongError, match=r"at least \d+ tokens, allowed are 512"):
        engine.prepare(form.questions, form.layout)
