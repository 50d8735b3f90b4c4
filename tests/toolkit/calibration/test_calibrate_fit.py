"""`semif calibrate fit`: the temperature that is in the data, and nothing where none is."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from semif.calibration.calibrate import calibrate
from semif.calibration.fit import FOLDS, MIN_TASKS, fit_temperature, folds
from semif.calibration.labelled_logits import LabelledLogits, read_answers
from semif.cli import main
from semif.errors import SemifError
from semif.evaluation.figures.measures import log_loss
from semif.evaluation.runs.run_file import Record
from semif.models.presets import load_preset
from semif_adapter.archive.calibration import load_calibration
from semif_adapter.contract.probabilities import softmax
from tests.support.runs.calibration_runs import MODEL, PROMPT, drawn, labelled
from tests.support.runs.synthetic_runs import header, unanswered, write_run

OTHER = MODEL.model_copy(update={"sha256": "b" * 64})


@pytest.mark.parametrize("temperature", [0.4, 3.0])
def test_the_temperature_of_the_data_is_found_and_helps_out_of_fold(
    tmp_path: Path, temperature: float
) -> None:
    run = write_run(tmp_path / "run.jsonl", list(drawn(600, temperature)))

    done = calibrate([run])

    [fit] = done.fits
    found = fit.calibration
    assert found.temperature == pytest.approx(temperature, rel=0.15)
    assert found.after.log_loss < found.before.log_loss
    assert found.after.brier < found.before.brier
    assert found.after.ece < found.before.ece
    assert fit.gain.low > 0
    assert fit.gain.low < found.before.log_loss - found.after.log_loss < fit.gain.high
    assert list(done.warnings) == []
    assert (found.tasks, found.groups, found.prompt_version) == (600, 600, PROMPT)
    assert done.calibration.model_sha256 == MODEL.sha256
    assert done.calibration.data_sha256 == ("0" * 64,)


def test_kinds_with_data_of_their_own_get_their_own(tmp_path: Path) -> None:
    records = [
        *drawn(300, 0.5, kind="noul"),
        *drawn(300, 3.0, kind="choice", seed=1),
        *drawn(MIN_TASKS - 1, 3.0, kind="score", seed=2),
        *drawn(10, 2.0, kind=None, seed=3),
    ]

    [fit] = calibrate([write_run(tmp_path / "run.jsonl", records)]).fits

    kinds = fit.calibration.kinds
    assert set(kinds) == {"choice", "noul"}
    assert kinds["noul"].temperature == pytest.approx(0.5, rel=0.2)
    assert kinds["choice"].temperature == pytest.approx(3.0, rel=0.2)
    assert kinds["noul"].temperature < fit.calibration.temperature < kinds["choice"].temperature
    assert f"{MIN_TASKS - 1} answered tasks" in fit.shared_kinds["score"]


def test_a_kind_like_the_others_shares_their_temperature(tmp_path: Path) -> None:
    records = [*drawn(500, 2.0, kind="choice"), *drawn(MIN_TASKS, 2.0, kind="noul", seed=1)]

    [fit] = calibrate([write_run(tmp_path / "run.jsonl", records)]).fits

    assert "noul" not in fit.calibration.kinds
    assert "by the shared one" in fit.shared_kinds["noul"]


def test_each_prompt_has_temperatures_of_its_own(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a.jsonl", list(drawn(200, 2.0)))
    other = "chat-text-state-first-2"
    second = write_run(tmp_path / "b.jsonl", list(drawn(200, 4.0, prompt_version=other)))

    done = calibrate([second, first])

    versions = [prompt.prompt_version for prompt in done.calibration.prompts]
    assert versions == [PROMPT, other]
    assert done.calibration.prompts[0].temperature < done.calibration.prompts[1].temperature


def test_honest_probabilities_are_left_alone_with_a_warning(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", list(drawn(100, 1.0)))

    done = calibrate([run])

    [warning] = done.warnings
    assert "do not pack this calibration" in warning or "no more than chance could" in warning


@given(st.lists(st.tuples(st.floats(-8, 8), st.floats(-8, 8), st.booleans()), min_size=5, max_size=30))
@settings(max_examples=40)
def test_no_other_temperature_has_a_lower_log_loss(drawn_pairs: list[tuple[float, float, bool]]) -> None:
    answers = [
        LabelledLogits(str(place), None, np.array([first, second]), int(wrong))
        for place, (first, second, wrong) in enumerate(drawn_pairs)
    ]

    def loss(temperature: float) -> float:
        rows = [softmax(answer.logits, temperature) for answer in answers]
        return log_loss(rows, [answer.expected for answer in answers])

    best = loss(fit_temperature(answers))
    assert best <= min(loss(10.0**power) for power in np.linspace(-2, 2, 41)) + 1e-4


@given(st.lists(st.sampled_from("abcdefghijklm"), min_size=30, max_size=60))
@settings(max_examples=30)
def test_a_group_is_never_on_both_sides_and_each_task_is_judged_once(groups: list[str]) -> None:
    if len(set(groups)) < FOLDS:
        return
    judged: list[int] = []
    for train, test in folds(groups):
        assert not {groups[place] for place in train} & {groups[place] for place in test}
        assert sorted([*train, *test]) == list(range(len(groups)))
        judged += test
    assert sorted(judged) == list(range(len(groups)))


def test_tasks_as_written_count_once_and_unanswered_ones_not(tmp_path: Path) -> None:
    records = list(drawn(60, 2.0))
    turned = [one.model_copy(update={"order": 1}) for one in records]
    failed = unanswered("gone", "failed", "timeout")

    answers = read_answers([write_run(tmp_path / "run.jsonl", [*records, *turned, failed])])

    assert len(answers.prompts[PROMPT]) == 60
    assert answers.left_out == 1


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (list(drawn(MIN_TASKS - 1, 2.0)), "49 answered tasks in 49 groups are too few, needed are 50 in 5"),
        (list(drawn(60, 2.0, group="all")), "60 answered tasks in 1 groups are too few"),
        ([labelled(f"t{n}", [2.0, 0.0], 0) for n in range(60)], "right option is always ahead"),
        ([labelled(f"t{n}", [2.0, 0.0], n % 2) for n in range(60)], "logits say nothing"),
        ([labelled(f"t{n}", [2e6, 0.0], n % 2) for n in range(60)], "logits say nothing"),
        ([labelled(f"t{n}", [1e6, 0.0], n % 10 == 0) for n in range(60)], r"above 100, .* by 1e\+06"),
        ([labelled(f"t{n}", [1e-4, 0.0], n % 10 == 0) for n in range(60)], r"below 0\.01, .* by 0\.0001"),
        (
            [*drawn(60, 2.0), labelled("x", [1.0, 0.0], 0, model=OTHER)],
            "answers of the model with SHA-256 b{64}, others are of a{64}",
        ),
        (
            [*drawn(60, 2.0), labelled("x", [1.0, 0.0], 0, prompt_version="chat-letters-state-first-2")],
            "answers by the readout letters, others are by text",
        ),
        ([labelled(f"t{n}", [2.0, 2.0], 0) for n in range(60)], "logits say nothing"),
        ([one.model_copy(update={"option_logits": None}) for one in drawn(60, 2.0)], "without option logits"),
        ([one.model_copy(update={"raw": {}}) for one in drawn(60, 2.0)], "without option logits"),
        ([unanswered("t", "failed", "timeout")], "no task of .* was answered"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_refused(tmp_path: Path, records: Sequence[Record], expected: str) -> None:
    run = write_run(tmp_path / "run.jsonl", records)
    with pytest.raises(SemifError, match=expected):
        calibrate([run])


def test_one_run_does_not_count_twice(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", list(drawn(60, 2.0)))
    copy = write_run(tmp_path / "copy.jsonl", list(drawn(60, 2.0)))
    with pytest.raises(SemifError, match="answer the same tasks with one prompt"):
        calibrate([run, copy])
    told = header(60).model_copy(
        update={"tasks": (header(1).tasks[0].model_copy(update={"sha256": "1" * 64}),)}
    )
    other = write_run(tmp_path / "other.jsonl", list(drawn(60, 2.0)), told=told)
    assert calibrate([run, other]).calibration.data_sha256 == ("0" * 64, "1" * 64)


def test_a_run_that_was_edited_leaves_its_figures_to_its_records(tmp_path: Path) -> None:
    """The reply is kept beside them and may say anything; only who answered is taken from it."""
    records = list(drawn(60, 2.0))
    raw = json.loads(json.dumps(records[3].raw))
    raw["result"] |= {"option_ids": ["other"], "option_logits": [1.0]}
    odd = [*records[:3], records[3].model_copy(update={"raw": raw}), *records[4:]]
    plain = calibrate([write_run(tmp_path / "run.jsonl", records)])
    assert calibrate([write_run(tmp_path / "odd.jsonl", odd)]).calibration == plain.calibration


def rotated(record: Record) -> Record:
    """As an adapter answers `order_debiasing`, with the same version of the prompt as without."""
    raw = json.loads(json.dumps(record.raw))
    raw["result"]["timing"]["rotations"] = len(record.option_ids)
    return record.model_copy(update={"task": f"rotated {record.task}", "raw": raw})


def test_answers_of_rotated_options_are_left_out_and_told(tmp_path: Path) -> None:
    """Their logits are means, which another temperature makes honest."""
    plain, others = list(drawn(100, 2.0)), [rotated(one) for one in drawn(30, 0.2, seed=1)]
    alone = semif(write_run(tmp_path / "plain.jsonl", plain), "-o", tmp_path / "a.json", "--json")
    mixed = semif(write_run(tmp_path / "run.jsonl", [*plain, *others]), "-o", tmp_path / "b.json", "--json")
    assert json.loads(mixed.stdout)["calibration"] == json.loads(alone.stdout)["calibration"]
    assert (json.loads(mixed.stdout)["rotated"], json.loads(mixed.stdout)["left_out"]) == (30, 0)
    assert "semif: 30 answers of rotated options (order_debiasing) are left out" in mixed.stderr
    assert "rotated" not in alone.stderr
    none = semif(write_run(tmp_path / "others.jsonl", others), "-o", tmp_path / "c.json")
    assert (none.exit_code, (tmp_path / "c.json").exists()) == (1, False)
    assert "all 30 answers are of rotated options" in none.stderr


@pytest.mark.parametrize("over", ["-o", "--plot"])
def test_no_calibration_is_written_over_its_run(tmp_path: Path, over: str) -> None:
    run = write_run(tmp_path / "run.jsonl", list(drawn(60, 2.0)))
    before = run.read_bytes()
    done = semif(run, "-o", tmp_path / "c.json", over, run)
    assert (done.exit_code, run.read_bytes()) == (1, before)
    assert f"{run} is the run itself" in done.stderr
    assert list(tmp_path.iterdir()) == [run]


def semif(*arguments: Any) -> Any:
    return CliRunner().invoke(main, ["calibrate", "fit", *map(str, arguments)])


def test_the_file_is_one_that_the_adapter_reads(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", list(drawn(200, 3.0)))
    file, picture = tmp_path / "out" / "c.json", tmp_path / "picture.png"

    done = semif(run, "-o", file, "--plot", picture)

    assert done.exit_code == 0, done.output
    loaded = load_calibration(file)
    assert f"SHA-256 {loaded.sha256}" in done.stdout
    assert done.stderr == ""
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = semif(run, "-o", tmp_path / "again.json", "--json", "--plot", tmp_path / "p.svg")
    told = json.loads(again.stdout)
    assert told["sha256"] == loaded.sha256, "the same answers, the same bytes"
    assert told["calibration"] == json.loads(file.read_bytes())
    assert told["warnings"] == []
    assert "<svg" in (tmp_path / "p.svg").read_text()


def test_a_warning_is_told_and_a_wrong_picture_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", list(drawn(100, 1.0)))
    done = semif(run, "-o", tmp_path / "c.json")
    assert done.exit_code == 0
    assert "semif: warning: chat-text-schema-first-2: out of fold the log loss" in done.stderr
    wrong = semif(run, "-o", tmp_path / "d.json", "--plot", tmp_path / "p.gif")
    assert (wrong.exit_code, (tmp_path / "d.json").exists()) == (1, False)
    assert "must end in .png or .svg" in wrong.stderr


ANIMALS = {
    "dog": "barks, guards the house, fetches the stick, is a puppy, likes bones, howls, chases cats, "
    "sniffs at the bag, is a poodle, growls, sleeps in a kennel, pulls a sledge, digs holes, herds sheep, "
    "walks on a leash, wags its tail, runs after the ball",
    "cat": "purrs, meows, hunts mice, is a kitten, climbs the curtain, licks its paw, uses a litter box, "
    "scratches the sofa, hisses at the dog, drinks milk, plays with wool, lands on its feet, has whiskers, "
    "sits on the fence, catches birds, sleeps all day, has nine lives",
    "cow": "gives milk, moos, eats grass, has horns, is a calf, stands in the barn, has an udder, grazes, "
    "is milked at six, weighs 600 kilos, chews all day, wears a bell, lives on a farm, has four stomachs, "
    "is led to the pasture, pulls the plough, has a bull for a father",
}
"""Short tasks with one schema: what matters here is not what the model makes of them."""


def test_what_an_adapter_answers_is_fitted(embedded_url: str, tmp_path: Path) -> None:
    """The whole way on real weights: labelled tasks, a run, a calibration of the model that answered."""
    tasks, run, file = tmp_path / "tasks.jsonl", tmp_path / "run.jsonl", tmp_path / "c.json"
    asked = {"question": "Which animal is it?", "options": [{"id": animal} for animal in ANIMALS]}
    rows = [
        {**asked, "state": f"It {does}.", "expected": animal}
        for animal, all_it_does in ANIMALS.items()
        for does in all_it_does.split(", ")
    ]
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["evaluate", "run", "--url", embedded_url, str(tasks), "-o", str(run)]
    answered = CliRunner().invoke(main, arguments)
    assert answered.exit_code == 0, answered.output

    done = semif(run, "-o", file)

    assert done.exit_code == 0, done.output
    loaded = load_calibration(file)
    loaded.check_model(load_preset("embedded").model.sha256)
    [version] = read_answers([run]).prompts
    assert loaded.applied(version, None) is not None
    assert loaded.content.prompts[0].tasks == len(rows)
