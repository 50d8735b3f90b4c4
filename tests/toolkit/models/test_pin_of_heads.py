"""What a model's header on the hub says, its decision head above all; and presets compared with the hub."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.models.tiny_heads import head_metadata
from semif.cli import main
from semif.models.presets import load_preset, preset_names
from tests.support.models.hub_api import FILE, LATER, HubApi, lfs

Pin = Callable[..., Result]


def check(*names: str) -> Result:
    return CliRunner().invoke(main, ["model", "pin", "--check", *names])


@pytest.fixture
def kev_hub(hub: HubApi, kev_gguf: Path) -> HubApi:
    """The hub, with a file that has Kev's head."""
    hub.header = kev_gguf.read_bytes()
    return hub


def test_a_decision_head_is_pinned_with_its_model(kev_hub: HubApi, pin: Pin, models: Path) -> None:
    result = pin("hf:owner/repo", FILE, "--name", "mine")

    assert result.exit_code == 0, result.stderr
    assert "  head     kev\n" in result.stdout
    prompt = load_preset("mine").prompt
    assert (prompt.readout, prompt.head) == ("head", "kev")
    assert 'readout = "head"\nhead = "kev"\n' in (models / "mine.toml").read_text()
    resolved = [path for path, _ in kev_hub.seen if "/resolve/" in path]
    assert len(resolved) == 1, "of a small header one part is fetched"
    refused = pin("hf:owner/repo", FILE, "--name", "other-readout", "--readout", "text")
    assert refused.exit_code == 1
    assert (
        "has a decision head (kev), which is asked in its own way; leave out --readout text" in refused.stderr
    )


def test_a_file_that_gets_or_loses_a_head_is_asked_otherwise(
    hub: HubApi, pin: Pin, models: Path, plain: bytes, kev_gguf: Path
) -> None:
    pin("hf:owner/repo", FILE, "--name", "mine", "--readout", "text")
    hub.commits["main"], hub.header = LATER, kev_gguf.read_bytes()
    assert "mine.toml: moved" in pin("hf:owner/repo", FILE, "--name", "mine").stdout
    assert load_preset("mine").prompt.head == "kev"
    hub.header = plain
    assert pin("hf:owner/repo", FILE, "--name", "mine").exit_code == 0
    assert (load_preset("mine").prompt.readout, load_preset("mine").prompt.head) == ("letters", None)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (b"<!DOCTYPE html>", "is no GGUF by its first bytes"),
        (b"GGUF\3\0\0\0", "holds no tensors"),
    ],
)
def test_what_is_no_model_is_not_pinned(
    hub: HubApi, pin: Pin, models: Path, header: bytes, told: str
) -> None:
    hub.header = header
    result = pin("hf:owner/repo", FILE, "--name", "mine")
    assert (result.exit_code, result.stdout) == (1, "")
    assert told in result.stderr
    assert preset_names() == ("other",)


def test_a_head_that_is_not_served_is_told_before_any_download(
    hub: HubApi, pin: Pin, models: Path, tiny_gguf: Callable[..., Path]
) -> None:
    hub.header = tiny_gguf(metadata=head_metadata("qwen3", "clef", "{{ state }}")).read_bytes()
    result = pin("hf:owner/repo", FILE, "--name", "mine")
    assert result.exit_code == 1
    assert "decision.type is 'clef'" in result.stderr
    assert "llama-server serves it" in result.stderr


def test_presets_are_compared_with_the_hub(kev_hub: HubApi, pin: Pin, models: Path) -> None:
    pin("hf:owner/repo", FILE, "--name", "mine")
    path = models / "mine.toml"
    path.write_text("\n".join(line for line in path.read_text().split("\n") if "checked_on" not in line))
    before = path.read_text()
    assert "checked  not yet" in CliRunner().invoke(main, ["model", "show", "mine"]).stdout

    result = check()
    assert (result.exit_code, path.read_text()) == (0, before)
    assert result.stdout.startswith("mine: as pinned; note the day by checked_on = 20")
    assert json.loads(check("mine", "--json").stdout) == {"presets": {"mine": []}}

    kev_hub.files = [lfs(FILE, 3_000_000, "c" * 64)]
    kev_hub.card = {"license": "cc-by-nc-4.0"}
    path.write_text(before.replace('readout = "head"\nhead = "kev"', 'readout = "text"'))
    result = check("mine")
    assert result.exit_code == 1
    for told in (
        "has 3,000,000 bytes, pinned are 3,013,027,808",
        f"has SHA-256 {'c' * 64}, pinned is {'a' * 64}",
        "has the licence 'cc-by-nc-4.0', not 'apache-2.0'",
        "names no decision head, its metadata (decision.type) 'kev'; write readout = 'head' and head = 'kev'",
    ):
        assert told in result.stdout
    kev_hub.files = []
    assert "owner/repo has no file" in check("mine").stdout


def test_what_cannot_be_compared_is_told(hub: HubApi, models: Path) -> None:
    refused = check("other")
    assert refused.exit_code == 1
    assert "the preset other is of s3://bucket/other.gguf, which is not on the hub" in refused.stderr
    assert check("other", "--force").exit_code == 2
    assert CliRunner().invoke(main, ["model", "pin", "hf:owner/repo"]).exit_code == 2
