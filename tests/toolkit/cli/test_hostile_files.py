"""A file that is no file, or has no end, is told in a line, whichever command reads it."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from semif.cli import main

NOWHERE = "http://127.0.0.1:9"


def commands(path: str, folder: Path) -> list[list[str]]:
    """Each command that reads a file of the user's, with `path` as that file."""
    asked = folder / "decision.json"
    asked.write_text(
        '{"id": "a", "state": "x", "question": "?", "options": [{"id": "y", "description": "y"},'
        ' {"id": "n", "description": "n"}]}'
    )
    return [
        ["decide", "--url", NOWHERE, path],
        ["decide", "--url", NOWHERE, "--policy", path, str(asked)],
        ["evaluate", "run", path, "--url", NOWHERE, "-o", str(folder / "run.jsonl")],
        ["evaluate", "report", path],
        ["calibrate", "fit", path, "-o", str(folder / "calibration.json")],
    ]


@pytest.mark.parametrize("kind", ["pipe", "directory", "/dev/null"])
def test_what_is_no_file_is_told_in_a_line(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    path = kind if kind.startswith("/") else str(tmp_path / kind)
    for command in commands(path, tmp_path):
        done = CliRunner().invoke(main, command, prog_name="semif")
        assert done.exit_code in (1, 2), command
        assert path in done.stderr, command
        assert isinstance(done.exception, SystemExit), command


def test_what_has_no_end_is_told_in_a_line(tmp_path: Path) -> None:
    for command in commands("/dev/zero", tmp_path)[:2]:  # the others take files of hundreds of megabytes
        done = CliRunner().invoke(main, command, prog_name="semif")
        assert done.exit_code == 1
        assert "/dev/zero is longer than" in done.stderr
    done = CliRunner().invoke(main, ["decide", "--url", NOWHERE, "-"], input=bytes(13_000_000))
    assert "standard input is longer than" in done.stderr


def test_a_message_that_is_no_text_is_told_in_a_line() -> None:
    done = CliRunner().invoke(main, ["ask", "text", "-"], input=b"\xff\xfe\x00", prog_name="semif")
    assert done.exit_code == 1
    assert done.stderr == "semif: standard input is in UTF-16; save it as UTF-8\n"
    done = CliRunner().invoke(main, ["ask", "text", "-"], input=b"a\xff", prog_name="semif")
    assert done.stderr == "semif: standard input is not UTF-8: byte 2 is wrong\n"
