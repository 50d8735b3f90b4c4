"""`semif evaluate wordings`: the same tasks in several words, asked of the real adapter."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.errors import ProblemsError, SemifError
from semif.evaluation.runs.run_file import Record, read_run
from semif.evaluation.tasks.task_lines import read_task_set
from semif.evaluation.wordings.matrix import matrix_tables, wordings_matrix
from semif.evaluation.wordings.wordings_file import read_wordings, reworded
from semif.project.root import project_root
from tests.support.runs.synthetic_runs import record, write_run

EXAMPLES = project_root() / "examples" / "wordings"
TWO = """
[[wordings]]
name = "bare"
question = "Is it spam?"
options = { yes = "", no = "" }

[[wordings]]
name = "described"
question = "Is this message spam?"
options = { no = "A message that the reader wants", yes = "Unwanted advertising or fraud" }
"""


def wordings(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["evaluate", "wordings", *map(str, arguments)], env={"COLUMNS": "100"})
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def few(tmp_path: Path) -> Path:
    path = tmp_path / "few.jsonl"
    lines = (EXAMPLES / "spam.jsonl").read_text().splitlines()
    path.write_text("\n".join(lines[:4]) + "\n")
    return path


def test_each_wording_is_asked_and_kept(adapter_url: str, few: Path, tmp_path: Path) -> None:
    file, folder = tmp_path / "two.toml", tmp_path / "runs"
    file.write_text(TWO)
    status, output, said = wordings("--url", adapter_url, few, file, "-o", folder)
    assert status == 0, said
    rows = [line.split() for line in output.splitlines()]
    assert sorted(row[0] for row in rows if row[1:2] and row[2:3] == ["of"]) == ["bare", "described"]
    runs = {name: read_run(folder / f"{name}.jsonl") for name in ("bare", "described")}
    tasks = read_task_set(few)
    for wording in read_wordings(file):
        asked = reworded(tasks, wording).tasks
        kept = runs[wording.name].records
        assert [one.question_sha256 for one in kept] == [task.wording.question_sha256 for task in asked]
        assert [one.options_sha256 for one in kept] == [task.wording.options_sha256 for task in asked]
        assert [one.option_ids for one in kept] == [("yes", "no")] * 4, "the tasks' own order"
    asked_once = {name: run.records for name, run in runs.items()}
    again = json.loads(wordings("--url", adapter_url, few, file, "-o", folder, "--json")[1])
    assert {name: read_run(folder / f"{name}.jsonl").records for name in runs} == asked_once
    assert len(again["pairs"]) == 1
    file.write_text(TWO.replace("Is it spam?", "Is it bad?"))
    status, _, said = wordings("--url", adapter_url, few, file, "-o", folder)
    assert (status, "tasks, by SHA-256, was" in said) == (1, True), "no answer of other words is taken"


def judged(right: list[bool]) -> list[Record]:
    wrong = {"choice": "b", "probabilities": (0.2, 0.8)}
    return [record(f"t{place}", **({} if hit else wrong)) for place, hit in enumerate(right)]


def test_the_best_stands_first_and_pairs_are_adjusted(tmp_path: Path) -> None:
    hits = {"poor": [False] * 9 + [True], "good": [True] * 10, "fair": [True] * 8 + [False] * 2}
    matrix = wordings_matrix(
        {name: read_run(write_run(tmp_path / f"{name}.jsonl", judged(right))) for name, right in hits.items()}
    )
    assert [one.name for one in matrix.wordings] == ["good", "fair", "poor"]
    pairs = {(one.first, one.second): one for one in matrix.pairs}
    assert (pairs["good", "poor"].only_first_right, pairs["good", "poor"].p_value) == (9, 2 / 512)
    # Benjamini and Hochberg, of 2/512, 22/512 (8 against 1, fair and poor: 20/512) and 1/2.
    assert pairs["good", "poor"].p_adjusted == pytest.approx(3 * 2 / 512)
    assert pairs["fair", "poor"].p_adjusted == pytest.approx(3 / 2 * 20 / 512)
    assert pairs["good", "fair"].p_adjusted == pytest.approx(0.5)
    table = matrix_tables(matrix)[1]
    assert table.columns == ("", "fair", "poor")
    assert table.rows == (("good", "0.5", "0.0117"), ("fair", "", "0.0586"))


def test_wordings_of_other_options_are_refused(few: Path, tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO.replace("no =", "maybe ="))
    with pytest.raises(SemifError, match="a task has the options yes, no, the wordings have yes, maybe"):
        reworded(read_task_set(few), read_wordings(file)[0])
    file.write_text(TWO.replace("bare", "described"))
    with pytest.raises(ProblemsError, match="several wordings are called 'described'"):
        read_wordings(file)
    file.write_text(TWO.replace("bare", "described").replace("question =", "questions =", 1))
    with pytest.raises(ProblemsError, match="has 3 problems"):
        read_wordings(file)


@pytest.mark.parametrize("name", ["spam", "team", "urgent"])
def test_the_examples_fit_together(name: str) -> None:
    tasks = read_task_set(EXAMPLES / f"{name}.jsonl")
    assert all(reworded(tasks, wording).tasks for wording in read_wordings(EXAMPLES / f"{name}.toml"))
