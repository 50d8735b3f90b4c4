"""What is wrong with many lines, told in few."""

import json
from pathlib import Path

import pytest

from semif.errors import ProblemsError
from semif.evaluation.tasks.table_tasks import Columns, read_table
from semif.evaluation.tasks.task_lines import read_tasks

TASK = {"state": "s", "question": "q?", "options": [{"id": "a"}, {"id": "b"}], "expected": "a"}


def test_problems_that_differ_in_numbers_alone_are_of_one_kind(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    with path.open("w") as file:
        file.write("".join(json.dumps(TASK | {"id": f"t{place % 30}"}) + "\n" for place in range(90)))
        file.write("".join(f"{' ' * place}{{\n" for place in range(5)))
    with pytest.raises(ProblemsError) as caught:
        read_tasks(path)
    assert len(caught.value.problems) == 65
    assert "line 90: id must be unique, line 30 has the same" in caught.value.problems
    assert str(caught.value).splitlines()[:3] == [
        f"{path} has 65 problems:",
        "  line 31: id must be unique, line 1 has the same; the like in lines 32, 33, 34 and 56 more",
        "  line 91: it is not JSON, see column 2; the like in lines 92, 93, 94 and 1 more",
    ]


def test_doubled_ids_of_a_table_are_one_kind(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("id,text,label\n" + "".join(f"{place % 20},s,a\n" for place in range(40)))
    columns = Columns(state="text", expected="label", question="q?", options={"a": "", "b": ""}, id="id")
    with pytest.raises(ProblemsError) as caught:
        read_table(path, columns)
    assert len(caught.value.problems) == 20
    assert str(caught.value).splitlines()[0] == (
        f"{path}: line 22: id must be unique, line 2 has the same; the like in lines 23, 24, 25 and 16 more"
    )
