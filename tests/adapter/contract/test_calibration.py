"""Calibrated probabilities, and calibrations that do not fit what is served."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.archive.calibration import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    Figures,
    load_calibration,
    parse_calibration,
)
from semif_adapter.archive.manifest import MANIFEST_FILE, Member, ModelManifest, PromptSpec
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.probabilities import softmax
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import SharedTiming
from semif_adapter.engine.engine import Engine
from semif_adapter.engine.model_files import find_model
from semif_adapter.forms.confidence import peak
from semif_adapter.forms.systemone.answers import to_response
from semif_adapter.forms.systemone.questions import to_questions
from semif_adapter.forms.systemone.types import ChoiceAnswer, NoulAnswer, ScoreAnswer, SystemOneInvocation
from tests.support.runs.calibrations import TEMPERATURE, calibration, write_calibration

STATE = "The kettle arrived with a dent."
ASKED = Question(
    "team",
    STATE,
    "Which team?",
    tuple(OptionText(name, name, name) for name in ("sales", "returns", "billing")),
    "decision",
)
QUESTIONS = SystemOneInvocation.model_validate_json(
    json.dumps(
        {
            "state": STATE,
            "questions": {
                "urgent": {"type": "noul"},
                "team": {"type": "choice", "criteria": {"sales": "buying", "returns": "sending back"}},
                "anger": {"type": "score", "criteria": ["calm", "annoyed", "furious"]},
            },
        }
    )
)
OVER_KINDS = {"noul": 3.0, "score": 0.5}
TIMING = SharedTiming(
    batch_size=3, prefix_tokens=1, prefill_seconds=0, suffix_forward_seconds=0, total_seconds=0
)


@pytest.fixture
def gguf(tiny_gguf: Callable[..., Path]) -> Path:
    return tiny_gguf()


@pytest.fixture
def sha256(gguf: Path) -> str:
    return find_model(Settings(gguf=gguf)).sha256


@pytest.mark.parametrize("readout", ["letters", "text"])
@pytest.mark.parametrize("mode", ["invariant", "joined", "batched"])
def test_the_temperature_divides_the_logits_and_nothing_else_changes(
    gguf: Path, sha256: str, load_engine: Any, tmp_path: Path, readout: Any, mode: str
) -> None:
    content = calibration(sha256, readout, layouts=("schema-first",))
    file = write_calibration(tmp_path / "c.json", content)
    load = partial(load_engine, gguf, readout=readout, mode=mode, streams=2)
    [plain], _ = load().score([ASKED], "schema-first")
    engine = load(calibration=file)

    [result], _ = engine.score([ASKED], "schema-first")

    assert plain.calibration is None
    assert result.option_logits == plain.option_logits
    halved = softmax(np.array(result.option_logits) / TEMPERATURE)
    assert result.probabilities == pytest.approx(halved.tolist(), rel=1e-12)
    assert np.ptp(result.probabilities) < np.ptp(plain.probabilities)
    assert np.argsort(result.probabilities).tolist() == np.argsort(plain.probabilities).tolist()
    assert result.allowed_token_mass == plain.allowed_token_mass
    assert result.calibration is not None
    assert result.calibration.temperature == TEMPERATURE
    assert result.calibration.sha256 == load_calibration(file).sha256
    [other], _ = engine.score([ASKED], "state-first")
    assert other.calibration is None, "it was fitted for schema-first only"
    assert other.probabilities == tuple(softmax(np.array(other.option_logits)).tolist())


def test_over_rotations_the_mean_is_divided(
    gguf: Path, sha256: str, load_engine: Any, tmp_path: Path
) -> None:
    content = calibration(sha256, "letters")
    engine = load_engine(gguf, readout="letters", calibration=write_calibration(tmp_path / "c", content))
    turned = [replace(ASKED, options=ASKED.options[turn:] + ASKED.options[:turn]) for turn in range(3)]
    singly = [engine.score([question], "state-first")[0][0].option_logits for question in turned]

    [result], _ = engine.score([replace(ASKED, rotate=True)], "state-first")

    mean = np.mean([np.roll(logits, turn) for turn, logits in enumerate(singly)], axis=0)
    assert result.timing.rotations == 3
    assert result.option_logits == pytest.approx(mean.tolist())
    assert result.probabilities == pytest.approx(softmax(mean / TEMPERATURE).tolist())


def test_a_kind_takes_its_own_temperature_and_answers_follow(
    gguf: Path, sha256: str, load_engine: Any, tmp_path: Path
) -> None:
    content = calibration(sha256, kinds=OVER_KINDS)
    engine = load_engine(gguf, readout="text", calibration=write_calibration(tmp_path / "c", content))
    results, _ = engine.score([*to_questions(QUESTIONS), ASKED], "state-first")
    temperatures = [result.calibration.temperature for result in results]
    assert temperatures == [3.0, TEMPERATURE, 0.5, TEMPERATURE], "noul, choice, score, a decision without"

    noul, choice, score = to_response(QUESTIONS, results[:3], TIMING, "peak").answers.values()

    assert isinstance(noul, NoulAnswer)
    assert isinstance(choice, ChoiceAnswer)
    assert isinstance(score, ScoreAnswer)
    assert noul.noul == pytest.approx(softmax(np.array(results[0].option_logits) / 3)[0])
    chosen = softmax(np.array(results[1].option_logits) / TEMPERATURE)
    assert choice.confidence == pytest.approx(peak(chosen.tolist()))
    levels = softmax(np.array(results[2].option_logits) / 0.5)
    assert score.score == pytest.approx(levels @ np.arange(3))
    for answer, result in zip((noul, choice, score), results, strict=False):
        assert answer.x_calibration == result.calibration


def test_more_options_than_letters_fall_to_the_text_readout_uncalibrated(
    gguf: Path, sha256: str, load_engine: Any, tmp_path: Path
) -> None:
    content = calibration(sha256, "letters")
    engine = load_engine(gguf, readout="letters", calibration=write_calibration(tmp_path / "c", content))
    many = replace(ASKED, options=tuple(OptionText(str(n), str(n), str(n)) for n in range(255)))

    [result], _ = engine.score([many], "schema-first")

    assert (result.readout, result.calibration) == ("text", None)


@given(
    st.lists(st.floats(-50, 50), min_size=2, max_size=8),
    st.floats(MIN_TEMPERATURE, MAX_TEMPERATURE),
)
def test_no_temperature_puts_another_option_first(logits: list[float], temperature: float) -> None:
    probabilities = softmax(np.array(logits), temperature)

    assert probabilities.sum() == pytest.approx(1)
    assert logits[int(probabilities.argmax())] == pytest.approx(max(logits), abs=1e-12)
    assert (np.diff(probabilities[np.argsort(logits)]) >= 0).all()


@pytest.mark.parametrize(
    ("made_for", "settings", "expected"),
    [
        ({"model_sha256": "0" * 64}, {}, "is the calibration of the model with SHA-256 0{64}, this one has"),
        ({"readout": "letters"}, {}, r"of the prompt chat-letters-\S+, .* asked is with chat-text-schema-"),
        ({"template": "plain"}, {}, "of the prompt plain-text-schema-first-"),
        ({"prompt_version": "chat-text-schema-first-1", "layouts": ("schema-first",)}, {}, "fit it for this"),
        ({"layouts": ("state-first",)}, {"layout": "schema-first"}, "asked is with chat-text-schema-first-"),
    ],
)
def test_what_was_fitted_for_something_else_stops_the_start(
    gguf: Path,
    sha256: str,
    load_engine: Any,
    tmp_path: Path,
    made_for: dict[str, Any],
    settings: dict[str, Any],
    expected: str,
) -> None:
    content = calibration(**{"model_sha256": sha256, **made_for})
    file = write_calibration(tmp_path / "c.json", content)

    with pytest.raises(StartupError, match=expected) as raised:
        load_engine(gguf, readout="text", calibration=file, **settings)

    assert "\n" not in str(raised.value)


def test_it_may_hold_more_than_is_served(gguf: Path, sha256: str, load_engine: Any, tmp_path: Path) -> None:
    file = write_calibration(tmp_path / "c.json", calibration(sha256))
    engine = load_engine(gguf, readout="text", calibration=file, layout="schema-first")
    [result], _ = engine.score([ASKED], "schema-first")
    assert result.calibration is not None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (b'"temperature": 2.0', b'"temperature": 0.0', r"prompts\.0\.temperature: .*greater than or equal"),
        (b'"temperature": 2.0', b'"temperature": -1.0', r"prompts\.0\.temperature"),
        (b'"temperature": 2.0', b'"temperature": 1e9', r"prompts\.0\.temperature"),
        (b'"temperature": 2.0', b'"temperature": NaN', r"prompts\.0\.temperature: .*finite"),
        (b'"temperature": 2.0', b'"temperature": "2.0"', r"prompts\.0\.temperature: .*valid number"),
        (b'"temperature": 2.0', b'"temperature": 2', "not in the form"),
        (b'"temperature": 2.0', b'"temperature": 3.0, "temperature": 2.0', "not in the form"),
        (b'"tasks": 60', b'"tasks": 60, "extra": 1', r"prompts\.\d\.extra: Extra inputs"),
        (b'"readout": "text"', b'"readout": "letters"', "the readout is letters, chat-text-"),
        (b"state-first", b"schema-first", "distinct versions"),
        (b'"schema": 1', b'"schema": 2', "schema: Input should be 1"),
        (b"{", b"[{", "not a calibration file: .*JSON"),
        (b'"kinds": {}', b'"kinds": {"box": {}}', r"kinds\.box"),
        (b'"model_sha256": "a', b'"model_sha256": "A', "model_sha256"),
    ],
)
def test_a_wrong_file_is_refused_with_its_problems(
    tmp_path: Path, before: bytes, after: bytes, expected: str
) -> None:
    right = calibration("a" * 64).canonical_bytes()
    assert before in right
    (tmp_path / "c.json").write_bytes(right.replace(before, after))
    with pytest.raises(StartupError, match=expected):
        load_calibration(tmp_path / "c.json")


def test_a_missing_and_an_endless_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"cannot read .*gone: no such file"):
        load_calibration(tmp_path / "gone")
    (tmp_path / "c").write_bytes(b" " * 70_000)
    with pytest.raises(StartupError, match="larger than 65536 bytes"):
        load_calibration(tmp_path / "c")


@given(st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
def test_no_bytes_make_anything_but_a_refusal(data: bytes) -> None:
    right = calibration("a" * 64).canonical_bytes()
    for given_bytes in (data, right[:200] + data + right[200:], b"[" * 2000 + data):
        if given_bytes == right:
            continue
        with pytest.raises(StartupError, match=r"^c\.json is not"):
            parse_calibration(given_bytes, "c.json")


@given(st.floats(MIN_TEMPERATURE, MAX_TEMPERATURE), st.floats(0, 1000), st.integers(1, 10**9))
def test_what_is_written_reads_back(temperature: float, loss: float, tasks: int) -> None:
    figures = Figures(ece=0.0, brier=0.0, log_loss=loss)
    content = calibration("a" * 64, temperature=temperature, tasks=tasks, after=figures)
    assert parse_calibration(content.canonical_bytes(), "c.json").content == content


def archive(folder: Path, gguf: Path, content: bytes) -> Settings:
    """A model folder whose manifest promises a calibration with `content`, which lies in it."""
    model = gguf.read_bytes()
    members = []
    for name, role, data in (("tiny.gguf", "gguf", model), ("c.json", "calibration", content)):
        (folder / name).write_bytes(data)
        sha256 = find_model(Settings(gguf=folder / name)).sha256
        members.append(Member(file=name, role=role, bytes=len(data), sha256=sha256))
    manifest = ModelManifest(
        preset="tiny",
        source="file:tiny.gguf",
        revision=None,
        quantization="F32",
        prompt=PromptSpec(readout="text"),
        members=tuple(members),
    )
    (folder / MANIFEST_FILE).write_bytes(manifest.canonical_bytes())
    return Settings(model_dir=folder, threads=1, context_tokens=512, streams=2)


def test_the_manifests_calibration_is_applied_and_guarded(
    gguf: Path, sha256: str, library_dir: Path, tmp_path: Path
) -> None:
    """Shipped and never used, or another than was packed, is what must not happen."""
    settings = archive(tmp_path, gguf, calibration(sha256).canonical_bytes())
    settings = settings.model_copy(update={"library_dir": library_dir})
    engine = Engine.load(settings)
    try:
        [result], _ = engine.score([ASKED], "schema-first")
    finally:
        engine.close()
    assert result.calibration is not None
    assert result.calibration.temperature == TEMPERATURE
    assert result.probabilities == pytest.approx(
        softmax(np.array(result.option_logits) / TEMPERATURE).tolist(), rel=1e-12
    )

    other = calibration(sha256, temperature=3.0).canonical_bytes()
    (tmp_path / "c.json").write_bytes(other)
    with pytest.raises(StartupError, match=r"c\.json has SHA-256 \w{64}, model-manifest\.json promises"):
        Engine.load(settings)
    (tmp_path / "c.json").unlink()
    with pytest.raises(StartupError, match=r"promises c\.json, which is not in"):
        Engine.load(settings)
    settings = archive(tmp_path, gguf, calibration("0" * 64).canonical_bytes())
    with pytest.raises(StartupError, match="is the calibration of the model with SHA-256 0000"):
        Engine.load(settings)


def test_a_manifest_has_one_calibration_at_most() -> None:
    member = Member(file="a.gguf", role="gguf", bytes=1, sha256="a" * 64)
    more = [Member(file=name, role="calibration", bytes=1, sha256="b" * 64) for name in ("b", "c")]
    with pytest.raises(ValueError, match="at most one member may have the role calibration"):
        ModelManifest(
            preset="p",
            source="s",
            revision=None,
            quantization="F32",
            prompt=PromptSpec(readout="text"),
            members=(member, *more),
        )
