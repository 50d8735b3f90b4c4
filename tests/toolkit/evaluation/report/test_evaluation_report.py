"""`semif evaluate report`: what it says of synthetic runs, on the console, in files and as JSON."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from semif.cli import main
from semif.errors import SemifError
from semif.evaluation import extra
from semif.evaluation.figures.summary import Summary, summarise
from semif.evaluation.report.tables.cells import MAX_TEXT, ForeignText
from semif.evaluation.report.tables.table import ReportTable, markdown
from semif.evaluation.runs.run_file import Asking, Record, record_line
from tests.support.runs.synthetic_runs import answers, header, record, unanswered, write_run

WORKED = [
    record("right"),
    record("wrong", choice="b", probabilities=(0.1, 0.9), family="policy", kind="noul", client_seconds=0.4),
    record(
        "sure",
        option_ids=("a", "b", "c", "d"),
        probabilities=(1, 0, 0, 0),
        allowed_token_mass=0.5,
        attempts=3,
    ),
    unanswered("words", "unparsable", "no-option", client_seconds=0.6, family="policy"),
    unanswered("full", "refused", "overloaded", 503, attempts=5, refusals=5, client_seconds=60.0),
]
"""Five tasks, two of them right."""


def evaluate(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["evaluate", *map(str, arguments)], env={"COLUMNS": "120"})
    return result.exit_code, result.stdout, result.stderr


def reported(path: Path) -> dict[str, Any]:
    status, output, _ = evaluate("report", path, "--json")
    assert status == 0
    summary: dict[str, Any] = json.loads(output)["summary"]
    return summary


def test_a_worked_example(tmp_path: Path) -> None:
    found = reported(write_run(tmp_path / "run.jsonl", WORKED))
    assert (found["answered"]["part"], found["answered"]["whole"]) == (3, 5)
    assert (found["right"]["part"], found["right"]["whole"], found["right"]["value"]) == (2, 5, 0.4)
    assert (found["right_of_answered"]["part"], found["right_of_answered"]["whole"]) == (2, 3)
    assert found["guessing"] == found["most_frequent"] == pytest.approx((4 * 0.5 + 0.25) / 5)
    assert [(one["name"], one["right"]["part"], one["right"]["whole"]) for one in found["families"]] == [
        ("routing", 2, 3), ("policy", 0, 2),
    ]  # fmt: skip
    assert [(one["name"], one["right"]["whole"], one["answered"]) for one in found["kinds"]] == [
        ("choice", 4, 2), ("noul", 1, 1),
    ]  # fmt: skip
    assert found["statuses"] == {"answered": 3, "unparsable": 1, "refused": 1}
    assert (found["requests"], found["refusals"], found["retries"]) == (5, 5, 6)
    assert {(one["code"], one["status"], one["count"]) for one in found["faults"]} == {
        ("no-option", None, 1), ("overloaded", 503, 1),
    }  # fmt: skip
    assert found["client_seconds"]["count"] == 4, "the refused one has no latency"
    assert found["client_seconds"]["p50"] == pytest.approx(0.3)
    assert found["client_seconds"]["highest"] == 0.6
    assert found["server_seconds"]["count"] == 3
    assert (found["input_tokens_total"], found["cached_tokens_total"]) == (300, 120)
    assert found["allowed_token_mass"] == {"count": 1, "lowest": 0.5, "p5": 0.5, "p50": 0.5}
    calibration = found["calibration"]
    assert calibration["confidence"] == pytest.approx((0.75 + 0.9 + 1) / 3)
    assert calibration["expected_calibration_error"] == pytest.approx((0.25 + 0.9 + 0) / 3)
    assert calibration["brier_score"] == pytest.approx((2 * 0.0625 + 2 * 0.81 + 0) / 3)
    assert calibration["brier_score_of_guessing"] == pytest.approx((0.5 + 0.5 + 0.75) / 3)
    assert [(one["task"], one["choice"], one["probability"]) for one in found["wrong"]] == [
        ("wrong", "b", 0.9)
    ]
    assert found["order_sensitivity"] is None


def test_the_most_frequent_option_is_one_of_many_tasks_alike(tmp_path: Path) -> None:
    """Nine of twelve expect "b", which is not first everywhere; the tasks of the other family are too few."""
    alike = [
        record(f"t{n}", option_ids=("a", "b") if n % 2 else ("b", "a"), expected="b" if n < 9 else "a")
        for n in range(12)
    ]
    few = [record(f"few{n}", family="policy") for n in range(4)]
    found = reported(write_run(tmp_path / "run.jsonl", [*alike, *few]))
    assert found["guessing"] == 0.5
    assert found["most_frequent"] == (9 + 4 / 2) / 16


def test_the_choice_that_hangs_on_the_order(tmp_path: Path) -> None:
    turned = {"order": 1, "option_ids": ("b", "a"), "probabilities": (0.3, 0.7)}
    records = [
        record("firm"), record("firm", **turned),
        record("swayed"), record("swayed", **turned | {"choice": "b", "probabilities": (0.7, 0.3)}),
        record("asked once"),
        record("half"), unanswered("half", "failed", "engine", 500, order=1, option_ids=("b", "a")),
    ]  # fmt: skip
    found = reported(write_run(tmp_path / "run.jsonl", records))
    changed = found["order_sensitivity"]["changed"]
    assert (changed["part"], changed["whole"]) == (1, 2)
    by_order = [
        (order, right["part"], right["whole"]) for order, right in found["order_sensitivity"]["right"]
    ]
    assert by_order == [(0, 2, 2), (1, 1, 2)]
    assert found["right"]["whole"] == 4, "further orders are no further tasks"
    assert found["requests"] == 7


def test_the_console_tells_all_and_the_files_are_written(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", answers(30, orders=1) + WORKED, told=header(50))
    page, text = tmp_path / "made" / "report.html", tmp_path / "report.md"
    status, output, told = evaluate("report", path, "--html", page, "--markdown", text)
    assert status == 0
    assert told == f"semif: wrote {page}\nsemif: wrote {text}\n"
    for heading in (
        "Answers", "Accuracy by family", "Accuracy by kind", "Latency", "Requests", "Calibration",
        "Reliability", "Order of the options", "Allowed token mass",
    ):  # fmt: skip
        assert heading in output
        assert f"## {heading}\n" in text.read_text()
    assert "the run is not complete" in output
    assert "guessing would get" in output
    assert "10 bins" in " ".join(output.split())
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_what_no_reply_told_is_left_out(tmp_path: Path) -> None:
    """A chat endpoint gives words, and neither probabilities nor tokens."""
    bare = {"probabilities": None, "input_tokens": None, "cached_tokens": None, "server_seconds": None}
    path = write_run(tmp_path / "run.jsonl", [record("one", **bare, family=None, kind=None)])
    status, output, _ = evaluate("report", path, "--html", tmp_path / "page.html")
    assert status == 0
    for heading in (
        "Accuracy by family",
        "Calibration",
        "Reliability",
        "prompt tokens",
        "server",
        "Order of",
    ):
        assert heading not in output
    assert "all tasks (1)" in (tmp_path / "page.html").read_text()


def test_a_run_without_any_reply_is_still_reported(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", [unanswered("one", "failed", "connection", None)])
    status, output, _ = evaluate("report", path, "--html", tmp_path / "page.html")
    assert status == 0
    assert "0 of 1" in output
    assert "fault connection" in output


@pytest.mark.parametrize(
    ("records", "told"),
    [([], "holds no answer to a task as written"), ([record("a", order=2)], "as written")],
)
def test_a_run_with_nothing_to_judge_is_refused(tmp_path: Path, records: list[Record], told: str) -> None:
    path = write_run(tmp_path / "run.jsonl", records)
    for arguments in (("report", path), ("compare", path, path)):
        status, output, error = evaluate(*arguments)
        assert (status, output) == (1, "")
        assert told in error
        assert len(error.splitlines()) == 1


def test_a_report_is_not_written_over_its_run(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", WORKED)
    before = path.read_bytes()
    for arguments in (
        ("report", path, "--html", tmp_path / "." / path.name),
        ("compare", path, path, "--markdown", path),
    ):
        status, _, error = evaluate(*arguments)
        assert status == 1
        assert "is the run itself" in error
        assert path.read_bytes() == before


def test_a_file_that_is_no_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    task = json.dumps({"state": "a", "expected": "b"})
    tasks = "no run file, it looks like a file of tasks: line 1 has `expected`"
    answer = record_line(record("t0"))
    for content, told in (
        *((task, tasks), (f"{task}\n", tasks), (answer, "no run file of this version"), ("", "no run file")),
        *(("{}\n", "no run file"), (None, "no such file")),
    ):
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
        status, output, error = evaluate("report", path, "--json")
        assert (status, output) == (1, "")
        assert told in error


def test_a_missing_package_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extra.PACKAGES, "no_such_module", "no-such-package")
    with pytest.raises(SemifError, match=r"no-such-package not installed; run `make setup`"):
        extra.need_evaluate_extra()


def test_the_command_line_loads_nothing_heavy() -> None:
    heavy = "{'matplotlib', 'numpy', 'scipy', 'sklearn'} & set(sys.modules)"
    code = f"import sys, semif.cli.evaluate as group; sys.exit(bool({heavy}))"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


FOREIGN = "a|b`c``<img src=x onerror=alert(1)>$\\alpha$[x](y)\x1b[31m\n\u202e*"


def test_foreign_text_stays_text_in_markdown_and_on_the_console(tmp_path: Path) -> None:
    records = [record(FOREIGN, family=FOREIGN, option_ids=(FOREIGN, "b"), expected=FOREIGN, choice="b")]
    path = write_run(tmp_path / "run.jsonl", records)
    text = tmp_path / "report.md"
    status, output, _ = evaluate("report", path, "--markdown", text)
    assert status == 0
    for written in (output, text.read_text()):
        assert "\x1b" not in written
        assert "\u202e" not in written
    (row,) = [line for line in text.read_text().splitlines() if "onerror" in line]
    assert row.startswith("| ``` a\\|b`c``<img"), "a code span whose fence is longer than any in it"
    assert row.count(" | ") == 5


@given(st.text(max_size=300))
def test_a_name_is_one_printable_line(text: str) -> None:
    found = ForeignText(text)
    assert found.isprintable()
    assert len(found) <= MAX_TEXT
    cell = markdown([ReportTable("t", ("a", "b"), ((found, "1"),))]).splitlines()[4]
    assert len([bar for place, bar in enumerate(cell) if bar == "|" and cell[place - 1] != "\\"]) == 3


@given(st.integers(1, 12), st.integers(0, 3), st.integers(0, 1000), st.data())
def test_figures_agree_with_each_other(tasks: int, orders: int, seed: int, data: st.DataObject) -> None:
    made = answers(tasks, orders=orders, seed=seed)
    kept = data.draw(st.lists(st.sampled_from(made), unique_by=id, min_size=1))
    records = [one for one in made if one in kept or one.order == 0]
    found: Summary = summarise(records)
    assert found.requests == sum(found.statuses.values()) == len(records)
    assert sum(group.right.part for group in found.families) == found.right.part
    assert sum(group.right.whole for group in found.kinds) == found.right.whole == tasks
    assert len(found.wrong) == found.right.whole - found.right.part
    assert found.calibration is not None
    assert sum(one.right.whole for one in found.calibration.bins) == found.answered.part
    assert found.calibration.accuracy == pytest.approx(found.right.value)


def test_a_limit_is_what_a_run_is_complete_at(tmp_path: Path) -> None:
    told = header(100).model_copy(update={"asking": Asking(limit=1, rate=2.5)})
    status, output, _ = evaluate("report", write_run(tmp_path / "run.jsonl", [record("one")], told=told))
    assert status == 0
    assert "not complete" not in output
    assert "2.5 arrivals a second" in output
