import hashlib
from pathlib import Path

import pytest

from semif_adapter.errors import StartupError
from semif_adapter.manifest import MANIFEST_FILE, Member, ModelManifest, PromptSpec
from semif_adapter.model_files import find_model
from semif_adapter.settings import Settings

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

    found = find_model(write_archive(tmp_path, CONTENT, manifest.canonical_bytes()))

    assert (found.path, found.sha256, found.manifest) == (tmp_path / "m.gguf", manifest.gguf.sha256, manifest)


def test_the_only_gguf_of_a_folder_without_a_manifest_is_taken(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(CONTENT)

    found = find_model(Settings(model_dir=tmp_path))

    assert (found.path, found.manifest) == (tmp_path / "m.gguf", None)
    assert found.sha256 == hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.parametrize(
    ("content", "manifest", "expected"),
    [
        (None, manifest_for(CONTENT).canonical_bytes(), r"promises m\.gguf, which is not in"),
        (CONTENT + b"!", manifest_for(CONTENT).canonical_bytes(), r"has 15 bytes, .* promises 14"),
        (CONTENT[::-1], manifest_for(CONTENT).canonical_bytes(), r"has SHA-256 [0-9a-f]{64}, .* promises"),
        (CONTENT, b"{", "cannot be read as JSON"),
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
