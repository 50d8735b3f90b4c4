"""Captured requests to tasks, and labelled ones to a run of the answers that callers got."""

import base64
import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws

from semif.aws.clients import Aws
from semif.calibration.labelled_logits import read_answers
from semif.cli import main
from semif.evaluation.captured.exchange import LeftOutError, read_exchange
from semif.evaluation.captured.unlabelled import Sample
from semif.evaluation.runs.run_file import read_run
from semif.project.root import PROJECT_VARIABLE
from semif.testing.answers import reply_to

ROOT = Path(__file__).parents[4]
BUCKET = "semif-live-captured"
OPTIONS = [{"id": "billing", "description": "Money"}, {"id": "shipping"}]
SECRET = "my card was charged twice"
NOUL = {"type": "noul", "instructions": "Is this about money?"}
SCORE = {"type": "score", "criteria": ["calm", "angry"]}


KEYS = ("captureData", "eventMetadata", "endpointInput")


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def decision(state: Any, name: str = "d", question: str = "Which team?") -> dict[str, Any]:
    return {"id": name, "state": state, "question": question, "options": OPTIONS}


def line(
    request: bytes, reply: bytes | None, event: str, *, inference_id: str | None = None, text: bool = True
) -> bytes:
    """As SageMaker's developer guide has one."""

    def side(content: bytes, mode: str) -> dict[str, str]:
        data = content.decode() if text else base64.b64encode(content).decode()
        encoding = "JSON" if text else "BASE64"
        return {"observedContentType": "application/json", "mode": mode, "data": data, "encoding": encoding}

    captured = {"endpointInput": side(request, "INPUT")}
    if reply is not None:
        captured["endpointOutput"] = side(reply, "OUTPUT")
    metadata = {"eventId": event, "inferenceTime": "2026-11-29T10:11:12Z"}
    if inference_id is not None:
        metadata["inferenceId"] = inference_id
    return json.dumps({"captureData": captured, "eventMetadata": metadata, "eventVersion": "0"}).encode()


def asked(body: dict[str, Any], answer: Any, event: str, **how: Any) -> bytes:
    request = json.dumps(body).encode()
    return line(request, reply_to(request, answer), event, **how)


def system_one(event: str) -> bytes:
    ours = {"x_readout": "letters", "x_allowed_token_mass": 0.9, "x_calibration": None}
    answers = {
        "money": {"type": "noul", "noul": 0.75, **ours},
        "mood": {"type": "score", "score": 0.5, "legend": {}, "probabilities": {"0": 0.5, "1": 0.5}, **ours},
    }
    reply = {"model": "fake", "answers": answers, "usage": {"input_tokens": 7, "output_tokens": 0}}
    request = {"state": SECRET, "questions": {"money": NOUL, "mood": SCORE}}
    return line(json.dumps(request).encode(), json.dumps(reply).encode(), event)


def drawn(*lines: bytes, size: int = 100, seed: int = 0) -> Sample:
    sample = Sample(size, random.Random(seed))
    sample.take(lines)
    return sample


def test_a_decision_becomes_a_task_with_the_endpoints_answer_beside_it() -> None:
    body = {"decision": decision({"text": SECRET})}
    for how in ({"text": True}, {"text": False}):
        (row,) = drawn(asked(body, {"billing": 0.75, "shipping": 0.25}, "event-1", **how)).rows
        assert row == {
            "id": "event-1",
            "state": {"text": SECRET},
            "question": "Which team?",
            "options": OPTIONS,
            "expected": None,
            "captured": row["captured"],
        }
        assert row["captured"]["time"] == "2026-11-29T10:11:12+00:00"
        assert row["captured"]["reply"]["result"]["probabilities"] == [0.75, 0.25]


def test_each_question_of_a_request_is_a_task() -> None:
    several = {"decisions": [decision("x", "a", "Which team?"), decision("x", "b", "Who pays?")]}
    first, second = drawn(asked(several, "billing", "event", inference_id="mine")).rows
    assert (first["id"], second["id"]) == ("mine-1", "mine-2")
    assert (second["question"], second["captured"]["reply"]["result"]["id"]) == ("Who pays?", "b")
    money, mood = drawn(system_one("event")).rows
    assert money["question"] == NOUL
    assert money["captured"]["reply"]["answers"] == {
        "task": {
            "type": "noul",
            "noul": 0.75,
            "x_readout": "letters",
            "x_allowed_token_mass": 0.9,
            "x_calibration": None,
        }
    }
    assert mood["question"] == SCORE


def test_a_question_that_was_asked_again_is_one_task_with_the_last_answer() -> None:
    body = {"decision": decision(SECRET)}
    again = {"decision": decision(SECRET, "another id")}
    sample = drawn(asked(body, "billing", "one"), asked(again, {"billing": 0.5, "shipping": 0.5}, "two"))
    (row,) = sample.rows
    assert (sample.questions, sample.different, row["id"]) == (2, 1, "one")
    assert row["captured"]["reply"]["result"]["probabilities"] == [0.5, 0.5]
    other = drawn(
        asked(body, "billing", "one", inference_id="same"),
        asked({"decision": decision("y")}, "billing", "two", inference_id="same"),
    )
    assert len({row["id"] for row in other.rows}) == 2, "callers may give an id twice"


def test_all_different_questions_have_the_same_chance() -> None:
    lines = [asked({"decision": decision(f"state {n}")}, "billing", f"e{n}") for n in range(10)]
    seen: Counter[str] = Counter()
    for seed in range(300):
        rows = drawn(*lines, *lines, size=3, seed=seed).rows
        assert len({row["id"] for row in rows}) == 3
        seen.update(row["id"] for row in rows)
    assert set(seen) == {f"e{n}" for n in range(10)}
    assert all(60 <= count <= 120 for count in seen.values()), seen  # 90 on average; the seeds are fixed


def test_what_is_no_decision_is_left_out_and_counted_without_a_word_of_it() -> None:
    chat = {"messages": [{"role": "user", "content": SECRET}]}
    openai = {"input": SECRET, "questions": [{"name": "q", "question": "?", "options": ["a", "b"]}]}
    wrong = {"decision": {**decision(SECRET), "options": OPTIONS[:1]}}
    sample = drawn(
        *(line(json.dumps(body).encode(), b"{}", "e") for body in (chat, openai, wrong)),
        line(SECRET.encode(), None, "e"),
        line(b"\xff", None, "e", text=False),
        SECRET.encode(),
        b'{"captureData": {}}',
        asked({"decision": decision("kept")}, "billing", "e"),
        line(json.dumps({"decision": decision("no reply")}).encode(), None, "e2"),
        line(json.dumps({"decision": decision("html")}).encode(), b"<html>", "e3"),
    )
    assert sample.left_out == {
        "a request that asks no decision": 4,
        "a request in the form of OpenAI's Decisions API": 1,
        "a line that is not SageMaker's captured data": 2,
    }
    assert [row["captured"]["reply"] is None for row in sample.rows] == [False, True, True]


@settings(max_examples=40)
@given(st.binary(max_size=200) | st.dictionaries(st.sampled_from(KEYS), st.text()).map(as_json))
def test_no_line_ends_the_reading(content: bytes) -> None:
    with pytest.raises(LeftOutError):
        read_exchange(content)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """An environment whose endpoint was captured, today and ten days ago."""
    project = tmp_path_factory.mktemp("project")
    for folder in ("models", "adapter_image"):
        (project / folder).symlink_to(ROOT / folder)
    (project / "environments").mkdir()
    demo = (ROOT / "environments" / "demo.toml").read_text()
    (project / "environments" / "live.toml").write_text(f"{demo}\n[data_capture]\nsampling_percent = 100\n")
    (project / "environments" / "quiet.toml").write_text(demo)
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
            patch.delenv(name, raising=False)
        patch.setenv(PROJECT_VARIABLE, str(project))
        patch.setenv("AWS_REGION", "us-east-1")
        aws = Aws(region="us-east-1")
        template = {
            "Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": BUCKET}}},
            "Outputs": {"BucketName": {"Value": BUCKET}},
        }
        aws.cloudformation.create_stack(StackName="Semif-live-Endpoint", TemplateBody=json.dumps(template))
        today = datetime.now(UTC)
        for number in range(60):
            day = today - timedelta(days=0 if number < 30 else 10)
            body = {"decision": decision(f"state {number}")}
            share = 0.5 + number / 200
            captured = asked(body, {"billing": share, "shipping": 1 - share}, f"event-{number:02}")
            key = f"captured/semif-live/primary/{day:%Y/%m/%d/%H}/{number}.jsonl"
            aws.s3.put_object(Bucket=BUCKET, Key=key, Body=captured + b"\n")
        aws.s3.put_object(Bucket=BUCKET, Key="captured/semif-live/primary/notes.txt", Body=b"somebody's")
        yield SimpleNamespace(project=project)


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, ["evaluate", *map(str, arguments)])


def test_from_the_bucket_to_a_run_that_calibrates(live: SimpleNamespace, tmp_path: Path) -> None:
    tasks, output = tmp_path / "tasks.jsonl", tmp_path / "run.jsonl"
    told = json.loads(run("captured", "live", "-o", tasks, "--json").stdout)
    assert (told["tasks"], told["requests"], told["left_out"]) == (60, 60, {})
    again = run("captured", "live", "-o", tasks)
    assert (again.exit_code, "may hold labels" in again.stderr) == (1, True)

    unlabelled = run("answered", tasks, "-o", output)
    assert unlabelled.exit_code == 1
    assert "lines 1, 2, 3 and 57 more: expected must be one of the options" in unlabelled.stderr
    rows = [json.loads(text) for text in tasks.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["expected"] = "billing" if number % 3 else "shipping"
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = run("answered", tasks, "-o", output, "--json")
    assert judged.exit_code == 0, judged.output
    assert json.loads(judged.stdout)["run"]["pins"]["model_name"] == "fake"

    records = read_run(output).records
    assert {record.task for record in records} == {row["id"] for row in rows}
    assert records[0].probabilities == tuple(rows[0]["captured"]["reply"]["result"]["probabilities"])
    assert records[0].asked == datetime(2026, 11, 29, 10, 11, 12, tzinfo=UTC)
    answers = read_answers([output])
    assert [len(answered) for answered in answers.prompts.values()] == [60]
    before = output.read_bytes()
    assert run("answered", tasks, "-o", output, "--json").exit_code == 0
    assert output.read_bytes() == before


def test_what_callers_asked_in_rotated_options_is_judged_and_calibrates_nothing(tmp_path: Path) -> None:
    lines = []
    for number in range(60):
        body = {"decision": decision(f"state {number}")}
        request = json.dumps(
            body | {"parameters": {"order_debiasing": "rotate"}} if number < 7 else body
        ).encode()
        reply = json.loads(reply_to(request, {"billing": 0.5 + number / 200, "shipping": 0.5 - number / 200}))
        if number < 7:
            reply["result"]["timing"]["rotations"] = 2
        lines.append(line(request, json.dumps(reply).encode(), f"event-{number:02}"))
    rows = [
        row | {"expected": "billing" if number % 3 else "shipping"}
        for number, row in enumerate(drawn(*lines).rows)
    ]
    tasks, output = tmp_path / "tasks.jsonl", tmp_path / "run.jsonl"
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = run("answered", tasks, "-o", output, "--json")
    assert judged.exit_code == 0, judged.output
    assert len(read_run(output).records) == 60
    answers = read_answers([output])
    assert [len(answered) for answered in answers.prompts.values()] == [53]
    assert answers.rotated == 7


def test_days_and_samples_choose(live: SimpleNamespace, tmp_path: Path) -> None:
    told = json.loads(
        run("captured", "live", "-o", tmp_path / "a", "--days", 2, "--sample", 5, "--json").stdout
    )
    assert (told["tasks"], told["different"]) == (5, 30)
    shown = run("captured", "live", "-o", tmp_path / "b")
    assert "60 requests with 60 questions, 60 different" in shown.stdout
    assert "it holds callers' texts" in shown.stdout


def test_what_was_not_captured_or_is_of_several_models_is_refused(
    live: SimpleNamespace, tmp_path: Path
) -> None:
    quiet = run("captured", "quiet", "-o", tmp_path / "a")
    assert (quiet.exit_code, "quiet captures nothing; add [data_capture]" in quiet.stderr) == (1, True)
    labelled = [{**decision("x", f"t{n}"), "expected": "billing"} for n in range(5)]
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in labelled))
    plain = run("answered", path, "-o", tmp_path / "run.jsonl")
    assert plain.exit_code == 1
    assert plain.stderr.splitlines() == [
        f"semif: {path}: tasks 1, 2, 3 and 2 more: no `captured` as `semif evaluate captured` writes it",
        "  ask them by `semif evaluate run`",
    ]
    rows = drawn(*(asked({"decision": decision(f"{n}")}, "billing", f"e{n}") for n in range(2))).rows
    rows[1]["captured"]["reply"]["result"]["model"]["sha256"] = "1" * 64
    path.write_text("".join(json.dumps({**row, "expected": "billing"}) + "\n" for row in rows))
    mixed = run("answered", path, "-o", tmp_path / "run.jsonl")
    assert (mixed.exit_code, "holds answers of 2 models" in mixed.stderr) == (1, True)


def test_answers_of_system_one_make_a_run_without_logits(live: SimpleNamespace, tmp_path: Path) -> None:
    rows = drawn(system_one("event")).rows
    path = tmp_path / "tasks.jsonl"
    labels: tuple[dict[str, Any], ...] = ({"expected": "yes"}, {"expected": 1})
    path.write_text(
        "".join(json.dumps({**row, **label}) + "\n" for row, label in zip(rows, labels, strict=True))
    )
    outcome = run("answered", path, "-o", tmp_path / "run.jsonl", "--json")
    assert outcome.exit_code == 0, outcome.output
    noul, score = read_run(tmp_path / "run.jsonl").records
    assert (noul.kind, noul.option_ids, noul.probabilities) == ("noul", ("true", "false"), (0.75, 0.25))
    assert (score.kind, score.probabilities, score.option_logits) == ("score", (0.5, 0.5), None)
