"""Files that are written whole or not at all."""

import os
from pathlib import Path

import pytest

from semif.errors import SemifError
from semif.project.whole_files import check_writable, replacing, write_whole


def test_what_a_link_leads_to_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "file")
    for content in (b"first", b"second"):
        write_whole(link, content)
        assert link.is_symlink()
        assert (tmp_path / "there" / "file").read_bytes() == content


def test_an_interruption_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def interrupted() -> None:
        with replacing(tmp_path / "file") as out:
            out.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "file").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        for write in (check_writable, lambda path: write_whole(path, b"")):
            with pytest.raises(SemifError, match=f"{name}: it is there, and is no file that could be"):
                write(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()


def test_looking_whether_a_file_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_bytes(b"old")
    check_writable(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"old"
    with pytest.raises(SemifError, match="file is a file or lies in one, a folder is needed"):
        check_writable(tmp_path / "file" / "below")
