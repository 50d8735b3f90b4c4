"""`semif model pin`, against a server that speaks like the hub's API."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from semif.errors import SemifError
from semif.models.presets import Preset, load_preset
from semif.web import lookups
from tests.support.models.hub_api import COMMIT, FILE, LATER, SHA256, HubApi, lfs
from tests.support.runs.calibrations import calibration, write_calibration
from tests.support.servers.hanging import Hanging
from tests.support.servers.running import running


@pytest.mark.parametrize(
    ("model", "commit"),
    [
        ("hf:owner/repo", COMMIT),
        ("hf:owner/repo@refs/pr/1", LATER),
        (f"hf:owner/repo@{COMMIT}", COMMIT),
        ("hf://owner/repo", COMMIT),
    ],
)
def test_a_branch_becomes_a_commit_and_a_file_its_published_hash(
    pin: Callable[..., Result], models: Path, model: str, commit: str
) -> None:
    result = pin(model)
    assert result.exit_code == 0, result.stderr
    preset = load_preset("some-model-q4-k-m")
    assert preset.model.model_dump(exclude={"parts"}) == {
        "source": "hf://owner/repo",
        "revision": commit,
        "file": FILE,
        "bytes": 3_013_027_808,
        "sha256": SHA256,
        "checked_on": datetime.now(UTC).date(),
    }
    assert (preset.quantization, preset.license, preset.prompt.readout) == ("Q4_K_M", "apache-2.0", "letters")
    assert "bytes = 3_013_027_808\n" in (models / "some-model-q4-k-m.toml").read_text()
    for told in (commit, SHA256, "apache-2.0", "semif serve some-model-q4-k-m"):
        assert told in result.stdout


@pytest.mark.parametrize("ending", ["GGUF", "Gguf"])
def test_the_ending_is_taken_in_any_case(
    hub: HubApi, pin: Callable[..., Result], models: Path, ending: str
) -> None:
    """The hub's name stays; in the archive it is what the published container looks for."""
    name = f"Some_Model-Q4_K_M.{ending}"
    hub.files = [lfs(name)]
    result = pin("hf:owner/repo", name)
    assert result.exit_code == 0, result.stderr
    preset = load_preset("some-model-q4-k-m")
    assert preset.model.file == name
    assert preset.manifest().gguf.file == FILE
    assert preset.description == "Some_Model-Q4_K_M, from owner/repo"


def test_scripts_read_the_preset(pin: Callable[..., Result], models: Path) -> None:
    result = pin("hf:owner/repo", FILE, "--name", "mine", "--readout", "text", "--json")
    told = json.loads(result.stdout)
    assert (told["path"], told["moved"]) == (str(models / "mine.toml"), True)
    assert Preset.model_validate(told["preset"]) == load_preset("mine")
    assert load_preset("mine").prompt.readout == "text"


def test_a_preset_of_the_same_file_moves_and_keeps_its_own_words(
    hub: HubApi, pin: Callable[..., Result], models: Path
) -> None:
    pin("hf:owner/repo", FILE, "--name", "mine", "--readout", "text")
    path = models / "mine.toml"
    own = path.read_text().replace(
        'description = "', 'context_bytes_per_token = 1_024  # 2\ndescription = "own, '
    )
    path.write_text("# ours\n" + own.replace(COMMIT + '"', COMMIT + '"  # as of today'))
    hub.commits["main"] = LATER
    hub.files = [lfs(FILE, 12_000_000, "b" * 64)]
    result = pin("hf:owner/repo", FILE, "--name", "mine")
    assert result.exit_code == 0, result.stderr
    assert "mine.toml: moved" in result.stdout
    moved = own.replace(COMMIT + '"', LATER + '"  # as of today').replace("3_013_027_808", "12_000_000")
    assert path.read_text() == "# ours\n" + moved.replace(SHA256, "b" * 64)
    assert "as it was" in pin("hf:owner/repo", FILE, "--name", "mine").stdout
    pin("hf:owner/repo", FILE, "--name", "mine", "--readout", "letters")
    assert load_preset("mine").prompt.readout == "letters"


def test_a_calibrated_preset_does_not_move_to_a_file_that_it_is_not_of(
    hub: HubApi, pin: Callable[..., Result], models: Path
) -> None:
    pin("hf:owner/repo", FILE, "--name", "mine", "--readout", "text")
    path = models / "mine.toml"
    with path.open("a") as preset:
        preset.write('[calibration]\nfile = "mine.calibration.json"\n')
    write_calibration(models / "mine.calibration.json", calibration(SHA256))
    hub.commits["main"] = LATER
    assert "mine.toml: moved" in pin("hf:owner/repo", FILE, "--name", "mine").stdout, "the same bytes"
    before = path.read_text()
    hub.files = [lfs(FILE, 12_000_000, "b" * 64)]
    for options in ((), ("--readout", "letters")):
        refused = pin("hf:owner/repo", FILE, "--name", "mine", *options)
        assert (refused.exit_code, path.read_text()) == (1, before)
        assert (
            f"mine.calibration.json is the calibration of the model with SHA-256 {SHA256}" in refused.stderr
        )


def test_another_models_preset_is_replaced_only_by_force(pin: Callable[..., Result], models: Path) -> None:
    before = (models / "other.toml").read_text()
    refused = pin("hf:owner/repo", FILE, "--name", "other")
    assert (refused.exit_code, (models / "other.toml").read_text()) == (1, before)
    assert "other.toml holds other.gguf of s3://bucket/other.gguf; give another --name" in refused.stderr
    assert pin("hf:owner/repo", FILE, "--name", "other", "--force").exit_code == 0
    assert load_preset("other").model.source == "hf://owner/repo"
    (models / "other.toml").write_text("not TOML")
    assert pin("hf:owner/repo", FILE, "--name", "other").exit_code == 1
    assert pin("hf:owner/repo", FILE, "--name", "other", "--force").exit_code == 0


def test_the_token_goes_to_the_hub_and_is_never_told(
    hub: HubApi, pin: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret\n")
    assert pin().exit_code == 0
    other = f"http://localhost:{hub.server_port}/api/models/owner/new"
    hub.answer = (307, {"Location": other}, b"")
    refused = pin()
    assert f"owner/repo has moved to '{other}'; name the repository that it is now" in refused.stderr
    hub.answer = (500, {}, b"hf_secret")
    assert "hf_secret" not in pin().output + refused.output
    assert {sent for _, sent in hub.seen} == {"Bearer hf_secret"}
    mine = ("/api/models/owner/repo/revision/main?", "/owner/repo/resolve/")
    assert all(path.startswith(mine) for path, _ in hub.seen)
    hub.answer, hub.stores_elsewhere = None, True
    assert pin("hf:owner/repo", FILE, "--name", "mine").exit_code == 0
    assert {sent for path, sent in hub.seen if path.startswith("/stored/")} == {None}
    monkeypatch.setenv("HF_TOKEN", "two words")
    result = pin()
    assert "HF_TOKEN is set to something that is no token" in result.stderr
    assert "two words" not in result.output


@pytest.mark.parametrize(
    "endpoint", ["http://hub.example", "https://u:secret@hub.example", "hub.example", "["]
)
def test_a_hub_that_is_not_https_gets_nothing(
    pin: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    result = pin()
    assert result.exit_code == 1
    assert "HF_ENDPOINT must be https://HOST" in result.stderr
    assert "secret" not in result.stderr


@pytest.mark.parametrize(
    ("card", "told"),
    [
        ({"license": "other", "license_name": "gemma"}, "gemma"),
        ({"license": ["a", "b"]}, "not stated on the hub"),
        ({}, "not stated on the hub"),
        (None, "not stated on the hub"),
        ({"license": 'a "quoted"\nname\\'}, 'a "quoted" name\\'),
    ],
)
def test_the_license_as_the_card_names_it(
    hub: HubApi, pin: Callable[..., Result], card: dict[str, Any] | None, told: str
) -> None:
    hub.card = card
    assert pin("hf:owner/repo", FILE, "--name", "mine").exit_code == 0
    assert load_preset("mine").license == told


SPLIT = [lfs(f"Big-Q8_0-0000{number}-of-00003.gguf") for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("arguments", "files", "told"),
    [
        (
            ("hf:owner/repo", "None-Q4_0.gguf"),
            [lfs(FILE)],
            f"no file 'None-Q4_0.gguf' at 444444444444; its GGUF files: '{FILE}'",
        ),
        (("hf:owner/repo", "x-Q4_0.gguf"), [lfs(f"{n:02}.gguf") for n in range(14)], "'11.gguf' and 2 more"),
        (
            ("hf:owner/repo", "x-F16.gguf"),
            [{"rfilename": "x-F16.gguf", "size": 3}],
            "keeps x-F16.gguf outside Git LFS",
        ),
        (("hf:owner/repo", "a/x-F16.gguf"), [lfs("a/x-F16.gguf")], "a/x-F16.gguf lies in a folder"),
        (("hf:owner/repo", "x-F16.bin", "--quantization", "F16"), [lfs("x-F16.bin")], "must end in .gguf"),
        (
            ("hf:owner/repo", SPLIT[1]["rfilename"]),
            SPLIT,
            "one of the 3 files of a split model ('Big-Q8_0-00001-of-00003.gguf', ",
        ),
        (
            ("hf:owner/repo", SPLIT[0]["rfilename"]),
            SPLIT[:1],
            "not all are there, 'Big-Q8_0-00002-of-00003.gguf', 'Big-Q8_0-00003",
        ),
        (
            ("hf:owner/repo", "Big-Q8_0-00001-of-00002.GGUF"),
            [lfs("Big-Q8_0-00001-of-00002.GGUF"), lfs("Big-Q8_0-00002-of-00002.GGUF")],
            "('Big-Q8_0-00001-of-00002.GGUF', 'Big-Q8_0-00002-of-00002.GGUF')",
        ),
        (("hf:owner/repo", "x-Q4_0.gguf"), [lfs("Y.GGUF")], "its GGUF files: 'Y.GGUF'"),
        (("hf:owner/none", FILE), [], "owner/none does not exist, or asks for a sign-in"),
        (("hf:owner/repo@gone", FILE), [], "owner/repo has no revision 'gone'"),
        (("owner/repo", FILE), [], "'owner/repo' is no model of the hub; write hf:OWNER/REPOSITORY"),
        (("hf:owner/repo@../x", FILE), [], "is no model of the hub"),
        (("hf:owner/repo", "model.gguf"), [], "does not end in a quantization"),
        (("hf:owner/repo", FILE, "--name", "../up"), [lfs(FILE)], "name = '../up'"),
    ],
)
def test_what_cannot_be_pinned_writes_nothing(
    hub: HubApi,
    pin: Callable[..., Result],
    models: Path,
    arguments: tuple[str, ...],
    files: list[Any],
    told: str,
) -> None:
    hub.files = files
    result = pin(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert told in result.stderr
    assert [path.name for path in models.parent.rglob("*.toml")] == ["other.toml"]


def test_one_file_that_is_called_split_is_whole(hub: HubApi, pin: Callable[..., Result]) -> None:
    name = "Big-Q8_0-00001-of-00001.gguf"
    hub.files = [lfs(name)]
    assert pin("hf:owner/repo", name).exit_code == 0
    assert load_preset("big-q8-0").quantization == "Q8_0"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((200, b"<!DOCTYPE html>"), "does not answer as the hub does"),
        ((200, b'{"sha": "main", "siblings": []}'), "does not answer as the hub does"),
        ((200, b"[" * 100_000), "does not answer as the hub does"),
        ((200, b" " * ((16 << 20) + 1)), "gives more than 16,777,216 bytes"),
        ((200, json.dumps({"sha": LATER, "siblings": [lfs(FILE)]}).encode()), f"answers for commit {LATER}"),
        ((403, b""), "accept the model's terms there and set HF_TOKEN"),
        ((404, b""), "owner/repo does not exist"),
        ((418, b""), "the hub gives HTTP 418"),
    ],
)
def test_a_hub_that_answers_something_else(
    hub: HubApi, pin: Callable[..., Result], models: Path, answer: tuple[int, bytes], told: str
) -> None:
    hub.answer = (answer[0], {}, answer[1])
    result = pin(f"hf:owner/repo@{COMMIT}")
    assert (result.exit_code, result.stdout) == (1, "")
    assert told in result.stderr
    assert len(list(models.iterdir())) == 1


def test_a_hub_that_trickles_does_not_hold_a_command(
    hub: HubApi, pin: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "LOOKUP_SECONDS", 0.1)
    hub.trickles = True
    result = pin()
    assert result.exit_code == 1
    assert result.stderr.endswith(" took too long to answer, a few bytes at a time; try again\n")


def test_an_answer_whose_head_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection's own time limit begins anew with each byte."""
    monkeypatch.setattr(lookups, "HEAD_SECONDS", 0.1)
    told = "took too long to answer, a few bytes at a time"
    with (
        running(Hanging("endless head")) as server,
        lookups.open_pool(server.url) as pool,
        pytest.raises(SemifError, match=told),
    ):
        lookups.get(pool, server.url, {}, limit=10)
