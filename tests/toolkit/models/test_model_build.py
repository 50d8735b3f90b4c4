"""`semif model build`: a model that llama.cpp cannot serve is refused before it is packed."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner, Result

from semif.cli import main
from tests.support.checkout import REPOSITORY
from tests.support.models.small_models import preset_of

Tiny = Callable[..., Path]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Result]:
    """Types `semif model build` in a project whose preset `small` pins a GGUF."""
    monkeypatch.setenv("SEMIF_PROJECT", str(tmp_path))
    (tmp_path / "models").mkdir()

    def type_it(gguf: Path, *options: str) -> Result:
        preset = preset_of(gguf).model_dump(mode="json", exclude_none=True, exclude={"name"})
        (tmp_path / "models" / "small.toml").write_text(tomli_w.dumps(preset))
        return CliRunner().invoke(
            main, ["model", "build", "small", "--output", str(tmp_path / "out"), *options], prog_name="semif"
        )

    return type_it


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ({"vocabulary": "sentencepiece-without-bytes"}, "told to tokenise the characters"),
        ({"metadata": (("qwen3.embedding_length", 63),)}, "cannot load"),
        ({"metadata": (("tokenizer.ggml.model", "nothing"),)}, "unknown tokenizer"),
    ],
)
def test_what_ends_llama_cpp_is_one_line_and_leaves_nothing(
    build: Callable[..., Result], tiny_gguf: Tiny, tmp_path: Path, kind: dict[str, Any], told: str
) -> None:
    done = build(tiny_gguf(**kind))
    assert done.exit_code == 1
    [line] = [line for line in done.stderr.splitlines() if line.startswith("semif: ")]
    assert told in line
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_ending_in_capitals_is_packed_as_the_containers_look_for_it(
    build: Callable[..., Result], tiny_gguf: Tiny, tmp_path: Path
) -> None:
    gguf = shutil.copy(tiny_gguf(), tmp_path / "SMALL.GGUF")
    done = build(gguf, "--format", "prefix")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "out" / "SMALL.gguf").read_bytes() == gguf.read_bytes()


def test_without_the_library_it_is_said_and_the_model_is_packed(
    build: Callable[..., Result], tiny_gguf: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # as if nothing of that name were installed
    done = build(tiny_gguf(), "--json")
    assert done.exit_code == 0
    assert "llama.cpp was not tried on the model: xllamacpp is not installed here" in done.stderr
    assert json.loads(done.stdout)["path"] == str(tmp_path / "out" / "model.tar.gz")


def test_a_build_on_aws_has_the_library() -> None:
    """That it is the one of the tests is compared where the image's contents are."""
    locked = (REPOSITORY / "requirements" / "model-build.txt").read_text()
    assert {"numpy", "xllamacpp"} <= set(re.findall(r"^(\w+)==", locked, re.MULTILINE))
