"""The AWS on this machine as the commands start, find and stop it."""

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from semif.errors import SemifError
from semif.target import local_server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project's root, where nothing runs yet."""
    (tmp_path / local_server.FOLDER).mkdir(parents=True)
    return tmp_path


def wait_for_end(root: Path) -> None:
    """Return when the server is gone: its process holds this file's lock until then."""
    with (root / local_server.FOLDER / "server.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def test_it_starts_once_is_found_and_stops(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody-has-this")
    stale = {"pid": 1, "endpoint_url": "http://127.0.0.1:9", "region": "us-east-1", "account": "0"}
    (root / local_server.FOLDER / "server.json").write_text(json.dumps(stale))
    assert local_server.find_server(root) is None
    assert not local_server.stop_server(root)

    server = local_server.ensure_server(root, region="eu-central-1")
    try:
        assert local_server.ensure_server(root, region=None) == server
        assert local_server.find_server(root) == server
        assert server.aws().account() == server.account
        with pytest.raises(SemifError, match="runs as eu-central-1, wanted is us-west-2"):
            local_server.ensure_server(root, region="us-west-2")
    finally:
        stopped = local_server.stop_server(root)
    assert stopped
    assert local_server.find_server(root) is None
    assert not (root / local_server.FOLDER / "server.json").exists()


def test_one_command_at_a_time_changes_what_is_on_this_machine(tmp_path: Path) -> None:
    with (
        local_server.sole_command(tmp_path),
        pytest.raises(SemifError, match="another semif command is at work"),
        local_server.sole_command(tmp_path),
    ):
        pass
    with local_server.sole_command(tmp_path):
        pass


def test_a_failed_start_shows_its_log(root: Path) -> None:
    with (root / local_server.FOLDER / "server.lock").open("w") as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        with pytest.raises(SemifError, match=r"did not start\n  .*another local AWS runs"):
            local_server.ensure_server(root, region=None)


def test_tied_to_a_command_it_ends_with_it_even_when_that_is_killed(root: Path) -> None:
    script = (
        "import pathlib, sys; from semif.target import local_server;"
        "local_server.ensure_server(pathlib.Path(sys.argv[1]), region=None, tied=True);"
        "print('up', flush=True);"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == b"up\n"
        assert local_server.find_server(root) is not None
        command.send_signal(signal.SIGKILL)
    wait_for_end(root)
    assert local_server.find_server(root) is None
