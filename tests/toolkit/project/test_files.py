"""Files that are written whole or not at all."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from semif.errors import SemifError
from semif.project.whole_files import check_writable, read_whole, replacing, write_whole


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


@pytest.fixture
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077], indirect=True)
def test_who_may_read_a_new_file_is_what_the_umask_says(tmp_path: Path, umask: int) -> None:
    seen = []
    with replacing(tmp_path / "file") as out:
        seen += [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()]
        out.write(b"new")
    seen.append(stat.S_IMODE((tmp_path / "file").stat().st_mode))
    assert seen == [0o666 & ~umask] * 2, "while it is written, and then"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o400])
def test_a_file_that_is_replaced_stays_as_open_as_it_was(tmp_path: Path, mode: int) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(mode)
    with replacing(tmp_path / "file") as out:
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {mode}
        out.write(b"new")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    assert (tmp_path / "file").read_bytes() == b"new"


def test_what_has_no_end_is_read_to_a_bound(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(bytes(101))
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "long"):
        with pytest.raises(SemifError, match=f"{path} is longer than 100 bytes"):
            read_whole(path, 100)
    assert read_whole(tmp_path / "long", 101) == bytes(101)
    assert read_whole(tmp_path / "pipe", 100) == b"", "nobody writes to it, and nobody is waited for"
    with pytest.raises(SemifError, match="is a directory"):
        read_whole(tmp_path, 100)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """As a shell's `<(...)` is one, whose writer takes its time."""
    reader, writer = os.pipe()

    def write() -> None:
        for piece in (b"one ", b"two"):
            os.write(writer, piece)
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    assert read_whole(Path(f"/dev/fd/{reader}"), 100) == b"one two"
    thread.join()
    os.close(reader)
