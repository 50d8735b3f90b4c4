"""What a server says ends no command in a traceback, and steers no terminal."""

import json
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from semif.cli import main
from tests.support.servers.running import running
from tests.support.servers.scripted_adapter import Reply, ScriptedAdapter

STEERING = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\r\x08"
DECISION = {
    "id": "a",
    "state": "x",
    "question": "?",
    "options": [{"id": "yes", "description": "yes"}, {"id": "no", "description": "no"}],
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="semif")


@pytest.fixture
def decide(tmp_path: Path) -> Callable[..., Result]:
    """`semif decide` at an adapter that first gives these replies."""
    file = tmp_path / "decision.json"
    file.write_text(json.dumps(DECISION))

    def ask(*replies: Reply) -> Result:
        with running(ScriptedAdapter(*replies)) as server:
            return run("decide", "--url", server.url, str(file))

    return ask


def error_body(**more: object) -> bytes:
    error = {"code": STEERING, "message": f"one{STEERING}two", "path": f"decision{STEERING}"}
    return json.dumps({"error": error, "retryable": True, **more}).encode()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (503, error_body(retry_after_seconds=0.0)),
        (400, error_body()),
        (500, STEERING.encode()),
        (422, json.dumps({"detail": [{"loc": [STEERING], "msg": STEERING, "type": STEERING}]}).encode()),
        (200, json.dumps({STEERING: 1}).encode()),
    ],
)
def test_a_servers_words_do_not_steer_the_terminal(
    decide: Callable[..., Result], status: int, body: bytes
) -> None:
    done = decide((status, {"Retry-After": "0"}, body))
    told = done.stdout + done.stderr
    assert told
    assert all(letter.isprintable() for letter in told.replace("\n", ""))
    if status == 503:
        assert done.exit_code == 0
        assert "semif: attempt 1 was answered 503" in done.stderr


@pytest.mark.parametrize("leap", [86_400.0, -86_400.0])
def test_a_clock_that_is_set_anew_changes_no_retry(
    decide: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, leap: float
) -> None:
    """As NTP and sleeping laptops do it: waiting is counted by a clock that nobody sets."""
    leaps = count(1)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + next(leaps) * leap)
    done = decide(*[(503, {}, error_body(retry_after_seconds=0.0))] * 4)
    assert done.exit_code == 0, done.stderr
    assert "semif: attempt 4 was answered 503" in done.stderr


LOCATIONS = (
    "http://[",
    "http://127.0.0.1:99999/",
    "ftp://example.invalid/",
    "javascript:alert(1)",
    "//",
    "http://",
    "",
    "/\x1b[2J\x9b31m\x07",
    None,
)


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_to_nowhere_is_one_line(
    decide: Callable[..., Result], location: str | None, status: int
) -> None:
    headers = {} if location is None else {"Location": location}
    done = decide((status, headers, b""))
    assert done.exit_code == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("semif: ")
    assert f"answered {status} and " in line
    assert line.isprintable()


# urllib3 lets the connection go unclosed where it cannot parse the new address.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("location", LOCATIONS)
def test_a_hub_that_redirects_to_nowhere_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str | None
) -> None:
    """The look-up is not followed, the download of a file is."""
    headers = {} if location is None else {"Location": location}
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "small.toml").write_text(
        'description = "small"\nlicense = "MIT"\nquantization = "F32"\n'
        f'[model]\nsource = "hf://owner/repo"\nrevision = "{"4" * 40}"\nfile = "x.gguf"\nbytes = 9\n'
        f'sha256 = "{"a" * 64}"\n[prompt]\nreadout = "text"\n'
    )
    monkeypatch.setenv("SEMIF_PROJECT", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for arguments in (
        ("model", "pin", "hf:owner/repo", "x-F16.gguf"),
        ("model", "build", "small", "--output", str(tmp_path / "out")),
    ):
        with running(ScriptedAdapter(*[(302, headers, b"")] * 9)) as server:
            monkeypatch.setenv("HF_ENDPOINT", server.url)
            done = run(*arguments)
        assert done.exit_code == 1
        [line] = done.stderr.splitlines()
        assert line.startswith("semif: ")
        assert line.isprintable()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("location", LOCATIONS)
def test_a_registry_that_redirects_to_nowhere_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str | None
) -> None:
    headers = {} if location is None else {"Location": location}
    with running(ScriptedAdapter(*[(302, headers, b"")] * 9)) as server:
        done = run("image", "pin", "cpu", "--check", "--registry", server.url)
    assert done.exit_code == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("semif: ")
    assert line.isprintable()
