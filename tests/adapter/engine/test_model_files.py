import hashlib
import json
import os
import re
from pathlib import Path

import pytest

from semif_adapter.archive.calibration import load_calibration
from semif_adapter.archive.manifest import MANIFEST_FILE, Member, ModelManifest, PromptSpec
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.model_files import find_model

CONTENT = b"GGUF and so on"


def manifest_for(content: bytes) -> ModelManifest:
    member = Member(
        file="m.gguf", role="gguf", bytes=len(content), sha256=hashlib.sha256(content).hexdigest()
    )
    return ModelManifest(
        preset="tiny",
        source="file://m.gguf",
        revision="r1",
        quantization="F32",
        prompt=PromptSpec(readout="text", template="plain"),
        members=(member,),
    )


def write_archive(folder: Path, content: bytes | None, manifest: bytes) -> Settings:
    (folder / MANIFEST_FILE).write_bytes(manifest)
    if content is not None:
        (folder / "m.gguf").write_bytes(content)
    return Settings(model_dir=folder)


def test_the_manifest_names_the_model_among_others(tmp_path: Path) -> None:
    (tmp_path / "another.gguf").write_bytes(b"not this one")
    manifest = manifest_for(CONTENT)

    file = find_model(write_archive(tmp_path, CONTENT, manifest.canonical_bytes()))

    assert (file.path, file.sha256, file.manifest) == (
        tmp_path / "m.gguf",
        manifest.gguf.sha256,
        manifest,
    )


def test_a_pinned_manifest_is_the_only_one_that_is_served(tmp_path: Path) -> None:
    """Whoever may write under the model's key cannot swap the model at the next scale-out."""
    manifest = manifest_for(CONTENT)
    settings = write_archive(tmp_path, CONTENT, manifest.canonical_bytes())
    pinned = settings.model_copy(update={"manifest_sha256": manifest.sha256})
    assert find_model(pinned).manifest == manifest

    write_archive(tmp_path, CONTENT[::-1], manifest_for(CONTENT[::-1]).canonical_bytes())
    with pytest.raises(StartupError, match=r"SEMIF_MANIFEST_SHA256 pins [0-9a-f]{64}: this is not the model"):
        find_model(pinned)

    (tmp_path / MANIFEST_FILE).unlink()
    with pytest.raises(StartupError, match="cannot be read"):
        find_model(pinned)


def samples_manifest(sha256: str, file: str = "m.gguf") -> bytes:
    """As AWS's sample writes it."""
    gguf = {"repo": "o/r", "revision": "r1", "file": file, "sha256": sha256}
    return json.dumps({"gguf": gguf, "tokenizer": {"repo": "o/t", "revision": "r2"}}, indent=2).encode()


def test_an_archive_of_awss_sample_is_served(tmp_path: Path) -> None:
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "tokenizer.json").write_text("{}")
    sha256 = hashlib.sha256(CONTENT).hexdigest()

    file = find_model(write_archive(tmp_path, CONTENT, samples_manifest(sha256)))

    assert (file.path, file.sha256, file.manifest) == (tmp_path / "m.gguf", sha256, None)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (samples_manifest("0" * 64), "promises m.gguf with 0{64}"),
        (samples_manifest(hashlib.sha256(CONTENT).hexdigest(), "n.gguf"), "promises n.gguf with"),
        (b'{"gguf": {"file": "m.gguf"}}', "is not a model manifest: gguf.repo: Field required"),
    ],
)
def test_an_archive_of_awss_sample_must_be_whole(tmp_path: Path, manifest: bytes, said: str) -> None:
    with pytest.raises(StartupError, match=said):
        find_model(write_archive(tmp_path, CONTENT, manifest))


def test_the_only_gguf_of_a_folder_without_a_manifest_is_taken(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(CONTENT)

    file = find_model(Settings(model_dir=tmp_path))

    assert (file.path, file.manifest) == (tmp_path / "m.gguf", None)
    assert file.sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_endings_in_upper_case_are_taken(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"M-0000{number}-of-00002.GGUF").write_bytes(CONTENT)

    file = find_model(Settings(model_dir=tmp_path))

    assert (file.path.name, file.size) == ("M-00001-of-00002.GGUF", 2 * len(CONTENT))


@pytest.mark.parametrize(
    ("content", "manifest", "expected"),
    [
        (None, manifest_for(CONTENT).canonical_bytes(), r"promises m\.gguf, which is not in"),
        (CONTENT + b"!", manifest_for(CONTENT).canonical_bytes(), r"has 15 bytes, .* promises 14"),
        (CONTENT[::-1], manifest_for(CONTENT).canonical_bytes(), r"has SHA-256 [0-9a-f]{64}, .* promises"),
        (CONTENT, b"{", "cannot be read as JSON"),
        (CONTENT, b"[" * 200_000, "cannot be read as JSON"),
        (CONTENT, b'{"schema":' * 90_000, "cannot be read as JSON"),
        (CONTENT, b'{"schema": 2}', r"schema: .*; preset: .*members: "),
    ],
)
def test_a_wrong_archive_stops_the_start(
    tmp_path: Path, content: bytes | None, manifest: bytes, expected: str
) -> None:
    settings = write_archive(tmp_path, content, manifest)

    with pytest.raises(StartupError, match=expected) as raised:
        find_model(settings)

    assert "\n" not in str(raised.value)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / MANIFEST_FILE)
    with pytest.raises(StartupError, match="is not a file"):
        find_model(Settings(model_dir=tmp_path, manifest_sha256="0" * 64))
    with pytest.raises(StartupError, match="is not a file"):
        load_calibration(tmp_path / MANIFEST_FILE)


def test_several_or_no_candidates_are_listed(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"exactly one \.gguf, found none"):
        find_model(Settings(model_dir=tmp_path))
    for name in ("b.gguf", "a.gguf"):
        (tmp_path / name).write_bytes(CONTENT)
    with pytest.raises(StartupError, match=r"found a\.gguf, b\.gguf; set SEMIF_GGUF"):
        find_model(Settings(model_dir=tmp_path))


def test_a_gguf_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"SEMIF_GGUF=.*gone\.gguf is not a file"):
        find_model(Settings(gguf=tmp_path / "gone.gguf"))


@pytest.mark.parametrize("beside", ["mmproj-model-f16.gguf", "model.mmproj-Q8_0.gguf", "._m.gguf"])
def test_projectors_and_side_cars_are_no_candidates(tmp_path: Path, beside: str) -> None:
    (tmp_path / beside).write_bytes(CONTENT)
    with pytest.raises(StartupError, match=f"found none beside {re.escape(beside)}"):
        find_model(Settings(model_dir=tmp_path))

    (tmp_path / "m.gguf").write_bytes(CONTENT)

    assert find_model(Settings(model_dir=tmp_path)).path == tmp_path / "m.gguf"


def test_a_split_model_is_one_candidate_and_its_bytes_count_in_order(tmp_path: Path) -> None:
    names = [f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes(CONTENT + bytes([number]))

    file = find_model(Settings(model_dir=tmp_path))

    assert file.path == tmp_path / names[0]
    assert file.size == 3 * (len(CONTENT) + 1)
    assert (
        file.sha256 == hashlib.sha256(b"".join(CONTENT + bytes([number]) for number in range(3))).hexdigest()
    )
    assert find_model(Settings(gguf=tmp_path / names[2])) == file

    (tmp_path / names[1]).unlink()
    for settings in (Settings(model_dir=tmp_path), Settings(gguf=tmp_path / names[0])):
        with pytest.raises(StartupError, match=rf"one of 3 parts of a model, {names[1]} is not beside it"):
            find_model(settings)


def test_a_part_without_its_first_is_refused_and_a_single_part_is_whole(tmp_path: Path) -> None:
    (tmp_path / "m-00002-of-00002.gguf").write_bytes(CONTENT)
    with pytest.raises(StartupError, match=r"m-00001-of-00002\.gguf is not beside it"):
        find_model(Settings(model_dir=tmp_path))
    (tmp_path / "m-00002-of-00002.gguf").rename(tmp_path / "m-00001-of-00001.gguf")

    assert find_model(Settings(model_dir=tmp_path)).path.name == "m-00001-of-00001.gguf"


def test_two_split_models_are_listed(tmp_path: Path) -> None:
    for name in ("a-00001-of-00001.gguf", "b-00001-of-00001.gguf"):
        (tmp_path / name).write_bytes(CONTENT)
    with pytest.raises(StartupError, match=r"found a-00001-of-00001\.gguf, b-00001-of-00001\.gguf"):
        find_model(Settings(model_dir=tmp_path))
