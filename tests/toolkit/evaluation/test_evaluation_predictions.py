"""`semif evaluate import`: predictions that somebody has, as a run that the other commands read."""

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.evaluation.runs.load_run import load_run
from semif.evaluation.runs.run_file import EvaluationRun, read_run

OPTIONS = ("billing", "shipping", "technical")
EXPECTED = {"t1": "billing", "t2": "shipping", "t3": "technical", "t4": "billing"}


def semif(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["evaluate", *map(str, arguments)], env={"COLUMNS": "160"})
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    asked = {"question": "Which team?", "options": [{"id": name} for name in OPTIONS]}
    path = tmp_path / "tasks.jsonl"
    rows = ({"id": name, "state": name, "expected": right} | asked for name, right in EXPECTED.items())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def imported(tasks: Path, name: str, content: str, *more: str) -> tuple[EvaluationRun, str, str]:
    file, output = tasks.with_name(name), tasks.with_name("run.jsonl")
    file.write_text(content)
    command = ("import", file, "--tasks", tasks, "-o", output, "--id", "id", "--predicted", "llm", *more)
    status, report, said = semif(*command)
    assert status == 0, said
    return read_run(output), report, said


def test_predictions_become_a_run_that_tells_where_they_are_from(tasks: Path) -> None:
    """Three of four tasks are predicted: one right, one wrong, one without an answer; a row is of no task."""
    content = "id,llm\nt2,shipping\nt1,technical\nt3,\nother,billing\n"
    run, report, said = imported(tasks, "llm.csv", content)
    assert [(one.task, one.status, one.choice) for one in run.records] == [
        ("t2", "answered", "shipping"),
        ("t1", "answered", "technical"),
        ("t3", "unparsable", None),
    ]
    told = run.header.predictions
    assert told is not None
    assert (told.name, told.predicted) == ("llm.csv", "llm")
    assert told.sha256 == hashlib.sha256(content.encode()).hexdigest()
    assert (run.header.target.kind, run.header.target.name) == ("predictions", "llm.csv")
    assert run.records[0].question_sha256 is not None
    assert "no prediction, and left out: 1 task: t4" in said
    assert "of no task, and left out: 1 row\n" in said
    assert "3, of 4: the run is not complete" in report
    assert "words that name no option" in report
    assert "Latency" not in report
    assert "left out: no answer has any" in report


def test_an_import_goes_on_with_the_same_file_and_no_other(tasks: Path) -> None:
    imported(tasks, "llm.csv", "id,llm\nt1,billing\n")
    assert len(imported(tasks, "llm.csv", "id,llm\nt1,billing\n")[0].records) == 1
    tasks.with_name("llm.csv").write_text("id,llm\nt1,shipping\n")
    command = ("import", tasks.with_name("llm.csv"), "--tasks", tasks, "--id", "id", "--predicted", "llm")
    status, _, said = semif(*command, "-o", tasks.with_name("run.jsonl"))
    assert (status, "predictions, by SHA-256, was" in said) == (1, True)


IN_COLUMNS = "id,llm,p_billing,p_shipping,p_technical\nt1,billing,0.7,0.2,0.1\n"
IN_AN_OBJECT = '{"id": "t1", "llm": "billing", "p": {"technical": 0.1, "billing": 0.7, "shipping": 0.2}}'


@pytest.mark.parametrize(
    ("name", "content", "probabilities"),
    [("llm.csv", IN_COLUMNS, "p_"), ("llm.jsonl", IN_AN_OBJECT, "p")],
    ids=["columns", "object"],
)
def test_probabilities_are_in_columns_or_in_an_object(
    tasks: Path, name: str, content: str, probabilities: str
) -> None:
    run, report, _ = imported(tasks, name, content, "--probabilities", probabilities)
    assert run.records[0].probabilities == (0.7, 0.2, 0.1)
    assert "Brier score" in report


def test_tasks_and_predictions_may_be_one_table(tmp_path: Path) -> None:
    table, options, output = tmp_path / "t.csv", tmp_path / "o.toml", tmp_path / "run.jsonl"
    table.write_text("text,team,llm\nCharged twice.,a,a\nWhere is it?,b,a\n")
    options.write_text('[options]\na = ""\nb = ""\n')
    asked = ("--state", "text", "--expected", "team", "--question", "Which?", "--options", options)
    status, _, said = semif("import", table, "--tasks", table, "-o", output, "--predicted", "llm", *asked)
    assert status == 0, said
    assert [(one.expected, one.choice) for one in read_run(output).records] == [("a", "a"), ("b", "a")]


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_written(tasks: Path, tmp_path: Path) -> None:
    file = tmp_path / "llm.csv"
    rows = [
        "t1,Billing,0.5,0.3,0.2",
        "t2,somewhere,0.5,0.3,0.2",
        "t3,technical,half,0.3,0.2",
        "t4,billing,0.5,0.3,0.9",
        "t4,billing,1,0,0",
        ",billing,1,0,0",
        "t1,billing",
    ]
    file.write_text("\n".join(["id,llm,p_billing,p_shipping,p_technical", *rows]) + "\n")
    how = ("--id", "id", "--predicted", "llm", "--probabilities", "p_")
    status, output, said = semif("import", file, "--tasks", tasks, "-o", tmp_path / "run.jsonl", *how)
    assert (status, output) == (1, "")
    assert "has 7 problems" in said
    assert "line 2: column 'llm' must be one of the task's options; it is options[0] but for upper" in said
    for number, what in (
        (3, "column 'llm' must be one of the task's options"),
        (4, "the probabilities must be numbers"),
        (5, "the probabilities do not add up to 1"),
        (6, "the task must be predicted once, line 5 has the same"),
        (7, "column 'id' is empty"),
    ):
        assert f"line {number}: {what}" in said
    assert "somewhere" not in said
    assert "write an option's id, or nothing where none was named" in said
    assert "options: 'billing', 'shipping', 'technical'" in said
    assert not (tmp_path / "run.jsonl").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("id,label\nt1,billing\n", "its first row has no column 'llm' (--predicted)"),
        ("id,llm\nx,billing\n", "predicts none of the 4 tasks"),
        ("id,llm\n", "predicts none of the 4 tasks"),
    ],
)
def test_a_file_that_predicts_nothing_is_refused(
    tasks: Path, tmp_path: Path, content: str, said: str
) -> None:
    file = tmp_path / "llm.csv"
    file.write_text(content)
    command = ("import", file, "--tasks", tasks, "-o", tmp_path / "run.jsonl")
    status, _, error = semif(*command, "--id", "id", "--predicted", "llm")
    assert status == 1
    assert said in error


def test_numbers_longer_than_a_float_are_told_and_ids_keep_all_their_digits(tmp_path: Path) -> None:
    asked = {"question": "Which?", "options": [{"id": "a"}, {"id": "b"}], "state": "s", "expected": "a"}
    tasks, file, output = (tmp_path / name for name in ("tasks.jsonl", "llm.jsonl", "run.jsonl"))
    ids = [12345678901234567890, 12345678901234567891]
    tasks.write_text("".join(json.dumps({"id": str(one), **asked}) + "\n" for one in ids))
    command = ("import", file, "--tasks", tasks, "-o", output, "--id", "id", "--predicted", "llm")

    file.write_text("".join(json.dumps({"id": one, "llm": "a"}) + "\n" for one in ids))
    assert semif(*command)[0] == 0
    assert [record.task for record in read_run(output).records] == [str(one) for one in ids]

    rows = [{"id": ids[0], "llm": "a", "p": {"a": 10**400, "b": 0}}, {"id": ids[1], "llm": 10**400}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, _, said = semif(*command, "--probabilities", "p")
    assert status == 1
    assert "lines 1, 2: the probabilities must be numbers" in said
    assert "line 2: column 'llm' must be one of the task's options" in said


def test_predictions_without_probabilities_have_no_threshold(tasks: Path) -> None:
    imported(tasks, "llm.csv", "id,llm\nt1,billing\n")
    done = CliRunner().invoke(
        main, ["calibrate", "thresholds", str(tasks.with_name("run.jsonl")), "--coverage", "0.5"]
    )
    assert (done.exit_code, "`semif evaluate import` takes them along by --probabilities" in done.stderr) == (
        1,
        True,
    )


def test_a_comparison_counts_words_that_name_no_option_on_both_sides(tasks: Path, tmp_path: Path) -> None:
    files = []
    for name, answer in (("a", ""), ("b", "billing")):
        table, run = tmp_path / f"{name}.csv", tmp_path / f"{name}.jsonl"
        table.write_text(f"id,llm\nt1,{answer}\nt2,shipping\n")
        told = semif("import", table, "--tasks", tasks, "-o", run, "--id", "id", "--predicted", "llm")
        assert told[0] == 0, told
        files.append(run)
    status, output, _ = semif("compare", *files)
    (row,) = [line.split() for line in output.splitlines() if "words that name no option" in line]
    assert (status, row[5:7]) == (0, ["1", "0"])


SURE = "id,llm,sure\nt1,billing,0.9\nt2,billing,0.6\nt3,,\nt4,billing,0.8\n"


def test_a_confidence_alone_gives_all_that_can_be_told_of_it(tasks: Path) -> None:
    run, report, _ = imported(tasks, "llm.csv", SURE, "--confidence", "sure")
    assert [(one.confidence, one.probabilities) for one in run.records] == [
        (0.9, None),
        (0.6, None),
        (None, None),
        (0.8, None),
    ]
    told = run.header.predictions
    assert told is not None
    assert told.confidence == "sure"
    assert [row["confidence"] for row in load_run(run.path)] == [0.9, 0.6, None, 0.8]
    rows = {words[0]: words for words in map(str.split, report.splitlines()) if words}
    assert rows["expected"][-1] == "0.300"  # (0.1 + 0.6 + 0.2) / 3
    assert rows["Brier"][-2:] == rows["log"][-2:] == ["-", "-"]
    assert "of some answers only that of the choice is known" in " ".join(report.split())
    assert "Reliability" in report


def test_a_confidence_alone_has_thresholds(tasks: Path) -> None:
    run, _, _ = imported(tasks, "llm.csv", SURE, "--confidence", "sure")
    command = ["calibrate", "thresholds", str(run.path), "--coverage", "0.6", "--json"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.stderr
    points = {point["threshold"]: point for point in json.loads(done.stdout)["points"]}
    assert (points[0.8]["precision"]["part"], points[0.8]["precision"]["whole"]) == (2, 2)
    assert (points[0.5]["precision"]["part"], points[0.5]["precision"]["whole"]) == (2, 3)


def test_a_confidence_and_probabilities_are_compared_in_what_both_have(tasks: Path, tmp_path: Path) -> None:
    sure, _, _ = imported(tasks, "llm.csv", SURE, "--confidence", "sure")
    other = sure.path.rename(tmp_path / "sure.jsonl")
    whole, _, _ = imported(tasks, "whole.csv", IN_COLUMNS, "--probabilities", "p_")
    status, output, _ = semif("compare", other, whole.path)
    rows = {words[0]: words for words in map(str.split, output.splitlines()) if words}
    assert (status, rows["calibration"][2:4], rows["log"][2]) == (0, ["0.100", "0.300"], "-")
    status, output, _ = semif("compare", other, whole.path, whole.path)
    assert (status, "the last two where they have that of their choice alone" in output) == (0, True)


@pytest.mark.parametrize("sure", ["", "87%", "87", "-0.1", "nan", "inf", "1e999", "high"])
def test_a_confidence_that_is_no_probability_is_told(tasks: Path, tmp_path: Path, sure: str) -> None:
    file = tmp_path / "llm.csv"
    file.write_text(f"id,llm,sure\nt1,billing,{sure}\n")
    command = ("import", file, "--tasks", tasks, "-o", tmp_path / "run.jsonl", "--id", "id")
    status, _, said = semif(*command, "--predicted", "llm", "--confidence", "sure")
    assert (status, "line 2: column 'sure' must be a number from 0 to 1" in said) == (1, True)
    assert semif(*command, "--predicted", "llm", "--confidence", "none")[2].count("(--confidence)") == 1
    assert semif(*command, "--predicted", "llm", "--confidence", "a", "--probabilities", "b")[0] == 2
