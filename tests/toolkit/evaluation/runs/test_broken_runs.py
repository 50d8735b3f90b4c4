"""Run files that are not what they seem are refused, with the line and without what stands there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from semif.errors import SemifError
from semif.evaluation.runs.run_file import read_run
from tests.support.runs.synthetic_runs import answers, record, write_run

BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda text: "", "line 1: "),
    "tasks instead of a run": (lambda text: '{"id": "a", "state": "secret"}\n', "line 1: "),
    "another schema": (lambda text: text.replace('"schema":1', '"schema":2', 1), "line 1: schema: "),
    "a line torn in the middle": (
        lambda text: text.replace('"task":"first"', '"task":"fir\n', 1),
        "line 2: ",
    ),
    "the same answer twice": (lambda text: text + text.splitlines(keepends=True)[-1], "the same task"),
    "an unknown option": (
        lambda text: text.replace('"expected":"a"', '"expected":"secret"', 1),
        "line 2: it: expected is none of option_ids",
    ),
    "a choice without an answer": (
        lambda text: text.replace('"answered"', '"refused"', 1),
        "line 2: it: there must be a choice",
    ),
    "a number too few": (
        lambda text: text.replace("[0.75,0.25]", "[0.75]", 1),
        "line 2: it: probabilities must have",
    ),
    "no probability": (
        lambda text: text.replace("[0.75,0.25]", "[0.75,NaN]", 1),
        "line 2: probabilities.1: ",
    ),
}


@pytest.mark.parametrize(("spoil", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_run_file_is_refused(tmp_path: Path, spoil: Callable[[str], str], told: str) -> None:
    path = write_run(tmp_path / "run.jsonl", [record("first"), record("second")])
    path.write_text(spoil(path.read_text()))
    with pytest.raises(SemifError) as refused:
        read_run(path)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_last_answer_that_was_cut_off_counts_as_not_given(tmp_path: Path) -> None:
    given = answers(5)
    path = write_run(tmp_path / "run.jsonl", given)
    path.write_bytes(path.read_bytes()[:-20])
    assert read_run(path).records == tuple(given[:-1])
