"""`semif serve` and `semif decide --url`: the real command lines over real HTTP, on the embedded model."""

import json
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import urllib3
from click.testing import CliRunner

from semif.cli import main
from semif.client.retry import Clock
from semif.progress import silent
from semif.project.root import project_root
from semif.serve.local_adapter import adapter_environment
from tests.support.servers.sagemaker_stand_in import HANG_UP, Reply, StandIn, adapter_error
from tests.support.servers.serving import SEMIF, free_port

SYSTEM_ONE = project_root() / "examples" / "systemone.json"
OPENAI = project_root() / "examples" / "openai-decisions.json"
REQUESTS = set((project_root() / "examples").glob("*.json"))
EXAMPLES = sorted(
    path for path in REQUESTS - {SYSTEM_ONE, OPENAI} if not path.name.endswith(".calibration.json")
)


@pytest.fixture
def url(short_url: str) -> str:
    return short_url


def decide(*arguments: str, text: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["decide", *arguments], input=text)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_answered_with_probabilities(url: str, example: Path) -> None:
    status, output, _ = decide("--url", url, str(example), "--json")
    assert status == 0
    reply = json.loads(output)
    request = json.loads(example.read_bytes())
    decisions = request.get("decisions") or [request["decision"]]
    results = reply.get("results") or [reply["result"]]
    for decision, result in zip(decisions, results, strict=True):
        assert result["option_ids"] == [option["id"] for option in decision["options"]]
        assert sum(result["probabilities"]) == pytest.approx(1)


def test_nobody_elses_name_reaches_the_adapter(url: str) -> None:
    """A web page elsewhere could have its own name point to this machine, and ask."""
    port = url.rpartition(":")[2]
    for name, status in (("localhost", 200), ("127.0.0.1", 200), ("rebound.example", 400)):
        assert urllib3.request("GET", f"{url}/ping", headers={"host": f"{name}:{port}"}).status == status


@pytest.mark.parametrize("path", ["/v1/systemone", "/invocations"])
def test_the_system_one_example_is_answered(url: str, path: str) -> None:
    reply = urllib3.request(
        "POST",
        url + path,
        body=SYSTEM_ONE.read_bytes(),
        headers={"content-type": "application/json"},
        timeout=60,
    )
    assert reply.status == 200
    assert reply.json()["answers"].keys() == json.loads(SYSTEM_ONE.read_bytes())["questions"].keys()


def test_system_ones_answers_are_shown_as_they_came(url: str) -> None:
    status, output, _ = decide("--url", url, str(SYSTEM_ONE))
    assert status == 0
    assert json.loads(output)["answers"].keys() == json.loads(SYSTEM_ONE.read_bytes())["questions"].keys()


def test_openais_answers_are_shown_as_they_came(url: str) -> None:
    status, output, _ = decide("--url", url, str(OPENAI))
    assert status == 0
    asked = json.loads(OPENAI.read_bytes())["questions"]
    assert [answer["name"] for answer in json.loads(output)["answers"]] == [each["name"] for each in asked]


def test_the_bars_name_question_and_options(url: str) -> None:
    status, output, _ = decide("--url", url, str(project_root() / "examples" / "routing.json"))
    assert status == 0
    assert output.startswith("ticket-4711: Which team should handle this ticket?")
    assert all(option in output for option in ("billing", "shipping", "technical", "█", " %"))


def test_a_load_is_sized_from_the_adapters_own_rate(url: str) -> None:
    arguments = ["size", "demo", "--rps", "1", "--tokens", "20", "--url", url, "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["tokens_per_second"] > 0
    assert document["size"]["service_seconds"] == pytest.approx(20 / document["tokens_per_second"])


def test_a_lone_decision_comes_from_standard_input(url: str) -> None:
    decision = {"id": "a", "state": "s", "question": "q", "options": [{"id": "x"}, {"id": "y"}]}
    status, output, _ = decide("--url", url, "-", "--json", text=json.dumps(decision))
    assert status == 0
    assert json.loads(output)["result"]["id"] == "a"


def test_the_adapters_refusal_is_one_line(url: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    file.write_text('{"id": "a", "state": "s", "question": "q", "options": [{"id": "x"}], "hue": "mauve"}')
    status, output, error = decide("--url", url, str(file))
    assert status == 1
    assert output == ""
    assert error.startswith(f"semif: {url}/invocations answered 400 invalid_request")
    assert error.count("\n") == 1
    assert "mauve" not in error


def test_a_repeated_request_is_told_on_standard_error(
    stand_in: StandIn, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Clock, "sleep", lambda *_: None)
    stand_in.behind = url
    stand_in.script = [Reply(503, adapter_error("overloaded", retry_after_seconds=2)), HANG_UP]
    status, output, error = decide("--url", stand_in.url, str(EXAMPLES[0]), "--json")
    assert status == 0
    assert json.loads(output)
    first, second = error.splitlines()
    assert re.fullmatch(r"semif: attempt 1 was answered 503 overloaded, the next is in 2\.\d s", first)
    assert re.fullmatch(r"semif: attempt 2 got no answer, the next is in 0\.\d s", second)


def test_the_key_of_the_environment_is_sent_and_not_told(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMIF_API_KEY", "tulip")
    stand_in.script = [Reply(401, adapter_error("authentication_error"))]
    status, output, error = decide("--url", stand_in.url, str(EXAMPLES[0]))
    assert (status, output, "tulip" in error, "set SEMIF_API_KEY" in error) == (1, "", False, False)
    assert stand_in.headers[0]["Authorization"] == "Bearer tulip"
    monkeypatch.delenv("SEMIF_API_KEY")
    stand_in.script = [Reply(401, adapter_error("authentication_error"))]
    status, output, error = decide("--url", stand_in.url, str(EXAMPLES[0]))
    assert (status, output, error.endswith("; set SEMIF_API_KEY\n")) == (1, "", True)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "give ENV and FILE, or --url URL and FILE"),
        (("demo",), 2, "give ENV and FILE"),
        (("demo", "a.json", "--url", "http://127.0.0.1"), 2, "give ENV and FILE"),
        (("a.json", "--url", "http://127.0.0.1", "--local"), 2, "give one"),
        (("a.json", "--url", ""), 1, "cannot read a.json"),
        (("-", "--url", ""), 1, "semif: '' cannot be asked: an address is http:// or https://"),
        (("demo", "/nowhere/a.json"), 1, "semif: cannot read /nowhere/a.json: no such file or directory"),
        (("nothing", "-"), 1, "semif: there is no environment"),
    ],
)
def test_wrong_usage_is_2_and_a_failure_1(arguments: tuple[str, ...], status: int, message: str) -> None:
    found, _, error = decide(*arguments, text="{}")
    assert found == status
    assert message in error


def serve(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SEMIF, "serve", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def test_a_taken_port_and_a_missing_model_are_told_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        busy = serve("embedded", "--port", port)
    assert (busy.returncode, busy.stdout) == (1, "")
    assert busy.stderr == (
        f"semif: 127.0.0.1:{port} cannot be listened on: address already in use; choose another --port\n"
    )
    absent = serve(str(tmp_path / "absent.gguf"), "--port", str(free_port()))
    assert absent.returncode == 1
    assert "absent.gguf is not a file" in absent.stderr


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("SEMIF_LAYUOT", "SEMIF_LAYUOT is not a setting"),
        ("SEMIF_N_GPU_LAYERS", "is called SEMIF_GPU_LAYERS here"),
        ("SEMIF_THREADS", "SEMIF_THREADS=many is not allowed"),
    ],
)
def test_a_setting_that_is_none_is_told_before_anything_is_fetched(
    monkeypatch: pytest.MonkeyPatch, variable: str, message: str
) -> None:
    monkeypatch.setenv(variable, "many")
    result = CliRunner().invoke(main, ["serve", "qwen3.5-0.8b", "--port", str(free_port())])
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["m-00001-of-00002.gguf", "m-00001-of-00001.gguf", "M.GGUF"])
def test_links_of_a_hubs_cache_are_served_by_their_own_names(
    small_gguf: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    """The blob's name is a hash: it says neither that it is a GGUF nor which part of one."""
    blob = small_gguf("4f1e0a").rename(tmp_path / "4f1e0a")
    link = tmp_path / "snapshots" / name
    link.parent.mkdir()
    link.symlink_to(blob)
    variables = adapter_environment(str(link), host="127.0.0.1", port=free_port(), progress=silent)
    assert variables["SEMIF_GGUF"] == str(link)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"<!DOCTYPE html>", "is no model: it is a web page"),
        (b"version https://git-lfs.github.com/spec/v1", "is no model: it is a Git LFS pointer"),
        (b"GGUF\3\0\0\0", "is cut off in its header"),
    ],
)
def test_a_gguf_that_is_none_is_refused_before_it_is_said_to_be_served(
    tmp_path: Path, content: bytes, what: str
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    result = CliRunner().invoke(main, ["serve", str(path), "--port", str(free_port())])
    assert result.exit_code == 1
    assert what in result.stderr
    assert "serving" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_is_no_model_at_all_is_told_with_the_presets() -> None:
    result = CliRunner().invoke(main, ["serve", "README.md", "--port", str(free_port())])
    assert result.exit_code == 1
    assert result.stderr.startswith("semif: 'README.md' is neither a preset nor a path that ends in .gguf")
    assert "embedded" in result.stderr
