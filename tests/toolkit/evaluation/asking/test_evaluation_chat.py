"""`semif evaluate run --as chat` against an LLM behind an API: its model, prompts, keys and replies."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from semif.aws.clients import Aws
from semif.cli import main
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.evaluation.asking.forms.chat import ChatForm
from semif.evaluation.asking.forms.chat_request import body_request, chat_request
from semif.evaluation.asking.targets import endpoint_target
from semif.evaluation.runs.run_file import read_run
from semif.evaluation.tasks.labelled_tasks import LabelledTask
from semif.evaluation.tasks.option_orders import OrderedTask
from semif.project.root import project_root
from semif.target.target import Target
from semif_adapter.contract.wire import Option
from tests.support.servers.running import running
from tests.support.servers.stand_in import StandIn

KEY = "sk-secret-of-this-test"
TASKS = [
    {"id": "t1", "state": "Charged twice.", "expected": "billing"},
    {"id": "t2", "state": {"text": "Where is it?"}, "expected": "shipping"},
    {"id": "t3", "state": "Hm.", "expected": "billing"},
]


def evaluate(*arguments: str | Path, **variables: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["evaluate", "run", *map(str, arguments)], env=variables)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    asked = {"question": "Which team?", "options": [{"id": "billing"}, {"id": "shipping"}]}
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(task | asked) + "\n" for task in TASKS))
    return path


def completes(number: int, path: str, document: Any) -> tuple[int, bytes]:
    """In JSON, as the system prompt wants it; it repeats the key, as a careless server might."""
    answer = ["billing", "Billing", "shipping", "I cannot tell"][number]
    words = json.dumps({"team": answer, "key": KEY})
    return 200, json.dumps({"model": "llm-1", "choices": [{"message": {"content": words}}]}).encode()


def test_a_chat_is_asked_as_its_program_asks_it(tasks: Path, tmp_path: Path) -> None:
    system = tmp_path / "system.txt"
    system.write_text('Answer in JSON: {"team": "billing" or "shipping"}')
    output = tmp_path / "run.jsonl"
    with running(StandIn(completes)) as server:
        how = ("--as", "chat", "--model", "llm-1", "--system", f"@{system}", "--prompt", "Ticket: {state}")
        found = ("--answer-path", "choices[0].message.content", "--answer-path", "team")
        headers = ("--header", "Authorization: Bearer env:LLM_KEY", "--header", "X-Project: tickets")
        command = ("--url", f"{server.url}/v1", *how, *found, *headers, tasks, "-o", output)
        status, report, said = evaluate(*command, LLM_KEY=KEY)
        assert status == 0, said
        assert evaluate(*command, "--max-tokens", "9", LLM_KEY=KEY)[0] == 1  # another request: another run
    assert server.seen[1] == {
        "model": "llm-1",
        "messages": [
            {"role": "system", "content": system.read_text()},
            {"role": "user", "content": "Ticket: Charged twice."},
        ],
        "temperature": 0,
        "max_tokens": 64,
    }
    assert server.headers[1]["Authorization"] == f"Bearer {KEY}"
    assert server.headers[1]["X-Project"] == "tickets"
    kept = read_run(output)
    assert [(one.status, one.choice) for one in kept.records] == [
        ("answered", "billing"),
        ("answered", "shipping"),
        ("unparsable", None),
    ]
    assert kept.header.pins.model_name == "llm-1"
    assert kept.header.pins.request is not None
    assert "words that name no option" in report
    assert "left out: no answer has any" in " ".join(report.split())
    for told in (output.read_text(), report, said):
        assert KEY not in told


def test_a_key_that_is_refused_is_not_asked_for_in_another_variable(tasks: Path, tmp_path: Path) -> None:
    with running(StandIn(lambda number, path, document: (401, b"no such key: " + KEY.encode()))) as server:
        command = ("--url", server.url, "--as", "chat", tasks, "-o", tmp_path / "run.jsonl")
        status, _, said = evaluate(*command)
        assert (status, "set SEMIF_API_KEY" in said) == (1, True)
        status, _, said = evaluate(*command, "--header", "Authorization: Bearer env:LLM_KEY", LLM_KEY=KEY)
    assert (status, "answered 401" in said, "SEMIF_API_KEY" in said, KEY in said) == (1, True, False, False)


def test_an_api_of_ones_own_is_asked_with_its_own_body(tasks: Path, tmp_path: Path) -> None:
    body, output = tmp_path / "body.json", tmp_path / "run.jsonl"
    body.write_text(json.dumps({"document": {"text": "{state}"}, "labels": ["billing"], "n": 1}))

    def classifies(number: int, path: str, document: Any) -> tuple[int, bytes]:
        assert path == "/predict"
        return 200, json.dumps({"result": {"label": "billing"}}).encode()

    with running(StandIn(classifies)) as server:
        url = f"{server.url}/predict"
        how = ("--as", "chat", "--body", body, "--answer-path", "result.label")
        status, _, said = evaluate("--url", url, *how, tasks, "-o", output)
    assert status == 0, said
    assert server.seen[2] == {"document": {"text": '{"text":"Where is it?"}'}, "labels": ["billing"], "n": 1}
    assert [one.choice for one in read_run(output).records] == ["billing"] * 3


@pytest.mark.parametrize("status", [200, 302, 401])
def test_a_key_that_a_server_repeats_is_kept_nowhere(tasks: Path, tmp_path: Path, status: int) -> None:
    """In a reply, as JSON has it; in an error; in the address that it sends on to."""
    key, output = 'sk-"quoted\\key"-of-this-test', tmp_path / "run.jsonl"
    inside = json.dumps(key)[1:-1]

    def repeats(number: int, path: str, document: Any) -> tuple[int, bytes]:
        if status == 302:
            return status, f"http://127.0.0.1/login?key={key}".encode()
        reply = {"model": f"m {key}", "choices": [{"message": {"content": key}}], "error": {"message": key}}
        return status, json.dumps(reply).encode()

    with running(StandIn(repeats)) as server:
        command = ("--url", server.url, "--as", "chat", "--header", "X-Api-Key: env:LLM_KEY")
        _, report, said = evaluate(*command, tasks, "-o", output, LLM_KEY=key)
    for told in (output.read_text() if output.exists() else "", report, said):
        assert key not in told
        assert inside not in told


def test_a_slash_may_end_the_address_of_an_api_of_ones_own(tasks: Path, tmp_path: Path) -> None:
    paths, body = [], tmp_path / "body.json"
    body.write_text('{"text": "{state}"}')

    def answers(number: int, path: str, document: Any) -> tuple[int, bytes]:
        paths.append(path)
        return 200, b'["billing"]'

    with running(StandIn(answers)) as server:
        how = ("--as", "chat", "--body", body, "--answer-path", "[0]", "--limit", "1")
        evaluate("--url", f"{server.url}/predict/", *how, tasks, "-o", tmp_path / "run.jsonl")
    assert set(paths) == {"/predict/"}


@pytest.mark.parametrize("base", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_the_address_may_be_a_base_or_whole(tasks: Path, tmp_path: Path, base: str) -> None:
    paths = []

    def completes(number: int, path: str, document: Any) -> tuple[int, bytes]:
        paths.append(path)
        return 200, b'{"choices": [{"message": {"content": "A"}}]}'

    with running(StandIn(completes)) as server:
        command = ("--url", f"{server.url}{base}", "--as", "chat", tasks, "-o", tmp_path / "run.jsonl")
        assert evaluate(*command, "--limit", "1")[0] == 0
    assert set(paths) == {"/v1/chat/completions"}


def test_an_environment_that_answers_in_another_way_is_not_asked_as_a_chat(tmp_path: Path) -> None:
    where = Target(
        project_root(), load_environment("dev"), Aws("eu-west-1"), "111122223333",
        tmp_path / "dev.lock.json", local=False, poll_seconds=0,
    )  # fmt: skip
    with pytest.raises(SemifError, match="dev is asked as decision; leave out what is for --as chat"):
        endpoint_target(where, None, connections=1, chat=chat_request(model="m"))


URL = ("--url", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((*URL, "--model", "m"), 2, "--model is for --as chat"),
        ((*URL, "--as", "chat", "--model", "m", "--body", "b.json"), 2, "--body is the whole request"),
        (("dev", "--as", "chat", "--header", "A: b"), 2, "--header is for --url"),
        ((*URL, "--as", "chat", "--prompt", "Which?"), 1, "the prompt has no {state}"),
        ((*URL, "--as", "chat", "--answer-path", "choices.0"), 1, "'choices.0' is no JMESPath expression"),
        ((*URL, "--as", "chat", "--answer-path", "[" * 9000), 1, "is no JMESPath expression"),
        ((*URL, "--header", "no header"), 1, "write NAME: VALUE"),
        ((*URL, "--header", "Content-Type: text/plain"), 1, "semif writes it itself"),
        ((*URL, "--header", f"Authorization: Bearer {KEY}"), 1, "write 'Authorization: env:VARIABLE'"),
        ((*URL, "--header", "X-Api-Key: env:NOT_THERE"), 1, "NOT_THERE is not set"),
    ],
)
def test_what_cannot_be_asked_is_told_before_anything_is(
    tasks: Path, tmp_path: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    output = tmp_path / "run.jsonl"
    found, _, error = evaluate(*arguments, tasks, "-o", output)
    assert found == status
    assert said in error
    assert KEY not in error
    assert not output.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "{name} is not JSON, see line 1 column 2"),
        (b"", "{name} is not JSON, see line 1 column 1"),
        (b'\xff"{state}"', "{name} is not UTF-8, see byte 0"),
        (b'{"a": ["{state}", NaN]}', "{name}: #0[1] is not a finite number"),
        (b'{"a": "{state}", "a": 1}', "{name}: #1 is a key that came before in this object"),
        (b"[" * 9000, "{name} is nested deeper than 64 levels"),
    ],
)
def test_what_is_wrong_with_a_document_is_said_once_and_by_its_name(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "body.json"
    path.write_bytes(content)
    with pytest.raises(SemifError) as caught:
        body_request(path)
    assert str(caught.value) == said.format(name=path)
    options = (Option(id="a"), Option(id="b"))
    asked = OrderedTask(LabelledTask("t", None, None, None, "Hm.", "Which?", options, "a"), 0, options)
    error = ChatForm().read(asked, content).error
    assert error is not None
    assert error.message == said.format(name="the reply")


def test_a_body_may_begin_with_the_mark_of_windows(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_bytes(b'\xef\xbb\xbf{"text": "{state}"}')
    assert body_request(tmp_path / "body.json").body == {"text": "{state}"}
