"""`semif evaluate baseline`: a run that a classifier answered which never saw the task, nor its group."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from semif.cli import main
from semif.evaluation.runs.run_file import read_run
from semif.project.root import project_root
from tests.support.runs.synthetic_runs import record, write_run

EXAMPLES = project_root() / "examples"
WORDS = {"bank": "invoice", "post": "parcel", "it": "password"}


def row(number: int, team: str, state: Any, **labels: Any) -> dict[str, Any]:
    options = [{"id": name} for name in WORDS]
    return {
        "id": f"t{number}",
        "state": state,
        "question": "Which?",
        "options": options,
        "expected": team,
    } | labels


def baseline(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["evaluate", *map(str, arguments)], env={"COLUMNS": "100"})
    return result.exit_code, result.output


def learned(folder: Path, rows: Sequence[dict[str, Any]], name: str = "run") -> list[bool]:
    """Which tasks the baseline gets right, by their order in the file."""
    tasks, output = folder / f"{name}.tasks.jsonl", folder / f"{name}.jsonl"
    tasks.write_text("".join(json.dumps(one) + "\n" for one in rows))
    status, said = baseline("baseline", tasks, "-o", output)
    assert status == 0, said
    right = {one.task: one.choice == one.expected for one in read_run(output).records}
    return [right[one["id"]] for one in rows]


def test_words_that_tell_are_learned(tmp_path: Path) -> None:
    teams = [team for team in WORDS for _ in range(6)]
    rows = [row(n, team, {"text": f"about my {WORDS[team]} number {n}"}) for n, team in enumerate(teams)]
    assert all(learned(tmp_path, rows))


def test_what_only_its_own_group_tells_is_not_known(tmp_path: Path) -> None:
    """Twelve cases in two wordings each: a label hangs on the case's own word, so nobody could know it."""
    rows = [
        row(n, list(WORDS)[n // 2 % 3], f"secret{n // 2} again", group=f"case-{n // 2}") for n in range(24)
    ]
    grouped = learned(tmp_path, rows, "grouped")
    alone = learned(tmp_path, [{**one, "group": None} for one in rows], "alone")
    assert sum(grouped) <= 8
    assert sum(alone) > 16, "without groups the other wording tells"


def test_the_answers_are_a_run_that_is_compared(tmp_path: Path) -> None:
    output = tmp_path / "baseline.jsonl"
    table = (
        "--state",
        "text",
        "--expected",
        "team",
        "--question",
        "Which?",
        "--options",
        EXAMPLES / "tickets.toml",
    )
    command = ("baseline", EXAMPLES / "tickets.csv", "-o", output, "--id", "ticket", *table)
    status, said = baseline(*command)
    assert (status, "classifier trained on these labels" in said) == (0, True)
    assert ("Latency" in said, "at a time" in said) == (False, False), "nobody was asked"
    kept = read_run(output)
    assert len(kept.records) == 24
    assert all(abs(sum(one.probabilities or ()) - 1) < 1e-6 for one in kept.records)
    before = output.read_bytes()
    assert baseline(*command)[0] == 0
    assert output.read_bytes() == before, "the same command goes on, and nothing is missing"
    ids = ("billing", "shipping", "technical")
    right = {"option_ids": ids, "probabilities": (0.2, 0.3, 0.5), "family": None, "kind": None}
    model = write_run(
        tmp_path / "model.jsonl",
        [record(one.task, expected=one.expected, choice=one.expected, **right) for one in kept.records],
    )
    page = tmp_path / "page.html"
    assert baseline("report", output, "--html", page)[0] == 0
    assert "atency" not in page.read_text()
    status, said = baseline("compare", output, model)
    assert (status, "B is right more often, by more than chance" in " ".join(said.split())) == (0, True)


def test_a_run_is_not_overwritten_and_too_little_is_said(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", [record("a")])
    before = run.read_bytes()
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(
        "".join(json.dumps(row(n, ("bank", "it")[n % 2], f"word {n}")) + "\n" for n in range(10))
    )
    status, said = baseline("baseline", tasks, "-o", run)
    assert (status, "give another file" in said) == (1, True)
    assert run.read_bytes() == before
    for rows in (
        [row(n, "bank", f"invoice {n}") for n in range(20)],
        [row(n, ("bank", "it")[n % 2], f"invoice {n}", group="one") for n in range(20)],
        [row(n, ("bank", "it")[n % 2], "?!") for n in range(20)],
    ):
        tasks.write_text("".join(json.dumps(one) + "\n" for one in rows))
        status, said = baseline("baseline", tasks, "-o", tmp_path / "new.jsonl")
        assert (status, "nothing to learn from" in said) == (1, True)
        assert not (tmp_path / "new.jsonl").exists()
