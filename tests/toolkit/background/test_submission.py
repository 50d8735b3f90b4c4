"""What `semif submit` rests on: the file of requests, the state beside the output, SageMaker's answers."""

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import ANY, Stubber
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from semif.aws.aws_time import AwsTime
from semif.aws.clients import Aws
from semif.aws.s3 import S3Uri
from semif.background import line_records
from semif.background.queue.endpoint_queue import Accepted, EndpointQueue, UnknownError
from semif.background.queue.submission_state import SubmissionState, open_state
from semif.background.request_file import RequestFile
from semif.cli import main
from semif.client.errors import RequestRefusedError
from semif.errors import SemifError

GOOD = '{"decision": {"id": "a"}}'


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("decision", "{", "line 1 is not JSON"),
        ("decision", "[1]", "line 1 holds an array, a request is an object"),
        ("decision", '{"messages": []}', "line 1 asks for a chat completion"),
        ("text", GOOD, "line 1 has no messages"),
        ("text", '{"messages": [], "stream": true}', "line 1 asks for a stream"),
        ("decision", f'{{"id": {"9" * 5_000}}}', "line 1 holds a number with thousands of digits"),
        ("decision", "[" * 100_000, "line 1 is nested too deeply"),
        ("decision", json.dumps({"decision": "x" * 6_291_456}), "at most 6291456 are sent"),
        ("decision", b'{"id": "\xfc"}', "line 1 is not UTF-8: invalid start byte at byte 9"),
    ],
)
def test_lines_that_cannot_be_asked(tmp_path: Path, kind: Any, text: str | bytes, problem: str) -> None:
    (tmp_path / "file").write_bytes(text.encode() if isinstance(text, str) else text)
    with RequestFile(tmp_path / "file", kind) as file:
        (line,) = file.lines
    assert line.problem is not None
    assert problem in line.problem


def test_a_text_environment_takes_chat_completions_as_they_are(tmp_path: Path) -> None:
    text = b'{"messages": [{"role": "user", "content": "hello"}], "stream": false}'
    (tmp_path / "file").write_bytes(text)
    with RequestFile(tmp_path / "file", "text") as file:
        (line,) = file.lines
        assert (line.problem, file.body(line)) == (None, text)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    """Its lines are read twice, and a pipe that nobody writes to is never open."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(SemifError, match=f"cannot read {path}: it is a folder, a pipe or a device"):
            RequestFile(path, "decision")


def test_the_mark_before_utf8_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbf" + b'{"id": "\xc3\xbc"}\r\n')
    with RequestFile(tmp_path / "file", "decision") as file:
        (line,) = file.lines
        assert (line.problem, file.body(line)) == (None, b'{"decision": {"id": "\xc3\xbc"}}')


def test_a_file_that_changes_meanwhile_is_not_asked_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(GOOD)
    with RequestFile(tmp_path / "file", "decision") as file:
        assert file.body(file.lines[0]) == GOOD.encode()
        with (tmp_path / "file").open("a") as more:
            more.write("\n")
        with pytest.raises(SemifError, match="file was changed while it was asked"):
            file.body(file.lines[0])


@given(
    st.lists(
        st.sampled_from([GOOD, "", "  \t", '{"id": "ü"}', "no JSON", '{"questions": [\u2028]}', "\x85"]),
        min_size=1,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_every_line_is_found_where_it_is(lines: list[str], end: str, ended: bool) -> None:
    text = end.join(lines) + (end if ended else "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(text.encode())
        wanted = [number for number, line in enumerate(lines, start=1) if line.encode().strip()]
        if not wanted:
            with pytest.raises(SemifError, match="holds no requests"):
                RequestFile(path, "decision")
            return
        with RequestFile(path, "decision") as file:
            assert [line.number for line in file.lines] == wanted
            for line in file.lines:
                if line.problem is None:
                    written = json.loads(lines[line.number - 1])
                    assert json.loads(file.body(line)) in (written, {"decision": written})


def state_of(path: Path, **other: str) -> SubmissionState:
    facts = {"file_sha256": "f" * 64, "endpoint": "e", "account": "0", "region": "r"} | other
    return open_state(path, numbers=range(1, 10), **facts)


NUMBERS = st.integers(1, 3)
ACTS: st.SearchStrategy[Callable[[SubmissionState], None]] = st.one_of(
    st.builds(lambda number: lambda state: state.sending([(number, 1)], 1.0), NUMBERS),
    st.builds(
        lambda number: (
            lambda state: (
                state.accepted(number, f"s3://b/{number}", None, 2.0) if number in state.sent else None
            )
        ),
        NUMBERS,
    ),
    st.builds(
        lambda number: lambda state: state.send_again(number, 2) if number in state.sent else None, NUMBERS
    ),
    st.builds(lambda number: lambda state: state.end([line_records.invalid(number, "ü\u2028\n")]), NUMBERS),
)


@given(st.lists(ACTS, max_size=12), st.floats(0, 1))
def test_a_state_that_was_torn_anywhere_says_what_was_written_whole(
    acts: list[Callable[[SubmissionState], None]], share: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        seen = []
        with state_of(path) as state:
            job = state.header.job
            for act in [lambda _: None, *acts]:
                act(state)
                seen.append((path.stat().st_size, dict(state.sent), dict(state.attempts), dict(state.ended)))
        size = seen[0][0] + int(share * (path.stat().st_size - seen[0][0]))
        with path.open("r+b") as file:
            file.truncate(size)
        _, sent, attempts, ended = next(entry for entry in reversed(seen) if entry[0] <= size)
        with state_of(path) as again:
            assert again.header.job == job
            assert (again.sent, again.attempts, again.ended) == (sent, attempts, ended)
            again.end([line_records.invalid(9, "last")])
            assert [record["line"] for record in again.results(again.ended)] == list(again.ended)


def test_a_state_is_for_one_command_and_one_submission(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with state_of(path), pytest.raises(SemifError, match="another command is at work on"):
        state_of(path)
    for name in ("file_sha256", "endpoint", "account", "region"):
        with pytest.raises(
            SemifError, match=rf"is of another submission \({name.replace('_', ' ')} differ\)"
        ):
            state_of(path, **{name: "other"})
    for text in ("[]\n", "somebody's only line"):
        path.write_text(text)
        with pytest.raises(SemifError, match="is not the state of a submission"):
            state_of(path)
        assert path.read_text() == text
    path.write_text('{"schema')  # killed while it was begun
    state_of(path).close()


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state"
    long = line_records.invalid(2, "x" * 100_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with state_of(path) as state:
        state.sending([(1, 1)], 1.0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
        try:
            with pytest.raises(SemifError, match=r"cannot write \S+/state: file too large; what it holds is"):
                state.end([long])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with state_of(path) as again:
        assert (list(again.sent), again.ended) == ([1], {})
        again.end([long])
        assert list(again.results([2])) == [long]


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "{}",
        "no JSON",
        '{"accepted": 7}',
        '{"accepted": 7, "output": "s3://b/7", "failure": null, "time": 1.0}',  # it was not sent
        '{"sending": "2", "attempt": 1, "time": 1.0}',
        '{"sending": 2, "attempt": 0, "time": 1.0}',
        '{"sending": 10, "attempt": 1, "time": 1.0}',  # the file has nine
        '{"ended": {"status": "x"}}',
        '{"ended": {"line": 10, "status": "x"}}',
        '{"ended": {"line": 1, "status": "x"}, "sending": 1}',
    ],
)
def test_a_state_that_somebody_changed_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "state"
    with state_of(path) as state:
        state.sending([(1, 1)], 1.0)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(SemifError, match="line 3 is no record of a submission"):
        state_of(path)


@pytest.fixture
def queue() -> EndpointQueue:
    places = [S3Uri("b", key) for key in ("answers/j", "failures/j", "requests/j")]
    aws = Aws(region="eu-central-1", endpoint_url="http://127.0.0.1:9")
    return EndpointQueue(aws, "e", "j", *places, 900, 0.0)


def test_times_are_awss_whatever_this_machines_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is set would let lines run out, or send them twice."""
    began = parsedate_to_datetime("Mon, 30 Nov 2026 12:00:00 GMT").timestamp()
    clock = AwsTime()
    assert clock.now() == pytest.approx(time.time(), abs=5)
    clock.hear({"ResponseMetadata": {"HTTPHeaders": {"date": "Mon, 30 Nov 2026 12:00:00 GMT"}}})
    monkeypatch.setattr(time, "time", lambda: 0.0)
    for reply in ({}, {"ResponseMetadata": {"HTTPHeaders": {"date": "today"}}}):
        clock.hear(reply)
        assert clock.now() == pytest.approx(began, abs=60)


@pytest.mark.parametrize(
    ("code", "status", "outcome"),
    [
        ("ThrottlingException", 400, None),
        ("Whatever", 429, None),
        ("InternalFailure", 500, UnknownError),
        ("ServiceUnavailable", 503, UnknownError),
        ("ValidationError", 400, RequestRefusedError),
    ],
)
def test_what_sagemaker_may_answer(
    queue: EndpointQueue, code: str, status: int, outcome: type[Exception] | None
) -> None:
    asked = {
        "EndpointName": "e",
        "InputLocation": "s3://b/requests/j/00000001-0123abcd-1.json",
        "ContentType": "application/json",
        "Accept": "application/json",
        "InferenceId": "00000001-0123abcd-1",
        "S3OutputPathExtension": "j",
        "Filename": "00000001-0123abcd-1",
        "RequestTTLSeconds": 21600,
        "InvocationTimeoutSeconds": 900,
    }
    with Stubber(queue.aws.s3) as s3, Stubber(queue.aws.sagemaker_runtime) as runtime:
        for _ in range(2):
            s3.add_response("put_object", {}, {"Bucket": "b", "Key": ANY, "Body": b"{}", "ContentType": ANY})
        runtime.add_client_error(
            "invoke_endpoint_async", code, http_status_code=status, expected_params=asked
        )
        runtime.add_response("invoke_endpoint_async", {"OutputLocation": "s3://b/answers/j/x"}, asked)
        if outcome is None:
            assert queue.send("00000001-0123abcd-1", b"{}") is None
        else:
            with pytest.raises(outcome):
                queue.send("00000001-0123abcd-1", b"{}")
        assert queue.send("00000001-0123abcd-1", b"{}") == Accepted("s3://b/answers/j/x", None)


def test_a_failure_is_the_containers_word_where_it_gave_one() -> None:
    error = {"error": {"code": "c", "message": "m", "path": "p"}, "retryable": True}
    assert line_records.of_failure(3, json.dumps(error).encode()) == (
        {"line": 3, "status": "failed", "error": error["error"]},
        True,
    )
    told, again = line_records.of_failure(3, b"<html>\n gone " + b"x" * 9_999)
    assert (again, told["error"]["message"][:16], len(told["error"]["message"])) == (
        False,
        "<html> gone xxxx",
        500,
    )
    assert line_records.of_answer(3, b"")["error"]["message"] == "the reply is not JSON: an empty reply"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["submit", "demo", "x.jsonl"],
            "demo answers while the caller waits (endpoint.mode = 'realtime'): use ",
        ),
        (["submit", "demo-async", "x.jsonl", "--output", "x.jsonl"], "x.jsonl is the file of requests"),
        (["decide", "demo-async", "x.json"], "use `semif submit demo-async FILE.jsonl`"),
    ],
)
def test_each_mode_has_its_command(arguments: list[str], problem: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert problem in result.output


def test_halves_of_characters_are_kept_as_question_marks(tmp_path: Path) -> None:
    record = line_records.of_answer(1, b'{"said": "\\ud800!"}')
    with state_of(tmp_path / "state") as state:
        state.end([record])
        assert line_records.write_records(state.results([1]), tmp_path / "out") == {"answered": 1}
    assert json.loads((tmp_path / "out").read_bytes())["reply"] == {"said": "?!"}
