"""Tasks that count together: what reports and comparisons say of groups, and of variants without one."""

import json
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from semif.cli import main
from semif.evaluation.runs.run_file import Record, TaskFile
from semif.evaluation.tasks.alike import looking_alike
from semif.evaluation.tasks.task_lines import read_tasks
from semif.project.root import project_root
from tests.support.runs.synthetic_runs import header, record, write_run

LABELLED = project_root() / "examples" / "labelled.jsonl"


def evaluate(*arguments: str | Path) -> str:
    done = CliRunner().invoke(main, ["evaluate", *map(str, arguments)], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    return done.stdout


def judged(place: int, right: bool, size: int | None) -> Record:
    answer = {"choice": "a"} if right else {"choice": "b", "probabilities": (0.2, 0.8)}
    return record(f"t{place}", group=None if size is None else f"g{place // size}", **answer)


def run(path: Path, right: list[bool], size: int | None, tasks: TaskFile | None = None) -> Path:
    records = [judged(place, hit, size) for place, hit in enumerate(right)]
    told = header(len(right))
    return write_run(path, records, told=told.model_copy(update={"tasks": (tasks,)}) if tasks else told)


def test_a_report_counts_groups_and_says_so(tmp_path: Path) -> None:
    right = [place % 9 < 6 for place in range(90)]
    found = {
        size: json.loads(evaluate("report", run(tmp_path / f"{size}.jsonl", right, size), "--json"))[
            "summary"
        ]
        for size in (None, 3)
    }
    plain, grouped = found[None]["right"], found[3]["right"]
    assert (plain["value"], plain["groups"]) == (grouped["value"], None)
    assert grouped["groups"] == 30
    assert grouped["high"] - grouped["low"] > 1.5 * (plain["high"] - plain["low"])
    bins = found[3]["calibration"]["bins"]
    assert [one["right"]["groups"] for one in bins] == [30]
    assert "Wilson's for whole groups, of which there are 30" in evaluate("report", tmp_path / "3.jsonl")
    assert "Wilson's, each task by itself" in evaluate("report", tmp_path / "None.jsonl")


def test_a_comparison_turns_groups_and_says_so(tmp_path: Path) -> None:
    """18 tasks that only B gets right and 3 that only A does; they are seven cases in three wordings."""
    a, b = [place < 3 for place in range(21)], [place >= 3 for place in range(21)]
    for size, name, p_value in (
        (None, "McNemar's exact test", 0.00149),
        (3, "exact test over 7 groups", 0.125),
    ):
        first, second = run(tmp_path / "a.jsonl", a, size), run(tmp_path / "b.jsonl", b, size)
        page = tmp_path / "page.html"
        found = json.loads(evaluate("compare", first, second, "--json", "--html", page))
        assert abs(found["comparison"]["p_value"] - p_value) < 1e-5
        assert found["comparison"]["groups"] == (7 if size else None)
        assert f"{name}: p = {p_value:.3g}" in found["verdict"]
        assert name.replace("'", "&#39;") in page.read_text()
        assert ("chance alone may explain" in found["verdict"]) == bool(size)


def test_variants_without_a_group_are_told(tmp_path: Path) -> None:
    tasks = read_tasks(LABELLED)
    assert looking_alike(tasks) == 0, "its variants have groups"
    apart = looking_alike([replace(task, group=None) for task in tasks])
    assert 40 <= apart <= sum(task.group is not None for task in tasks)
    assert looking_alike(tasks[:1]) == 0
    for state in ("", " \n", ".", "\x00"):
        assert looking_alike([replace(task, group=None, state=state) for task in tasks[:3]]) in (0, 3), state


def test_a_report_and_a_comparison_tell_of_variants(tmp_path: Path) -> None:
    alike = TaskFile(name="synthetic.jsonl", sha256="0" * 64, count=90, alike=60)
    few = alike.model_copy(update={"alike": 4})
    word = "60 of 90 tasks look like variants of others without a group in common"
    right, page = [True] * 90, tmp_path / "page.html"
    many = run(tmp_path / "many.jsonl", right, None, alike)
    assert word in " ".join(evaluate("report", many, "--html", page).split())
    assert word in page.read_text()
    assert word in evaluate("compare", many, many)
    assert "variants" not in evaluate("report", run(tmp_path / "few.jsonl", right, None, few))
