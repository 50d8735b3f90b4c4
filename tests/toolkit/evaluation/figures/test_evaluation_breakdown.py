"""Where a run is right and where not: slices, options, mistakes with their texts; and a run as rows."""

import hashlib
import json
from pathlib import Path

import pandas
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from semif.cli import main
from semif.evaluation import load_run
from semif.evaluation.figures.breakdown import break_down
from semif.evaluation.runs.run_file import Record, TaskFile
from semif.evaluation.tasks.asked_table import AskedTable
from tests.support.runs.synthetic_runs import answers, header, record, unanswered, write_run

OPTIONS = {"option_ids": ("a", "b", "c"), "probabilities": (0.2, 0.2, 0.6)}
CONFUSED = [
    *(record(f"aa{n}", **OPTIONS | {"choice": "a", "group": "same"}) for n in range(4)),
    *(record(f"ab{n}", **OPTIONS | {"choice": "b", "slices": {"language": "de"}}) for n in range(2)),
    *(
        record(f"bb{n}", **OPTIONS | {"expected": "b", "choice": "b", "slices": {"language": "en"}})
        for n in range(3)
    ),
    unanswered(
        "b-", "failed", "engine", 500, option_ids=("a", "b", "c"), expected="b", slices={"language": "en"}
    ),
    record("few", option_ids=("x", "y"), expected="x", choice="y", family="policy"),
]
"""Ten tasks with the same options, of which "c" is never expected and never chosen, and one with others."""


def report(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["evaluate", "report", *map(str, arguments)], env={"COLUMNS": "100"})
    return result.exit_code, result.stdout, result.stderr


def test_what_is_taken_for_what(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", CONFUSED)
    (confusion,) = json.loads(report(path, "--json")[1])["breakdown"]["confusions"]
    assert confusion["counts"] == [[4, 2, 0, 0], [0, 3, 0, 1], [0, 0, 0, 0]]
    a, b, c = confusion["options"]
    assert (a["expected"], a["chosen"], a["recall"]["value"], a["precision"]["value"]) == (6, 4, 4 / 6, 1)
    assert a["recall"]["groups"] == 3, "four tasks of one group are one"
    assert (b["expected"], b["chosen"], b["recall"]["value"], b["precision"]["value"]) == (4, 5, 3 / 4, 3 / 5)
    assert (c["expected"], c["chosen"], c["recall"], c["precision"]) == (0, 0, None, None)
    output = report(path)[1]
    (row,) = [line.split() for line in output.splitlines() if line.split()[1:3] == ["2", "b"]]
    assert row == ["routing", "2", "b", "0", "3", "0", "1", "75.0%", "60.0%"]


def test_figures_by_slice_count_the_empty_cells_too(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", CONFUSED)
    (one,) = json.loads(report(path, "--json")[1])["breakdown"]["slices"]
    assert one["name"] == "language"
    assert [(group["name"], group["right"]["part"], group["right"]["whole"]) for group in one["groups"]] == [
        (None, 4, 5), ("de", 0, 2), ("en", 3, 4),
    ]  # fmt: skip
    assert "Accuracy by slice" in report(path)[1]


def test_of_many_options_recall_and_precision_alone_are_shown(tmp_path: Path) -> None:
    names = tuple(f"option-{number}" for number in range(13))
    even = {"option_ids": names, "probabilities": None, "expected": names[0], "choice": names[12]}
    path = write_run(tmp_path / "run.jsonl", [record(f"t{n}", **even) for n in range(10)])
    rows = [line.split() for line in report(path)[1].splitlines() if "option-" in line]
    assert rows[0] == ["routing", "1", "option-0", "10", "0", "0.0%", "-"]
    assert rows[12] == ["routing", "13", "option-12", "0", "10", "-", "0.0%"]


def asked(path: Path, tasks: Path, table: AskedTable | None) -> Path:
    """A run of two tasks of the file `tasks`, one of them wrong."""
    file = TaskFile(
        name=tasks.name, sha256=hashlib.sha256(tasks.read_bytes()).hexdigest(), count=2, table=table
    )
    wrong = {"choice": "b", "probabilities": (0.1, 0.9)}
    records = [record("line-2" if table else "one", **wrong), record("line-3" if table else "two")]
    return write_run(path, records, told=header(2).model_copy(update={"tasks": (file,)}))


@pytest.mark.parametrize(
    ("name", "content", "table"),
    [
        (
            "rows.csv",
            "text,team\nmauve one,a\nmauve two,b\n",
            AskedTable(state="text", id=None, sha256="0" * 64),
        ),
        (
            "tasks.jsonl",
            '{"id": "one", "state": {"say": "mauve one"}}\n{"id": "two", "state": "two"}\n',
            None,
        ),
    ],
)
def test_mistakes_have_their_texts_where_they_are_asked_for(
    tmp_path: Path, name: str, content: str, table: AskedTable | None
) -> None:
    tasks = tmp_path / name
    tasks.write_text(content)
    path = asked(tmp_path / "run.jsonl", tasks, table)
    page, text = tmp_path / "page.html", tmp_path / "report.md"
    status, output, _ = report(path, "--html", page, "--markdown", text)
    assert status == 0
    assert "mauve" not in output + page.read_text() + text.read_text()
    status, output, _ = report(path, "--texts", tasks, "--html", page, "--markdown", text)
    assert status == 0
    for written in (output, page.read_text(), text.read_text()):
        assert "mauve one" in written
        assert "mauve two" not in written
    assert list(json.loads(report(path, "--texts", tasks, "--json")[1])["texts"]) == [
        "line-2" if table else "one"
    ]
    tasks.write_text(content + "\n")
    status, _, told = report(path, "--texts", tasks)
    assert (status, f"is none of the files that the run asked, as they were: {name}" in told) == (1, True)


def test_a_run_is_rows_that_a_data_frame_takes(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", CONFUSED)
    rows = load_run(str(path))
    frame = pandas.DataFrame(rows)
    assert list(frame.task) == [one.task for one in CONFUSED]
    assert frame.groupby("slice.language").right.sum().to_dict() == {"de": 0, "en": 3}
    assert rows[0]["probabilities"] == {"a": 0.2, "b": 0.2, "c": 0.6}
    assert (rows[0]["confidence"], rows[9]["confidence"], rows[9]["error"]) == (0.2, None, "engine")
    assert "raw" not in rows[0]


@given(st.integers(1, 40), st.integers(0, 1000))
def test_the_breakdown_agrees_with_the_records(tasks: int, seed: int) -> None:
    made: list[Record] = answers(tasks, seed=seed, orders=1)
    for confusion in break_down(made).confusions:
        names = [one.option for one in confusion.options]
        same = [one for one in made if not one.order and one.family == confusion.family]
        same = [one for one in same if set(one.option_ids) == set(names)]
        assert sum(map(sum, confusion.counts)) == len(same) >= 10
        for place, one in enumerate(confusion.options):
            assert one.expected == sum(confusion.counts[place])
            assert one.chosen == sum(row[place] for row in confusion.counts)
            hits = confusion.counts[place][place]
            assert all(share is None or share.part == hits for share in (one.recall, one.precision))
