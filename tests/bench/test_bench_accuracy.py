"""The table of right answers: it counts what the adapter answers, on a tiny model."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench.accuracy.asking import ask, averaged, questions_of
from semif_adapter.contract.wire import Layout
from semif_adapter.engine.engine import Engine

ROOT = Path(__file__).parent.parent.parent
TASKS = (
    {
        "state": "The lamp in the hall is on.",
        "question": {"type": "noul", "instructions": "Is it on?", "criteria": None},
        "expected": "yes",
    },
    {
        "state": "The lamp in the hall is off.",
        "question": {
            "type": "choice",
            "criteria": {"hall": "in the hall", "cellar": None, "attic": "up there"},
        },
        "expected": "hall",
    },
    {
        "state": "The lamp is broken.",
        "question": {
            "type": "score",
            "instructions": "How bad?",
            "criteria": ["good", "bad", "worse", "lost"],
        },
        "expected": 2,
    },
)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tasks") / "three.jsonl"
    path.write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    return path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.accuracy", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_every_readout_layout_and_rotation_gets_a_line(
    tasks: Path, tiny_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    done = run("--model", str(tiny_gguf()), "--tasks", str(tasks), "--output", str(tmp_path))

    assert done.returncode == 0, done.stderr
    report = json.loads(next(tmp_path.glob("*.json")).read_text())
    rows = {(row["readout"], row["layout"], row["rotated"]): row for row in report["rows"]}
    layouts = ("schema-first", "state-first")
    kinds = (("letters", False), ("letters", True), ("text", False))
    assert set(rows) == {(readout, layout, rotated) for readout, rotated in kinds for layout in layouts}
    assert all(row["valid"] == row["count"] == 3 for row in rows.values())
    assert {rows["text", layout, False]["flipped"] for layout in layouts} == {0}
    for layout in layouts:
        # 2, 3 and 4 options: as many prompts, whose lengths are the same for one task.
        assert rows["letters", layout, True]["tokens"] > 2 * rows["letters", layout, False]["tokens"]
    assert all(line in done.stdout for line in next(tmp_path.glob("*.md")).read_text().splitlines())


@pytest.mark.parametrize("layout", ["schema-first", "state-first"])
def test_the_mean_over_the_orders_is_what_the_adapter_answers(
    tasks: Path, layout: Layout, tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> None:
    engine = load_engine(tiny_gguf(), readout="letters")
    read = questions_of(tasks)
    for index, task in enumerate(read):
        orders = [ask(engine, read, index, turn, layout) for turn in range(len(task.question.options))]
        [rotated], _ = engine.score([replace(task.question, rotate=True)], layout)
        mean = averaged(read, orders)
        assert mean.logits == pytest.approx(rotated.option_logits, abs=1e-9)
        assert mean.choice == rotated.option_ids[rotated.probabilities.index(max(rotated.probabilities))]
        assert mean.tokens == rotated.input_tokens
