"""`semif calibrate thresholds`: operating points worked out by hand, and honest where none does it."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from semif.calibration.grouped_mean import grouped_mean
from semif.calibration.thresholds import (
    JudgedAnswer,
    NoThresholdError,
    all_right_for,
    for_cost,
    for_coverage,
    for_precision,
    mean_cost,
    operating_points,
)
from semif.cli import main
from semif.errors import SemifError
from semif.evaluation.figures.measures import share
from semif.evaluation.runs.run_file import Pins
from semif.policy import load_policy
from tests.support.runs.calibration_runs import MODEL, PROMPT, drawn, labelled
from tests.support.runs.calibrations import calibration, write_calibration
from tests.support.runs.synthetic_runs import header, record, unanswered, write_run

TEN = [JudgedAnswer(probability, right, str(probability)) for probability, right in [
    (0.98, True), (0.93, True), (0.90, True), (0.85, False), (0.80, True),
    (0.70, True), (0.60, False), (0.55, False), (0.45, True), (0.40, False),
]]  # fmt: skip
SURE = [JudgedAnswer(0.95, True, f"s{n}") for n in range(100)] + [
    JudgedAnswer(0.6, n < 10, f"u{n}") for n in range(20)
]


def test_a_point_counts_what_is_accepted_and_right() -> None:
    point = next(point for point in operating_points(TEN) if point.threshold == 0.7)
    assert (point.coverage, point.precision, point.errors) == (share(6, 10), share(5, 6), 1)
    assert operating_points(TEN)[0].coverage.part == 10
    assert operating_points(TEN)[-1].precision is None


def test_a_precision_is_reached_by_the_lower_end_of_its_interval() -> None:
    point = for_precision(operating_points(SURE), 0.95)
    assert point.threshold == 0.61
    assert point.precision == share(100, 100)
    assert for_precision(operating_points(SURE), 0.85).threshold == 0.0, "all accepted: 110 of 120"


def test_a_precision_out_of_reach_is_told_with_the_best_and_what_it_would_take() -> None:
    with pytest.raises(NoThresholdError, match=r"at least 73 accepted answers, all right") as raised:
        for_precision(operating_points(TEN), 0.95)
    assert raised.value.best.threshold == 0.86
    assert "accepts 3 of 10" in str(raised.value)


@given(st.integers(1, 400))
def test_how_many_right_answers_show_a_precision(count: int) -> None:
    assert all_right_for(share(count, count).low - 1e-9) == count
    assert all_right_for(share(count, count).low + 1e-9) == count + 1
    assert all_right_for(0.9999999) > 38_000_000, "however many, it is told at once"


def test_a_coverage_takes_the_surest() -> None:
    points = operating_points(TEN)
    assert for_coverage(points, 0.5).threshold == 0.80
    assert for_coverage(points, 0.45).threshold == 0.80, "five of ten are the fewest that are 45 %"
    assert for_coverage(points, 1.0).threshold == 0.40


def test_a_cost_weighs_errors_against_handing_over() -> None:
    points = operating_points(TEN)
    # Handing over costs 1: from 0.61 on 4 are handed over and 1 is wrong, from 0.41 on it is 1 and 3.
    assert for_cost(points, 0.5).threshold == 0.0
    assert for_cost(points, 2.0).threshold == 0.61
    assert for_cost(points, 5.0).threshold == 0.86
    assert mean_cost(TEN, 0.61, 2.0).value == pytest.approx((4 + 2.0) / 10)
    wrong = [JudgedAnswer(0.9, False, str(n)) for n in range(5)]
    with pytest.raises(NoThresholdError, match="no threshold is cheaper than handing everything over"):
        for_cost(operating_points(wrong), 2.0)


@given(st.lists(st.tuples(st.floats(0.01, 1), st.booleans()), min_size=1, max_size=40), st.floats(0.01, 1))
@settings(max_examples=20)
def test_a_higher_threshold_never_accepts_more(pairs: list[tuple[float, bool]], wanted: float) -> None:
    points = operating_points([JudgedAnswer(value, right, "g") for value, right in pairs])
    accepted = [point.coverage.part for point in points]
    assert accepted == sorted(accepted, reverse=True)
    assert all(point.errors <= earlier.errors for earlier, point in pairwise(points))
    found = for_coverage(points, wanted)
    assert found.coverage.value >= wanted
    assert all(point.coverage.value < wanted for point in points if point.threshold > found.threshold)


def test_groups_widen_an_interval_and_one_alone_has_none() -> None:
    values = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0] * 5
    alone = grouped_mean(values, [str(place) for place in range(40)])
    grouped = grouped_mean(values, [str(place // 4) for place in range(40)])
    assert alone.value == grouped.value == 0.5
    assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)
    with pytest.raises(SemifError, match="all tasks are of one group"):
        grouped_mean(values, ["g"] * 40)


def thresholds(*arguments: Any) -> Any:
    return CliRunner().invoke(main, ["calibrate", "thresholds", *map(str, arguments)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two families of tasks with different options; one task got no answer."""
    bank = [
        labelled(
            f"b{n}", [3.0, 0.0], 0, family="bank", option_ids=("pay", "hold"), expected="pay", choice="pay"
        )
        for n in range(90)
    ]
    other = [record(f"o{n}", family="other", probabilities=(0.6, 0.4)) for n in range(10)]
    return write_run(
        tmp_path / "run.jsonl", [*bank, *other, unanswered("gone", "failed", "timeout", family="bank")]
    )  # fmt: skip


def test_the_policy_holds_the_threshold_and_reads_back(run: Path, tmp_path: Path) -> None:
    policy = tmp_path / "bank.policy.toml"

    done = thresholds(run, "--family", "bank", "--precision", 0.95, "-o", policy)

    assert done.exit_code == 0, done.output
    assert "accept from 0.00 on, for --precision 0.95" in done.stdout
    assert "1 tasks got no answer" in done.stderr
    read = load_policy(policy)
    assert (read.name, read.thresholds) == ("bank", {"hold": 0.0, "pay": 0.0})
    assert "90 of 90 answers accepted, 90 of these right" in read.description
    again = thresholds(run, "--family", "bank", "--coverage", 1, "-o", policy)
    assert (again.exit_code, load_policy(policy)) == (1, read)
    assert "is there already, and may hold rules" in again.stderr


def told_by(tasks: int, **changes: Any) -> list[Any]:
    wording = {"question_sha256": "1" * 64, "options_sha256": "2" * 64}
    return [labelled(f"t{n}", [3.0, 0.0], 0, **wording | changes) for n in range(tasks)]


@pytest.mark.parametrize("calibrated", [False, True])
def test_the_policy_says_what_it_was_made_for(tmp_path: Path, calibrated: bool) -> None:
    run, policy = write_run(tmp_path / "run.jsonl", told_by(20)), tmp_path / "p.toml"
    file = write_calibration(tmp_path / "c.json", calibration(MODEL.sha256))
    done = thresholds(run, "--coverage", 1, "-o", policy, *(("--calibration", file) if calibrated else ()))
    assert (done.exit_code, done.stderr) == (0, "")
    made_for = load_policy(policy).made_for
    assert made_for is not None
    assert (made_for.question_sha256, made_for.options_sha256) == ("1" * 64, "2" * 64)
    (answerer,) = made_for.answerers
    assert (answerer.model_sha256, answerer.prompt_version) == (MODEL.sha256, PROMPT)
    expected = hashlib.sha256(file.read_bytes()).hexdigest() if calibrated else None
    assert answerer.calibration_sha256 == expected


def test_what_a_run_does_not_tell_the_policy_does_not_say_and_that_is_told(run: Path, tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    done = thresholds(run, "--family", "bank", "--coverage", 1, "-o", policy)
    assert (done.exit_code, load_policy(policy).made_for) == (0, None)
    assert "does not say what it was made for" in done.stderr


def test_a_policy_is_made_for_one_question(tmp_path: Path) -> None:
    two = [*told_by(9), labelled("other", [3.0, 0.0], 0, question_sha256="3" * 64, options_sha256="2" * 64)]
    done = thresholds(write_run(tmp_path / "run.jsonl", two), "--coverage", 1, "-o", tmp_path / "p.toml")
    assert (done.exit_code, (tmp_path / "p.toml").exists()) == (1, False)
    assert "the tasks ask 2 questions" in done.stderr


def test_a_policy_needs_one_set_of_options(run: Path, tmp_path: Path) -> None:
    done = thresholds(run, "--coverage", 0.9, "-o", tmp_path / "p.toml")
    assert done.exit_code == 1
    assert (
        "2 different sets of options, a policy knows one; take one with --family (bank, other)" in done.stderr
    )
    unknown = thresholds(run, "--coverage", 0.9, "--family", "banks")
    assert "no task is of the family 'banks', there are bank, other" in unknown.stderr


def test_options_that_no_policy_can_hold_are_told(tmp_path: Path) -> None:
    tasks = [
        labelled(f"t{n}", [3.0, 0.0], 0, option_ids=("pay", "person"), expected="pay", choice="pay")
        for n in range(20)
    ]
    policy = tmp_path / "bank.policy.toml"
    done = thresholds(write_run(tmp_path / "run.jsonl", tasks), "--coverage", 1, "-o", policy)
    assert (done.exit_code, policy.exists()) == (1, False)
    assert "thresholds.person: no option may be called 'person'" in done.stderr


def test_what_no_threshold_reaches_leaves_no_policy(run: Path, tmp_path: Path) -> None:
    done = thresholds(run, "--precision", 0.99, "--family", "bank", "-o", tmp_path / "p.toml", "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no threshold gives a precision that is surely 0.99" in done.stderr
    assert not (tmp_path / "p.toml").exists()


def test_a_calibration_is_applied_to_a_run_without(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", list(drawn(80, 2.0)))
    file = write_calibration(tmp_path / "c.json", calibration(MODEL.sha256, temperature=4.0))
    plain = json.loads(thresholds(run, "--coverage", 0.5, "--json").stdout)
    calibrated = json.loads(thresholds(run, "--coverage", 0.5, "--calibration", file, "--json").stdout)
    assert calibrated["found"]["threshold"] < plain["found"]["threshold"]
    assert calibrated["points"][0] == plain["points"][0], "no choice changes"
    other = write_calibration(tmp_path / "other.json", calibration("b" * 64))
    refused = thresholds(run, "--coverage", 0.5, "--calibration", other)
    assert refused.exit_code == 1
    assert "is not for these" in refused.stderr


def test_a_task_counts_once_and_a_threshold_is_of_one_model(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(run.read_bytes())
    twice = thresholds(run, copy, "--coverage", 0.5)
    assert (twice.exit_code, "answer the same tasks; give one" in twice.stderr) == (1, True)
    told = header(1).model_copy(update={"pins": Pins(model_name="another")})
    other = write_run(tmp_path / "other.jsonl", [record("t")], told=told)
    mixed = thresholds(run, other, "--coverage", 0.5)
    assert (mixed.exit_code, "answers of different models" in mixed.stderr) == (1, True)
    task = header(1).tasks[0].model_copy(update={"sha256": "1" * 64})
    pins = Pins(model_name="synthetic", calibration="c" * 64)
    told = header(1).model_copy(update={"tasks": (task,), "pins": pins})
    other = write_run(tmp_path / "calibrated.jsonl", [record("t")], told=told)
    mixed = thresholds(run, other, "--coverage", 0.5)
    assert (mixed.exit_code, "probabilities of different calibrations" in mixed.stderr) == (1, True)


def test_the_cost_is_told_with_its_interval(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", list(drawn(80, 1.0)))
    told = json.loads(thresholds(run, "--cost-of-error", 3, "--json").stdout)
    assert told["cost"]["low"] < told["cost"]["value"] < told["cost"]["high"]
    point = told["found"]
    handed_over = point["coverage"]["whole"] - point["coverage"]["part"]
    assert told["cost"]["value"] == pytest.approx((handed_over + 3 * point["errors"]) / 80)


def test_the_table_fits_a_terminal_of_80_columns(tmp_path: Path) -> None:
    answers = list(drawn(80, 1.0))
    for size in (1, 4):
        grouped = [one.model_copy(update={"group": f"g{n // size}"}) for n, one in enumerate(answers)]
        told = thresholds(write_run(tmp_path / "run.jsonl", grouped), "--coverage", 0.5).stdout.splitlines()
        assert told[0] == f"of 80 answers{' in 20 groups' if size > 1 else ''}, with 95 % intervals:"
        rows = told[2:-1]
        assert len({len(line) for line in rows}) == 1
        assert max(map(len, told)) <= 80
        assert rows[0].split()[:3] == ["0.00", "80", "100.0%"]


@pytest.mark.parametrize("goals", [(), ("--coverage", 0.5, "--precision", 0.9)])
def test_one_goal_is_needed(run: Path, goals: tuple[Any, ...]) -> None:
    done = thresholds(run, *goals)
    assert done.exit_code == 2
    assert "exactly one of --precision, --coverage and --cost-of-error" in done.stderr


def test_answers_without_probabilities_have_no_threshold(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", [record("t", probabilities=None)])
    done = thresholds(run, "--coverage", 0.5)
    assert done.exit_code == 1
    assert "answers without probabilities" in done.stderr
