"""The adapter as a process, started as SageMaker starts it: exit statuses, signals, log lines."""

import http.client
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from semif.project.root import project_root
from semif_adapter.archive.manifest import MANIFEST_FILE
from semif_adapter.contract.settings import Settings
from semif_adapter.http.server import EXIT_ENGINE_DEAD, EXIT_UNFINISHED
from tests.support.machine.waiting import eventually
from tests.support.servers.adapter_process import Adapter, Document
from tests.support.servers.waiting_engine import WAITING_ENGINE


def wait_until_it_serves(adapter: Adapter) -> None:
    eventually(adapter.ping, lambda status: status == 200)


def pinged_to_its_end(adapter: Adapter) -> tuple[int, str, set[int]]:
    """Its exit status, its log, and what `/ping` answered until then."""
    pings: set[int] = set()

    def ended() -> bool:
        pings.add(adapter.ping())
        return adapter.process.poll() is not None

    eventually(ended)
    return (*adapter.end(), pings)


@contextmanager
def running(adapter: Adapter, decision: Document) -> Iterator["Future[tuple[int, Document]]"]:
    """A request that the engine works on, until `go_on`."""
    adapter.go_on()
    wait_until_it_serves(adapter)
    with ThreadPoolExecutor() as callers:
        request = callers.submit(adapter.ask, {"decision": decision})
        adapter.wait_for_line("waiting")
        yield request


def test_without_settings_it_listens_where_sagemaker_asks() -> None:
    settings = Settings.from_env({})
    assert (settings.host, settings.port) == ("0.0.0.0", 8080)


@pytest.mark.parametrize("arguments", [["train"], ["serve", "now"], ["--help"]])
def test_an_unknown_argument_is_a_usage_error(start: Callable[..., Adapter], arguments: list[str]) -> None:
    status, log = start("-m", "semif_adapter", *arguments).end()
    assert status >= 64
    assert log.count("\n") == 1
    assert "the only one is serve" in log


@pytest.mark.parametrize("arguments", [["serve"], []])
def test_it_serves_until_it_is_stopped(
    start: Callable[..., Adapter],
    tiny_gguf: Callable[..., Path],
    library_dir: Path,
    decision: Document,
    arguments: list[str],
) -> None:
    adapter = start(
        "-m", "semif_adapter", *arguments, SEMIF_GGUF=str(tiny_gguf()), SEMIF_LIBRARY_DIR=str(library_dir)
    )

    def ping() -> int:
        assert adapter.process.poll() is None
        return adapter.ping()

    eventually(ping, lambda status: status not in {0, 503})
    status, reply = adapter.ask({"decision": decision})
    assert status == 200
    assert reply["result"]["model"]["name"] == "tiny-qwen3"
    adapter.process.send_signal(signal.SIGTERM)
    assert adapter.end()[0] == 0


def test_a_missing_model_ends_the_process_with_one_line(
    start: Callable[..., Adapter], tmp_path: Path
) -> None:
    adapter = start("-m", "semif_adapter", "serve", SEMIF_GGUF=str(tmp_path / "no.gguf"))
    status, log, pings = pinged_to_its_end(adapter)
    assert 1 <= status < 64
    errors = [line for line in log.splitlines() if not line.startswith("{")]
    assert len(errors) == 1
    assert errors[0].startswith("semif_adapter: cannot start: ")
    assert "no.gguf" in errors[0]
    assert pings <= {0, 503}


def test_a_reason_of_any_length_is_told(start: Callable[..., Adapter], tmp_path: Path) -> None:
    """What is over a megabyte the log drops, since nobody may wait for its reader."""
    unknown = {f"k{number}": 1 for number in range(30_000)}
    (tmp_path / MANIFEST_FILE).write_text(json.dumps(unknown))

    _, log = start("-m", "semif_adapter", "serve", SEMIF_MODEL_DIR=str(tmp_path)).end()

    assert "is not a model manifest: preset: Field required" in log.splitlines()[-1]
    assert log.endswith("and more\n")


def test_a_model_whose_name_is_no_unicode_is_served(
    start: Callable[..., Adapter],
    tmp_path: Path,
    tiny_gguf: Callable[..., Path],
    library_dir: Path,
    decision: Document,
) -> None:
    path = tmp_path / os.fsdecode(b"\xff.gguf")
    path.write_bytes(tiny_gguf().read_bytes())
    adapter = start("-m", "semif_adapter", "serve", SEMIF_GGUF=str(path), SEMIF_LIBRARY_DIR=str(library_dir))
    adapter.wait_ready()

    _, reply = adapter.ask({"decision": decision})

    assert reply["result"]["model"]["file"] == r"\udcff.gguf"


def test_a_truncated_model_never_gets_ready(
    start: Callable[..., Adapter], tmp_path: Path, tiny_gguf: Callable[..., Path], library_dir: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    whole = tiny_gguf().read_bytes()
    broken.write_bytes(whole[: len(whole) * 9 // 10])
    adapter = start(
        "-m", "semif_adapter", "serve", SEMIF_GGUF=str(broken), SEMIF_LIBRARY_DIR=str(library_dir)
    )
    status, log, pings = pinged_to_its_end(adapter)
    assert 1 <= status < 64
    assert "cannot start: " in log.splitlines()[-1]
    assert "Traceback" not in log
    assert pings <= {0, 503}


def test_a_wrong_setting_is_named(start: Callable[..., Adapter]) -> None:
    status, log = start("-m", "semif_adapter", "serve", SEMIF_STREAMS="1", SEMIF_THREDS="2").end()
    assert 1 <= status < 64
    assert log.count("\n") == 1
    assert "SEMIF_STREAMS=1" in log
    assert "SEMIF_THREDS" in log


def test_a_port_in_use_is_named(start: Callable[..., Adapter], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        status, log = start("-m", "semif_adapter", "serve", SEMIF_PORT=port).end()
    assert 1 <= status < 64
    assert log.count("\n") == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_finishes_the_running_decision_and_exits_0(
    waiting: Adapter, decision: Document, number: signal.Signals
) -> None:
    with running(waiting, decision) as request:
        waiting.process.send_signal(number)
        eventually(waiting.ping, lambda status: status != 200)
        status, reply = waiting.ask({"decision": decision})
        assert (status, reply["error"]["code"]) == (503, "draining")
        assert waiting.process.poll() is None
        waiting.go_on()
        assert request.result()[0] == 200
    status, log = waiting.end()
    assert status == 0
    assert "Traceback" not in log


def test_a_terminal_that_closes_twice_loses_no_answer(waiting: Adapter, decision: Document) -> None:
    with running(waiting, decision) as request:
        for _ in range(2):
            waiting.process.send_signal(signal.SIGHUP)
            eventually(waiting.ping, lambda status: status != 200)
        waiting.go_on()
        assert request.result()[0] == 200
    assert waiting.end()[0] == 0


def test_under_nohup_a_terminal_may_close(start: Callable[..., Adapter], decision: Document) -> None:
    program = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{WAITING_ENGINE}"
    adapter = start("-c", program, PYTHONPATH=str(project_root()))
    adapter.wait_for_line("waiting")
    with running(adapter, decision) as request:
        adapter.process.send_signal(signal.SIGHUP)
        assert adapter.ping() == 200
        adapter.go_on()
        assert request.result()[0] == 200


def test_a_stop_while_the_model_loads_exits_0(waiting: Adapter) -> None:
    assert waiting.ping() == 503
    waiting.process.send_signal(signal.SIGTERM)
    status, log = waiting.end()
    assert status == 0
    assert "Traceback" not in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("program", ["semif_adapter", "semif.serve"])
def test_a_stop_while_python_still_imports_exits_0(
    start: Callable[..., Adapter], tmp_path: Path, program: str, number: signal.Signals
) -> None:
    """As the container's process 1 it would hear of no stop, and elsewhere end by the signal."""
    (tmp_path / "uvicorn.py").write_text("print('waiting', flush=True)\ninput()")
    adapter = start("-m", program, "serve", PYTHONPATH=str(tmp_path))
    adapter.wait_for_line("waiting")
    adapter.process.send_signal(number)
    assert adapter.end() == (0, "")


@pytest.mark.parametrize(
    ("path", "status", "code"), [("/invocations", 503, "draining"), ("/x", 404, "not_found")]
)
def test_a_stop_tells_an_upload_that_is_not_complete(
    waiting: Adapter, path: str, status: int, code: str
) -> None:
    """What it still sends is read first, for as long as there is time."""
    waiting.go_on()
    wait_until_it_serves(waiting)
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
    with socket.create_connection(("127.0.0.1", waiting.port), timeout=60) as connection:
        connection.sendall(f"{head}Content-Length: 9\r\n\r\n".encode())
        assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"  # the body is being read
        waiting.process.send_signal(signal.SIGTERM)
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert (response.status, json.loads(response.read())["error"]["code"]) == (status, code)
    exit_status, log = waiting.end()
    assert exit_status == 0
    assert "without starting response" not in log


def test_only_changes_of_state_are_logged(waiting: Adapter) -> None:
    assert [waiting.ping() for _ in range(10)] == [503] * 10
    waiting.go_on()
    wait_until_it_serves(waiting)
    assert [waiting.ping() for _ in range(100)] == [200] * 100
    assert waiting.ask({})[0] == 400
    waiting.process.send_signal(signal.SIGTERM)
    _, log = waiting.end()
    lines = [json.loads(line) for line in log.splitlines()]
    messages = [line["message"] for line in lines]
    assert messages[0].startswith("model: ")
    assert messages[1:] == ["state: ready", "request", "state: draining"]
    ready = lines[1]["model"]
    assert (ready["invariant"], ready["gpu_layers"], ready["llama_cpp_build"]) == (True, 0, "b0")
    assert (lines[2]["path"], lines[2]["status"]) == ("/invocations", 400)


def test_a_second_signal_ends_the_process_at_once(waiting: Adapter, decision: Document) -> None:
    with running(waiting, decision) as request:
        waiting.process.send_signal(signal.SIGTERM)
        eventually(waiting.ping, lambda status: status != 200)
        waiting.process.send_signal(signal.SIGTERM)
        status, log = waiting.end()
        assert status == EXIT_UNFINISHED
        assert "at the second signal" in log
        assert "Traceback" not in log
        assert request.result()[0] == 0


def test_what_is_not_answered_within_the_grace_time_is_told_so(
    start_waiting: Callable[..., Adapter], decision: Document
) -> None:
    adapter = start_waiting(SEMIF_DRAIN_SECONDS="0.5")
    with running(adapter, decision) as request:
        adapter.process.send_signal(signal.SIGTERM)
        status, reply = request.result()
        assert (status, reply["error"]["code"], reply["retryable"]) == (503, "draining", True)
    status, log = adapter.end()
    assert status == EXIT_UNFINISHED
    assert "stopping with requests unanswered after 0.5 seconds" in log
    assert "Traceback" not in log


def test_a_dead_engine_ends_the_process_and_answers_what_waits(waiting: Adapter, decision: Document) -> None:
    with running(waiting, decision) as request, ThreadPoolExecutor() as callers:
        queued = callers.submit(waiting.ask, {"decision": decision | {"id": "queued"}})
        eventually(waiting.metrics, lambda text: "semif_queue_depth 1" in text)
        waiting.go_on("dead")
        assert request.result()[0] == 500
        status, reply = queued.result()
        assert (status, reply["error"]["code"]) == (500, "engine_error")
    status, log = waiting.end()
    assert status == EXIT_ENGINE_DEAD
    assert [line for line in log.splitlines() if "engine dead: ValueError" in line]
    assert "Traceback" not in log


def test_a_fault_alone_does_not_end_the_process(waiting: Adapter, decision: Document) -> None:
    with running(waiting, decision) as request:
        waiting.go_on("fault")
        assert request.result()[0] == 500
    assert waiting.ping() == 200


def test_an_illegal_instruction_is_named_as_the_process_dies(waiting: Adapter, decision: Document) -> None:
    with running(waiting, decision) as request:
        waiting.go_on("kill")
        assert request.result()[0] == 0
    status, log = waiting.end()
    assert status == -signal.SIGILL
    assert log.count("Fatal Python error: Illegal instruction") == 1


def test_a_gpu_that_is_not_there_ends_the_process(
    start: Callable[..., Adapter], tiny_gguf: Callable[..., Path], library_dir: Path
) -> None:
    status, log = start(
        "-m",
        "semif_adapter",
        SEMIF_GGUF=str(tiny_gguf()),
        SEMIF_LIBRARY_DIR=str(library_dir),
        SEMIF_GPU_LAYERS="-1",
    ).end()
    assert 1 <= status < 64
    assert "cannot start: SEMIF_GPU_LAYERS=-1 asks for a GPU" in log.splitlines()[-1]


def test_a_request_is_one_json_line_with_its_ids_and_figures(
    start_waiting: Callable[..., Adapter], decision: Document
) -> None:
    adapter = start_waiting(SEMIF_METRICS="emf", SEMIF_ENDPOINT_NAME="semif-dev")
    adapter.go_on()
    wait_until_it_serves(adapter)
    adapter.go_on()
    ids = {
        "X-Amzn-SageMaker-Custom-Attributes": "trace=7",
        "X-Amzn-SageMaker-Inference-Id": "i-1",
        "X-Amzn-Trace-Id": "Root=1-2-3",
    }
    connection = http.client.HTTPConnection("127.0.0.1", adapter.port, timeout=60)
    body = json.dumps({"decision": decision})
    connection.request("POST", "/invocations", body, {"content-type": "application/json", **ids})
    response = connection.getresponse()
    assert response.read()
    connection.close()
    assert response.headers["X-Amzn-SageMaker-Custom-Attributes"] == "trace=7"
    assert response.headers["X-Amzn-Trace-Id"] == "Root=1-2-3"
    adapter.process.send_signal(signal.SIGTERM)
    out, log = adapter.process.communicate(timeout=60)

    (line,) = [line for line in map(json.loads, log.splitlines()) if line["message"] == "request"]
    assert line["request_id"] == response.headers["x-request-id"]
    assert line["custom_attributes"] == "trace=7"
    assert line["inference_id"] == "i-1"
    assert line["trace_id"] == "Root=1-2-3"
    assert (line["level"], line["path"], line["status"]) == ("INFO", "/invocations", 200)
    assert (line["decisions"], line["options"], line["body_bytes"]) == (1, 2, len(body))
    assert line["total_seconds"] >= line["score_seconds"] + line["queue_seconds"] > 0
    assert "customer" not in log

    figures = json.loads(out.splitlines()[-1])
    (directive,) = figures["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Semif"
    assert directive["Dimensions"] == [["Endpoint"]]
    assert figures["Endpoint"] == "semif-dev"
    for metric in directive["Metrics"]:
        assert metric["Name"] in figures
    assert (figures["Requests2xx"], figures["Decisions"], figures["AllowedTokenMass"]) == (1, 1, 1)


def test_the_log_level_is_a_setting(start_waiting: Callable[..., Adapter], decision: Document) -> None:
    adapter = start_waiting(SEMIF_LOG_LEVEL="ERROR")
    adapter.go_on()
    wait_until_it_serves(adapter)
    assert adapter.ask({})[0] == 400
    adapter.process.send_signal(signal.SIGTERM)
    assert adapter.end() == (0, "")
