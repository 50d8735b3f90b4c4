"""`semif calibrate cascade`: where a larger model has to be asked, by hand and on synthetic runs."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from semif.calibration.cascade import Both, cascade_points, escalating_at_most, losing_at_most, read_cascade
from semif.calibration.grouped_mean import grouped_difference
from semif.cli import main
from semif.evaluation.runs.run_file import TargetName
from tests.support.runs.synthetic_runs import header, record, unanswered, write_run

FOUR = [
    Both(0.9, True, True, (1.0, 10.0), "a"),
    Both(0.8, True, False, (1.0, 10.0), "b"),
    Both(0.6, False, True, (2.0, 20.0), "c"),
    Both(None, False, True, (2.0, 20.0), "d"),
]


def cascade(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["calibrate", "cascade", *map(str, arguments)], env={"COLUMNS": "80"})
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Sixty tasks: the small model is right where it is sure (40), the large one always, but slowly."""
    folder = tmp_path_factory.mktemp("runs")
    sure: dict[str, Any] = {"probabilities": (0.95, 0.05)}
    torn: dict[str, Any] = {"probabilities": (0.45, 0.55), "choice": "b"}
    small = [record(f"t{n}", **(sure if n % 3 else torn), client_seconds=0.1) for n in range(60)]
    large = [record(f"t{n}", client_seconds=1.0) for n in range(60)]
    return (
        write_run(folder / "small.jsonl", [*small, record("small alone")]),
        write_run(folder / "large.jsonl", large),
    )


def test_a_point_takes_the_large_answer_below_the_threshold() -> None:
    points = {point.threshold: point for point in cascade_points(FOUR, (1.0, 6.0))}
    assert sorted(points) == sorted(set(points))
    none, some, nearly = points[0.0], points[0.8], points[1.0]
    assert (none.escalated.part, none.right.part) == (1, 3), "what was no answer goes up in any case"
    assert (some.escalated.part, some.right.part, some.against_large.value) == (2, 4, 0.25)
    assert some.seconds is not None
    assert some.seconds.value == (1 + 1 + 22 + 22) / 4
    assert some.cost is not None
    assert some.cost.value == (1 + 1 + 7 + 7) / 4
    assert (nearly.escalated.part, nearly.right.part, nearly.against_large.value) == (4, 3, 0.0)


def test_the_curve_goes_up_and_keeps_its_intervals(runs: tuple[Path, Path]) -> None:
    found = read_cascade(*runs, None)
    for one, other in pairwise(found.points):
        assert one.threshold < other.threshold
        assert one.escalated.part <= other.escalated.part
        assert one.seconds is not None
        assert other.seconds is not None
        assert one.seconds.value <= other.seconds.value
    for point in found.points:
        assert point.right.low <= point.right.value <= point.right.high
        assert point.seconds is not None
        assert point.seconds.low <= point.seconds.value <= point.seconds.high
        assert point.cost is None
    assert losing_at_most(found, 0.07).threshold == escalating_at_most(found, 0.34).threshold == 0.95
    assert found.left_out == 1


def test_what_it_buys_is_told_and_drawn(runs: tuple[Path, Path], tmp_path: Path) -> None:
    picture = tmp_path / "cascade.svg"
    status, output, error = cascade(*runs, "--lose", "0.07", "--prices", "1", "6", "--plot", picture)
    assert status == 0, error
    assert output.splitlines()[-1] == "escalate below 0.95"
    (row,) = [line.split() for line in output.splitlines() if "->" in line]
    assert " ".join(row) == "-> 0.950 33.3% 100.0% 94.0 to 100.0% -6.0 to +6.0 0.433 s 3"
    assert max(map(len, output.splitlines())) <= 80
    assert "1 tasks are not the same in both runs" in error
    assert picture.read_text().lstrip().startswith("<?xml")
    told = json.loads(cascade(*runs, "--escalate", "0.2", "--json")[1])
    assert (told["found"]["escalated"]["part"], told["found"]["right"]["part"]) == (0, 40)
    assert told["large_right"]["part"] == 60


def test_imported_predictions_tell_no_time(runs: tuple[Path, Path], tmp_path: Path) -> None:
    bare: dict[str, Any] = {"probabilities": None, "client_seconds": 0.0}
    told = header(60, target=TargetName(kind="predictions", name="llm.csv"))
    llm = write_run(tmp_path / "llm.jsonl", [record(f"t{n}", **bare) for n in range(60)], told=told)
    picture = tmp_path / "cascade.svg"
    status, output, error = cascade(runs[0], llm, "--lose", "0.07", "--plot", picture)
    assert status == 0, error
    (row,) = [line.split() for line in output.splitlines() if "->" in line]
    assert row[-1] == "-"
    assert "seconds" not in picture.read_text()
    assert json.loads(cascade(runs[0], llm, "--lose", "0.07", "--json")[1])["large_seconds"] is None


def test_answers_alike_are_no_proof_of_themselves(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """Sixty tasks without a difference bound what is lost at 6 in 100, and not at 0."""
    large = runs[1]
    alike = write_run(tmp_path / "alike.jsonl", [record(f"t{n}") for n in range(60)])
    for small, lose, advice, warning in (
        (large, "0.07", "never ask", "both files hold the same run; give one of each model"),
        (alike, "0.07", "never ask", "the large model is right no more often than the small one (+0.0000"),
        (alike, "0.02", "always ask", "the large model is right no more often than the small one (+0.0000"),
    ):
        status, output, error = cascade(small, large, "--lose", lose)
        assert (status, output.splitlines()[-1]) == (0, f"{advice} the large model")
        assert f"semif: warning: {warning}" in error
    missed = [unanswered("t0", "failed", "engine"), *(record(f"t{n}") for n in range(1, 60))]
    _, output, error = cascade(write_run(tmp_path / "missed.jsonl", missed), large, "--escalate", "0.1")
    assert "never ask the large model, but where the small one gives no valid answer" in output.splitlines()
    assert "warning: the large model is right more often by no more than chance could (+0.0167" in error
    assert "warning" not in cascade(*runs, "--lose", "0.07")[2], "it is right on a third more"


def test_the_interval_of_a_difference() -> None:
    """By hand, Wilson's upper end for none of n is z² / (n + z²), z = 1.96; it mirrors where sides change."""
    names = [f"t{n}" for n in range(96)]
    none = grouped_difference([True] * 96, [True] * 96, names)
    assert (none.value, none.low, none.high) == pytest.approx((0, -0.0385, 0.0385), abs=1e-4)
    one, other = [n < 60 for n in range(96)], [n % 2 == 0 for n in range(96)]
    there, back = grouped_difference(one, other, names), grouped_difference(other, one, names)
    assert there.low < 12 / 96 == there.value < there.high
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    twelve = grouped_difference([True] * 96, [True] * 96, [f"g{n % 12}" for n in range(96)])
    assert twelve.low < 5 * none.low, "groups count as one"


def test_groups_count_as_one_in_every_interval(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """The same answers in six groups tell less."""
    grouped = []
    for path in runs:
        lines = path.read_text().splitlines()
        rows = [json.loads(line) for line in lines[1:]]
        marked = [json.dumps(one | {"group": f"g{place // 10}"}) for place, one in enumerate(rows)]
        grouped.append(tmp_path / path.name)
        grouped[-1].write_text("\n".join([lines[0], *marked]) + "\n")
    alone, together = (read_cascade(small, large, None).points[0].right for small, large in (runs, grouped))
    assert (alone.groups, together.groups) == (None, 6)
    assert together.value == alone.value


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "give exactly one of --lose and --escalate"),
        (("--lose", "0", "--escalate", "1"), "give exactly one of --lose and --escalate"),
        (("--lose", "0", "--plot", "a.pdf"), "a.pdf must end in .png or .svg"),
    ],
)
def test_what_is_asked_wrongly_is_told(runs: tuple[Path, Path], options: tuple[str, ...], told: str) -> None:
    status, _, error = cascade(*runs, *options)
    assert status in (1, 2)
    assert told in error


def test_runs_that_make_no_cascade_are_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    large = runs[1]
    words = write_run(tmp_path / "words.jsonl", [record(f"t{n}", probabilities=None) for n in range(9)])
    never = write_run(tmp_path / "never.jsonl", [unanswered(f"t{n}", "failed", "engine") for n in range(5)])
    one = write_run(tmp_path / "one.jsonl", [record(f"t{n}", group="same") for n in range(60)])
    few = write_run(tmp_path / "few.jsonl", [record(f"t{n}") for n in range(49)])
    other = write_run(tmp_path / "other.jsonl", [record("another")])
    failed = unanswered("t50", "failed", "engine")
    mixed = write_run(tmp_path / "mixed.jsonl", [*(record(f"t{n}") for n in range(50)), failed])
    for first, options, told in (
        (words, ("--lose", "0"), "tells no probabilities"),
        (never, ("--lose", "0"), "tells no probabilities"),
        (few, ("--lose", "1"), "49 answered tasks in 49 groups are too few, needed are 50 in 5"),
        (one, ("--lose", "0"), "60 answered tasks in 1 groups are too few"),
        (other, ("--lose", "0"), "have no task in common"),
        (mixed, ("--escalate", "0"), "no threshold escalates at most 0: 0.020 of the tasks"),
    ):
        status, output, error = cascade(first, large, *options)
        assert (status, output) == (1, "")
        assert told in error
