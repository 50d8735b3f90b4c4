"""A suite: files known by their bytes, asked by a real adapter, beside what others say they got."""

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.errors import ProblemsError, SemifError
from semif.evaluation.runs.run_file import TaskFile, read_run
from semif.evaluation.tasks.suite import load_suite
from tests.support.runs.synthetic_runs import answers, header, write_run

ROWS = [
    {
        "id": f"lamp-{number}",
        "family": "fact",
        "group": None,
        "split": "public",
        "labels": ["no", "yes"],
        "expected": "yes" if number else "no",
        "state": f"The lamp in room {number} was switched {'on' if number else 'off'}.",
        "question": {"type": "noul", "instructions": "Is the lamp on?", "criteria": None},
    }
    for number in range(2)
]
"""In the form of JevBench's rows, and made up."""
PUBLISHED = """[[published]]
by = "somebody, on a large machine"
prompt = "direct-options-v1"
right = 2
client_p50_seconds = 1.5
source = "https://example.com/table"
on = 2026-01-02
"""


def evaluate(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["evaluate", *map(str, arguments)], env={"COLUMNS": "200"})
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def lamps(tmp_path: Path) -> Path:
    """A suite of two files with a task each."""
    files = []
    for row, name in zip(ROWS, ("off", "on"), strict=True):
        content = f"{json.dumps(row)}\n".encode()
        (tmp_path / f"{name}.jsonl").write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        files.append(f'[[files]]\nname = "{name}.jsonl"\ntasks = 1\nsha256 = "{sha256}"\n')
    suite = tmp_path / "lamps.toml"
    suite.write_text(
        'description = "lamps"\nsource = "https://example.com"\ncaveat = "Two lamps prove little."\n'
        + "".join(files)
        + PUBLISHED
    )
    return suite


def test_a_whole_suite_is_asked_in_its_order_and_shown_beside_what_was_published(
    lamps: Path, short_url: str, tmp_path: Path
) -> None:
    run, asked = tmp_path / "run.jsonl", ["on.jsonl", "off.jsonl"]
    status, said, _ = evaluate(
        "run", "--url", short_url, "--suite", lamps, *(tmp_path / name for name in asked), "-o", run
    )

    assert status == 0
    kept = read_run(run)
    assert [record.task for record in kept.records] == ["lamp-0", "lamp-1"]
    assert kept.header.suite is not None
    assert kept.header.suite.name == "lamps"
    (published,) = [line for line in said.splitlines() if "published: somebody" in line]
    assert "direct-options-v1" in published
    assert " ".join(published.split()[-10:]) == "2 of 2 100.0% 34.2 to 100.0% 1.500 s -"
    assert "Two lamps prove little." in said
    _, compared, _ = evaluate("compare", run, run)
    assert "Suite lamps, 2 of 2 tasks" in compared
    assert "published: somebody, on a large machine" in compared


def test_other_bytes_are_refused_with_their_hash_and_where_the_right_ones_are(
    lamps: Path, tmp_path: Path
) -> None:
    other = tmp_path / "off.jsonl"
    other.write_text(json.dumps(ROWS[0] | {"expected": "yes"}) + "\n")
    sha256 = hashlib.sha256(other.read_bytes()).hexdigest()

    status, _, said = evaluate(
        "run", "--url", "http://127.0.0.1:9", "--suite", lamps, other, "-o", tmp_path / "run.jsonl"
    )

    assert status == 1
    assert f"its SHA-256 is {sha256}, allowed are off.jsonl (" in said
    assert "take them from https://example.com" in said
    assert not (tmp_path / "run.jsonl").exists()


def test_a_part_of_a_suite_does_not_stand_beside_what_the_whole_got(lamps: Path, tmp_path: Path) -> None:
    suite = load_suite(str(lamps))
    first, _ = suite.files
    files = (TaskFile(name=first.name, sha256=first.sha256, count=1),)
    told = header(1, suite=suite).model_copy(update={"tasks": files})
    run = write_run(tmp_path / "part.jsonl", answers(1), told=told)

    _, report, _ = evaluate("report", run)

    assert "Suite lamps, 1 of 2 tasks" in report
    assert "Not the whole suite, without on.jsonl" in report
    assert "published: somebody" not in report
    bare = write_run(tmp_path / "bare.jsonl", answers(1))
    assert "Suite" not in evaluate("compare", run, bare)[1]


def test_jevbench_has_its_231_public_tasks_and_the_two_published_runs() -> None:
    suite = load_suite("jevbench")

    assert suite.tasks == 231
    assert [one.right for one in suite.published] == [179, 180]
    assert {one.prompt for one in suite.published} == {"direct-options-v1"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("right = 2", "right = 3", "published: right is 3, the files have 2 tasks"),
        ('sha256 = "', 'sha256 = "x', "sha256"),
        ("description", "title = 1\ndescription", "title"),
    ],
)
def test_what_is_wrong_with_a_suites_file_is_told(lamps: Path, old: str, new: str, said: str) -> None:
    lamps.write_text(lamps.read_text().replace(old, new, 1))
    with pytest.raises(ProblemsError, match=said):
        load_suite(str(lamps))


def test_a_suite_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(SemifError, match="there is no suite 'nothing'; known are jevbench, and the path of"):
        load_suite("nothing")
