"""`semif evaluate compare` with more than two runs: each against the first, for their number."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from semif.cli import main
from semif.evaluation.figures.measures import holm
from semif.evaluation.runs.run_file import Record, TargetName
from tests.support.runs.synthetic_runs import answers, header, record, unanswered, write_run


def compare(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["evaluate", "compare", *map(str, arguments)], env={"COLUMNS": "120"})
    return result.exit_code, result.stdout, result.stderr


def judged(task: str, right: bool, **changes: object) -> Record:
    return record(
        task, **{"choice": "a"} if right else {"choice": "b", "probabilities": (0.2, 0.8)}, **changes
    )


def run_of(path: Path, right: int, *, of: int = 20, groups: bool = False) -> Path:
    """The first `right` of the tasks are right; with `groups` two by two count together."""
    return write_run(
        path,
        [
            judged(f"t{place}", place < right, group=f"g{place // 2}" if groups else None)
            for place in range(of)
        ],
    )


def test_each_run_is_held_against_the_first_for_their_number(tmp_path: Path) -> None:
    """Ten and eight more are right: p is twice 1/2 to their power, adjusted for two runs at the smaller."""
    runs = [run_of(tmp_path / f"{name}.jsonl", right) for name, right in (("a", 5), ("b", 13), ("c", 15))]
    page, text = tmp_path / "page.html", tmp_path / "text.md"
    status, output, _ = compare(*runs, "--html", page, "--markdown", text)
    assert status == 0
    assert "Right more often than A, by more than chance: B b, C c." in output.splitlines()
    found = json.loads(compare(*runs, "--json")[1])
    assert (found["tasks"], found["groups"], list(found["runs"])) == (20, None, ["A", "B", "C"])
    assert found["runs"]["A"]["against_a"] is None
    b, c = (found["runs"][letter]["against_a"] for letter in "BC")
    assert (b["only_first_right"], b["only_this_right"], c["only_this_right"]) == (0, 8, 10)
    assert (b["p_value"], c["p_value"]) == (2 / 2**8, 2 / 2**10)
    assert (b["p_adjusted"], c["p_adjusted"]) == (2 / 2**8, 2 * 2 / 2**10)
    rows = [line for line in text.read_text().splitlines() if line.startswith("| `C c` |")]
    assert any("15 of 20" in row for row in rows)
    assert "| `t5` | `routing` | `a` | `b` | `a` | `a` |" in text.read_text()
    assert "Tasks on which not all chose the same (10)" in page.read_text()


def test_groups_count_together(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / f"{right}.jsonl", right, groups=True) for right in (4, 16, 4)]
    found = json.loads(compare(*runs, "--json")[1])
    assert found["groups"] == 10
    assert found["runs"]["B"]["against_a"]["p_value"] == 2 / 2**6
    assert found["verdicts"] == ["No more apart from A than chance may explain: B 16, C 4."]


def test_only_what_all_asked_is_compared(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a.jsonl", [judged("t1", True), judged("t2", True), judged("t3", True)])
    b = write_run(
        tmp_path / "b.jsonl", [judged("t1", True), judged("t2", False), judged("t3", True, expected="b")]
    )
    c = write_run(tmp_path / "c.jsonl", [judged("t1", True), judged("t3", True)])
    status, output, _ = compare(a, b, c)
    assert status == 0
    for line in (
        "Left out: 1 task of A that not all asked.",
        "Left out: 1 task of B that not all asked.",
        "Left out: 1 task with other options, or another expected one.",
    ):
        assert line in output.splitlines()
    assert "Over 1 task that all asked" in output


def test_words_and_predictions_stand_beside_probabilities(tmp_path: Path) -> None:
    """Whoever tells no probabilities or times has none, and a word that names no option is counted."""
    bare = {"probabilities": None, "input_tokens": None, "cached_tokens": None, "server_seconds": None}
    told = header(2, target=TargetName(kind="predictions", name="llm.csv"))
    words = [record("t0", **bare), unanswered("t1", "unparsable", "no-option")]
    runs = [
        write_run(tmp_path / "llm.jsonl", words, told=told),
        run_of(tmp_path / "ours.jsonl", 1, of=2),
        run_of(tmp_path / "theirs.jsonl", 2, of=2),
    ]
    status, output, _ = compare(*runs, "--html", tmp_path / "page.html")
    assert status == 0
    answers_of_a, figures_of_a = [line.split() for line in output.splitlines() if line.startswith("  A ")][1:]
    assert answers_of_a[:4] == ["A", "llm", "1", "1"]
    assert figures_of_a == ["A", "llm", *["-"] * 5]


def test_too_few_and_too_many_runs_are_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", answers(3))
    for count in (1, 21):
        status, _, error = compare(*[path] * count)
        assert status == 2
        assert f"{count} run files are given; give 2 to 20" in error
    assert compare(*[path] * 20)[0] == 0


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5], [0.5]),
        ([0.9, 0.8], [1.0, 1.0]),
        ([0.005, 0.011, 0.02, 0.04, 0.13], [0.025, 0.044, 0.06, 0.08, 0.13]),
    ],
)
def test_holms_adjustment_by_hand(p_values: list[float], adjusted: list[float]) -> None:
    assert holm(p_values) == pytest.approx(adjusted)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holms_adjustment_keeps_the_order_and_is_between_nothing_and_bonferroni(
    p_values: list[float],
) -> None:
    adjusted = holm(p_values)
    for one, other in zip(p_values, adjusted, strict=True):
        assert one <= other <= min(1.0, one * len(p_values))
    by_p = [value for _, value in sorted(zip(p_values, adjusted, strict=True))]
    assert by_p == sorted(by_p)
