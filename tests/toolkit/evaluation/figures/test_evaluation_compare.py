"""`semif evaluate compare`: two synthetic runs side by side."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.evaluation.runs.run_file import Asking, Record, TaskFile
from tests.support.runs.synthetic_runs import answers, header, record, unanswered, write_run


def compare(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["evaluate", "compare", *map(str, arguments)], env={"COLUMNS": "120"})
    return result.exit_code, result.stdout, result.stderr


def compared(tmp_path: Path, a: list[Record], b: list[Record]) -> dict[str, Any]:
    first, second = write_run(tmp_path / "a.jsonl", a), write_run(tmp_path / "b.jsonl", b)
    status, output, _ = compare(first, second, "--json")
    assert status == 0
    found: dict[str, Any] = json.loads(output)
    return found


def judged(task: str, right: bool, **changes: Any) -> Record:
    return record(
        task, **{"choice": "a"} if right else {"choice": "b", "probabilities": (0.2, 0.8)}, **changes
    )


def test_two_runs_that_are_alike_differ_in_nothing(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", answers(12, orders=1))
    status, output, _ = compare(path, path)
    assert status == 0
    assert "No difference: the same choice on 12 tasks." in output
    ratios = [
        line.split()[-1] for line in output.splitlines() if line.strip().startswith(("client p", "right "))
    ]
    assert set(ratios) == {"1.00"}
    found = json.loads(compare(path, path, "--json")[1])
    assert found["comparison"]["p_value"] == 1
    assert found["comparison"]["differences"] == []


def test_a_worked_example(tmp_path: Path) -> None:
    """Nine tasks that only B gets right, one that only A does, four that both do, one that nobody does."""
    a = [judged(f"t{place}", place >= 9) for place in range(15)]
    b = [judged(f"t{place}", place != 9, client_seconds=0.05) for place in range(15)]
    a[14] = unanswered("t14", "unparsable", "no-option", client_seconds=0.2)
    b[14] = judged("t14", False, client_seconds=0.05)
    found = compared(tmp_path, a, b)
    split = found["comparison"]
    assert (split["both_right"], split["neither_right"]) == (4, 1)
    assert (split["only_first_right"], split["only_second_right"]) == (1, 9)
    assert split["p_value"] == pytest.approx(22 / 1024)
    assert found["verdict"].endswith("B is right more often, by more than chance.")
    assert [one["task"] for one in split["differences"]] == [*(f"t{place}" for place in range(10)), "t14"]
    assert split["differences"][-1] == {
        "task": "t14", "family": "routing", "expected": "a", "first": None, "second": "b",
    }  # fmt: skip

    text = tmp_path / "compare.md"
    status, output, _ = compare(tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--markdown", text)
    assert status == 0
    rows = {
        line.split("|")[1].strip(): line.split("|")[2:-1]
        for line in text.read_text().splitlines()
        if "|" in line
    }
    assert [cell.strip() for cell in rows["right"]] == ["5", "13", "2.60"]
    assert [cell.strip() for cell in rows["valid answers"]] == ["14", "15", "1.07"]
    assert [cell.strip() for cell in rows["client p50"]] == ["0.200 s", "50 ms", "0.25"]
    assert [cell.strip() for cell in rows["`t14`"]] == ["`routing`", "`a`", "-", "`b`"]
    assert "Only A is right on 1 task, only B on 9" in text.read_text()
    assert "Only A is right on 1 task, only B on 9" in output


def test_a_small_difference_may_be_chance(tmp_path: Path) -> None:
    found = compared(
        tmp_path, [judged("t1", True), judged("t2", True)], [judged("t1", True), judged("t2", False)]
    )
    assert found["comparison"]["p_value"] == 1
    assert "chance alone may explain" in found["verdict"]


def test_choices_may_differ_where_accuracies_do_not(tmp_path: Path) -> None:
    found = compared(
        tmp_path, [judged("t1", True), judged("t2", False)], [judged("t1", False), judged("t2", True)]
    )
    assert found["verdict"] == "A and B are right equally often; they chose differently on 2 tasks."


def test_only_what_both_asked_is_compared_and_the_rest_is_told(tmp_path: Path) -> None:
    a = [judged("both", True), judged("only a", False), judged("other", True), judged("both", False, order=1)]
    b = [
        judged("other", True, expected="b"),
        judged("both", True),
        judged("only b", True),
        judged("also b", True),
    ]
    told_b = header(4).model_copy(
        update={
            "tasks": (TaskFile(name="other.jsonl", sha256="1" * 64, count=4),),
            "asking": Asking(concurrency=8),
        }
    )
    first = write_run(tmp_path / "a.jsonl", a)
    second = write_run(tmp_path / "b.jsonl", b, told=told_b)
    status, output, _ = compare(first, second)
    assert status == 0
    for line in (
        "The runs are of different files of tasks: a task of the same id may have another text.",
        "Left out: 1 task that only A asked.",
        "Left out: 2 tasks that only B asked.",
        "Left out: 1 task with other options, or another expected one.",
        "The runs were asked differently: their latencies do not compare.",
        "No difference: the same choice on 1 task.",
    ):
        assert line in output.splitlines()
    found = json.loads(compare(first, second, "--json")[1])
    assert found["left_out"] == {"only_in_a": 1, "only_in_b": 2, "unlike": 1}
    assert found["comparison"]["first"]["requests"] == found["comparison"]["second"]["requests"] == 1


def test_runs_without_a_task_in_common_are_refused(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a.jsonl", [judged("one", True)])
    second = write_run(tmp_path / "b.jsonl", [judged("another", True)])
    status, output, error = compare(first, second)
    assert (status, output) == (1, "")
    assert (
        error
        == f"semif: {first} and {second} have no task in common: compare runs of the same file of tasks\n"
    )


def test_words_against_probabilities(tmp_path: Path) -> None:
    """A chat endpoint has neither probabilities nor tokens: those figures stand on one side only."""
    bare = {"probabilities": None, "input_tokens": None, "cached_tokens": None, "server_seconds": None}
    first = write_run(tmp_path / "a.jsonl", [record("t", family=None)])
    second = write_run(tmp_path / "b.jsonl", [record("t", family=None, **bare)])
    for one, other in ((first, second), (second, first)):
        status, output, _ = compare(one, other, "--html", tmp_path / "page.html")
        assert status == 0
        (row,) = [line.split() for line in output.splitlines() if line.strip().startswith("Brier score")]
        assert row.count("-") == 2
        assert "Accuracy by family" not in output
