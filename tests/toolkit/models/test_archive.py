"""The archive: exactly its members, the same bytes every time, and nothing at all when something is wrong."""

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from semif.models.gguf_header import NotAModelError
from semif.models.packaging.archive import ARCHIVE_FILE, USTAR_LIMIT, tar_header, write_archive
from semif.models.packaging.build import build_model
from semif.models.sources.verify import MismatchError
from tests.support.models.small_models import files_below, preset_of

Make = Callable[..., Path]


def test_gnu_tar_finds_the_members_at_the_root_and_nothing_to_warn_about(
    embedded_gguf: Path, tmp_path: Path
) -> None:
    built = build_model(preset_of(embedded_gguf), str(tmp_path / "out"))
    folder = tmp_path / "opt-ml-model"
    folder.mkdir()
    listed = tar("-tvzf", str(built.place))
    lines = [line.split() for line in listed.splitlines()]
    assert [line[-1] for line in lines] == ["model-manifest.json", embedded_gguf.name]
    assert all(line[:2] == ["-rw-r--r--", "0/0"] for line in lines)
    tar("-xzf", str(built.place), "-C", str(folder))
    assert files_below(folder) == sorted([embedded_gguf.name, "model-manifest.json"])
    assert sha256(folder / embedded_gguf.name) == sha256(embedded_gguf)
    assert sha256(folder / "model-manifest.json") == built.manifest_sha256
    assert (tmp_path / "out" / "model-manifest.json").read_bytes() == (
        folder / "model-manifest.json"
    ).read_bytes()
    assert (sha256(Path(str(built.place))), Path(str(built.place)).stat().st_size) == (
        built.archive_sha256,
        built.archive_bytes,
    )


def tar(*arguments: str) -> str:
    done = subprocess.run(["tar", *arguments], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_same_model_gives_the_same_bytes_from_anywhere(small_gguf: Make, tmp_path: Path) -> None:
    source = small_gguf()
    manifest = preset_of(source).manifest()
    hashes = set()
    for folder, time in (("a", 1_000_000_000), ("b", 1_700_000_000)):
        copy = tmp_path / folder / "renamed"
        copy.parent.mkdir()
        shutil.copy(source, copy)
        os.utime(copy, (time, time))
        copy.chmod(0o600)
        link = tmp_path / folder / "link"
        link.symlink_to(copy)
        for gguf in (copy, link):
            hashes.add(write_archive(manifest, [gguf], tmp_path / folder / ARCHIVE_FILE).sha256)
    assert len(hashes) == 1
    head = (tmp_path / "a" / ARCHIVE_FILE).read_bytes()[:10]
    assert head[3] == 0, "no name, comment or extra field"
    assert head[4:8] == bytes(4), "no time"


def test_members_are_plain_files_without_extended_headers(tiny_gguf: Make, tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(tiny_gguf())
    build_model(preset_of(link), str(tmp_path / "out"))
    with tarfile.open(tmp_path / "out" / ARCHIVE_FILE) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == ["model-manifest.json", "link.gguf"]
    for member in members:
        assert member.isreg()
        assert not member.pax_headers
        assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
        assert (member.mode, member.mtime) == (0o644, 0)
    with tarfile.open(tmp_path / "out" / ARCHIVE_FILE) as archive:
        offsets = [member.offset for member in archive.getmembers()]
    assert offsets == [0, 1024], "one header block and one of content: nothing in between"


@pytest.mark.parametrize("size", [0, USTAR_LIMIT - 1, USTAR_LIMIT, 20 << 30])
def test_headers_hold_any_size(size: int) -> None:
    header = tar_header("big.gguf", size)
    assert len(header) == tarfile.BLOCKSIZE
    assert tarfile.TarInfo.frombuf(header, "utf-8", "strict").size == size


def test_a_file_that_changes_while_it_is_packed_leaves_nothing(small_gguf: Make, tmp_path: Path) -> None:
    source = small_gguf()
    manifest = preset_of(source).manifest()
    whole = source.read_bytes()
    for changed in (whole[:-1] + b"x", whole + b"x", whole[:-1]):
        source.write_bytes(changed)
        with pytest.raises(MismatchError) as e:
            write_archive(manifest, [source], tmp_path / "out" / ARCHIVE_FILE)
        assert manifest.gguf.sha256 in str(e.value)
        assert files_below(tmp_path / "out") == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_packing_leaves_what_was_there(
    tiny_gguf: Make, tmp_path: Path, failure: type[BaseException]
) -> None:
    def fail(step: str, done: int, total: int) -> None:
        if step == "pack":
            raise failure

    preset = preset_of(tiny_gguf())
    out = tmp_path / "out"
    with pytest.raises(failure):
        build_model(preset, str(out), fail)
    assert files_below(out) == []
    build_model(preset, str(out))
    before = (out / ARCHIVE_FILE).read_bytes()
    with pytest.raises(failure):
        build_model(preset, str(out), fail)
    assert files_below(out) == ["model-manifest.json", "model.tar.gz"]
    assert (out / ARCHIVE_FILE).read_bytes() == before


def test_nothing_is_packed_before_the_file_is_verified_and_known_to_be_a_model(
    small_gguf: Make, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(MismatchError):
        build_model(preset_of(small_gguf(), sha256="0" * 64), str(out))
    with pytest.raises(NotAModelError, match="projector"):
        build_model(preset_of(small_gguf("p.gguf", "clip")), str(out))
    page = tmp_path / "page.gguf"
    page.write_text("<!DOCTYPE html>")
    with pytest.raises(NotAModelError, match="a web page"):
        build_model(preset_of(page), str(out))
    assert not out.exists()
