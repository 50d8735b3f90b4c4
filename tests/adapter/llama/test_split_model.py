"""A GGUF in parts, on real libllama."""

from collections.abc import Callable
from pathlib import Path

import pytest

from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.question import OptionText, Question
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine


def test_a_split_model_is_the_same_model(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine], tmp_path: Path, library_dir: Path
) -> None:
    first, whole = tiny_gguf(split_tensors=10), tiny_gguf()
    parts = sorted(first.parent.glob(f"{first.name.partition('-00001')[0]}-*.gguf"))
    assert len(parts) > 1
    folder = tmp_path / "model"
    folder.mkdir()
    for part in parts:
        (folder / part.name).symlink_to(part)

    split = Engine.load(Settings(model_dir=folder, library_dir=library_dir, threads=1, context_tokens=512))

    options = (OptionText("yes", "yes", "yes"), OptionText("no", "no", "no"))
    question = Question("q", "The lamp is on.", "Is it on?", options, "decision")
    answers = [engine.score([question], "schema-first")[0][0] for engine in (split, load_engine(whole))]
    assert answers[0].option_logits == answers[1].option_logits
    assert split.info.file == first.name
    split.close()

    (folder / parts[-1].name).unlink()
    with pytest.raises(StartupError, match=f"{parts[-1].name} is not beside it"):
        Engine.load(Settings(model_dir=folder, library_dir=library_dir))
