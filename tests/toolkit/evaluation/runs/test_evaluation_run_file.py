"""Run files: valid after every answer, taken up where they stopped, and never mixed with another run."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from semif.errors import ProblemsError, SemifError
from semif.evaluation.runs.run_file import (
    AnswerFault,
    Asking,
    Machine,
    Pins,
    Record,
    RunHeader,
    TargetName,
    TaskFile,
    read_run,
)
from semif.evaluation.runs.run_writer import open_run

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
HEADER = RunHeader(
    started=NOW,
    tasks=(TaskFile(name="tasks.jsonl", sha256="0" * 64, count=3),),
    target=TargetName(kind="adapter", name="http://127.0.0.1:8080"),
    pins=Pins(model_name="embedded"),
    machine=Machine(cpu="a", cpus=2, load_average=(0.0, 0.0, 0.0), system="s", python="3", semif="0"),
    asking=Asking(),
)


def answered(task: str, order: int = 0) -> Record:
    return Record(
        task=task,
        family=None,
        kind="choice",
        group=None,
        order=order,
        option_ids=("a", "b"),
        expected="a",
        status="answered",
        choice="a",
        probabilities=(0.75, 0.25),
        option_logits=(-1.5, -2.6),
        asked=NOW,
        client_seconds=0.1,
        raw={"result": {"id": task}},
    )


REFUSED = Record(
    task="t-refused",
    family="f",
    kind=None,
    group="g",
    order=1,
    option_ids=("a", "b"),
    expected="b",
    status="refused",
    asked=NOW,
    client_seconds=9.0,
    attempts=5,
    refusals=5,
    error=AnswerFault(code="overloaded", status=503, message="no room"),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.jsonl"
    with open_run(path, HEADER) as run:
        for record in (answered("t1"), REFUSED, answered("t1", order=1)):
            run.append(record)
            assert read_run(path).records[-1] == record, "an answer is in the file once it is given"
    found = read_run(path)
    assert found.header == HEADER
    assert found.records == (answered("t1"), REFUSED, answered("t1", order=1))


def test_any_cut_leaves_a_file_that_goes_on(tmp_path: Path) -> None:
    """Killed at whatever byte: what was whole stays, and the rest is asked again."""
    whole = tmp_path / "whole.jsonl"
    with open_run(whole, HEADER) as run:
        run.append(answered("t1"))
        run.append(answered("t2"))
    content = whole.read_bytes()
    ends = [place + 1 for place, byte in enumerate(content) if byte == ord("\n")]
    path = tmp_path / "run.jsonl"
    for size in range(0, len(content) + 1, 7):
        path.write_bytes(content[:size])
        complete = sum(end <= size for end in ends)
        if complete:
            assert len(read_run(path).records) == complete - 1
        with open_run(path, HEADER) as run:
            assert len(run.earlier) == max(0, complete - 1)
            for task in ("t1", "t2")[len(run.earlier) :]:
                run.append(answered(task))
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"tasks": (TaskFile(name="tasks.jsonl", sha256="1" * 64, count=3),)}, "tasks,"),
        ({"target": TargetName(kind="chat", name="http://127.0.0.1:8080")}, "target"),
        ({"pins": Pins(model_name="another")}, "model"),
        ({"pins": Pins(model_name="embedded", prompt_version="chat-text-state-first-2")}, "prompt"),
        ({"pins": Pins(model_name="embedded", calibration="c" * 64)}, "calibration,"),
        ({"asking": Asking(rate=2.0)}, "rate"),
        ({"asking": Asking(orders=2)}, "orders"),
    ],
)
def test_another_run_does_not_go_on_in_the_file(
    tmp_path: Path, changed: dict[str, object], named: str
) -> None:
    path = tmp_path / "run.jsonl"
    with open_run(path, HEADER) as run:
        run.append(answered("t1"))
    before = path.read_bytes()
    with pytest.raises(ProblemsError) as caught, open_run(path, HEADER.model_copy(update=changed)):
        pass
    assert [problem.split()[0] for problem in caught.value.problems] == [named]
    assert path.read_bytes() == before


def test_a_moved_file_and_another_machine_are_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_run(path, HEADER) as run:
        run.append(answered("t1"))
    later = HEADER.model_copy(
        update={
            "started": datetime.now(UTC),
            "tasks": (TaskFile(name="moved.jsonl", sha256="0" * 64, count=3),),
            "machine": HEADER.machine.model_copy(update={"cpus": 8}),
        }
    )
    with open_run(path, later) as run:
        assert len(run.earlier) == 1
    assert read_run(path).header == HEADER


def test_a_look_at_the_first_tasks_goes_on_with_more(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for place, limit in enumerate((1, 2, None)):
        with open_run(path, HEADER.model_copy(update={"asking": Asking(limit=limit)})) as run:
            assert len(run.earlier) == place
            run.append(answered(f"t{place}"))
            with pytest.raises(SemifError, match="is being written by another run"), open_run(path, HEADER):
                pass
        assert read_run(path).header.asking.limit == limit
    before = path.read_bytes()
    with (
        pytest.raises(ProblemsError, match="limit was none and is 2 now"),
        open_run(path, HEADER.model_copy(update={"asking": Asking(limit=2)})),
    ):
        pass
    assert path.read_bytes() == before


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with (
        open_run(path, HEADER),
        pytest.raises(SemifError, match="is being written by another run"),
        open_run(path, HEADER),
    ):
        pass


def test_lines_that_are_wrong_are_told_and_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_run(path, HEADER) as run:
        run.append(answered("t1"))
    line = path.read_text().splitlines()[1]
    lines = [line, '{"task": "mauve"}', json.dumps(json.loads(line) | {"status": "mauve", "task": "t2"}), "{"]
    with path.open("a") as file:
        file.write("\n".join(lines) + "\n")
    with pytest.raises(ProblemsError) as caught:
        read_run(path)
    assert [problem[:7] for problem in caught.value.problems] == ["line 3:", "line 4:", "line 5:", "line 6:"]
    assert "line 2 has the same task in the same order" in caught.value.problems[0]
    assert "mauve" not in str(caught.value)


def test_a_table_in_the_place_of_a_run_is_known(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text("id,llm\nt1,mauve\n")
    with pytest.raises(
        SemifError, match="is no run file but a table; `semif evaluate import` makes"
    ) as caught:
        read_run(path)
    assert "mauve" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is no run file of this version: line 1: it is not JSON$"),
        ('{"state": "mauve", "question": "q"}\n', "is no run file of this version: line 1: started"),
        (HEADER.model_dump_json(by_alias=True)[:-1] + ',"mauve":1}\n', "line 1: it has a key"),
        (
            HEADER.model_dump_json(by_alias=True).replace('"schema":1', '"schema":2') + "\n",
            "line 1: schema: ",
        ),
        (HEADER.model_dump_json(by_alias=True), "is no run file"),
    ],
)
def test_what_is_no_run_file_is_said(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(SemifError, match=said) as caught:
        read_run(path)
    assert "mauve" not in str(caught.value)


@pytest.mark.parametrize("kind", ["pipe", "directory", "/dev/null"])
def test_what_is_no_file_is_not_written_to(tmp_path: Path, kind: str) -> None:
    """Before it is opened: a pipe waits for its reader, and /dev/full is read without end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    with (
        pytest.raises(
            SemifError, match=r"^cannot write .*: it is there, and is no file that could be written"
        ),
        open_run(tmp_path / kind, HEADER),
    ):
        pass


@pytest.mark.parametrize("content", ["notes of mine", '{"state": "s"}', '{"state": "s"}\n', "a\nb"])
def test_what_is_no_run_file_is_not_written_to(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(SemifError, match="is no run file"), open_run(path, HEADER):
        pass
    assert path.read_text() == content
