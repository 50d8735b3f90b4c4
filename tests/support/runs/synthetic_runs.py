"""Run files of made-up answers, which say so: nothing was asked, no figure in them was measured."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from semif.evaluation.runs.run_file import (
    AnswerFault,
    Asking,
    Machine,
    Pins,
    Record,
    RunHeader,
    TargetName,
    TaskFile,
    header_line,
    record_line,
)

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FAMILIES = ("routing", "policy", "triage")


def header(tasks: int, **changes: Any) -> RunHeader:
    """Of a run that nobody made."""
    given: dict[str, Any] = {
        "started": BEGAN,
        "tasks": (TaskFile(name="synthetic.jsonl", sha256="0" * 64, count=tasks),),
        "target": TargetName(kind="adapter", name="synthetic, nothing was asked"),
        "pins": Pins(model_name="synthetic"),
        "machine": Machine(
            cpu="synthetic", cpus=1, load_average=(0, 0, 0), system="synthetic", python="3", semif="synthetic"
        ),
        "asking": Asking(),
    }
    return RunHeader(**given | changes)


def record(task: str, **changes: Any) -> Record:
    """One right answer out of two options, unless `changes` say otherwise."""
    given: dict[str, Any] = {
        "task": task,
        "family": "routing",
        "kind": "choice",
        "group": None,
        "order": 0,
        "option_ids": ("a", "b"),
        "expected": "a",
        "status": "answered",
        "choice": "a",
        "probabilities": (0.75, 0.25),
        "input_tokens": 100,
        "cached_tokens": 40,
        "asked": BEGAN,
        "client_seconds": 0.2,
        "server_seconds": 0.1,
    }
    return Record(**given | changes)


def unanswered(task: str, status: str, code: str, http_status: int | None = None, **changes: Any) -> Record:
    """A request without a valid answer."""
    nothing = {"choice": None, "probabilities": None, "input_tokens": None, "cached_tokens": None}
    fault = AnswerFault(code=code, status=http_status)
    return record(task, status=status, error=fault, **nothing | {"server_seconds": None} | changes)


def write_run(path: Path, records: Sequence[Record], *, told: RunHeader | None = None) -> Path:
    """A run file of these answers."""
    counted = len({one.task for one in records})
    path.write_text(
        header_line(told or header(counted)) + "".join(map(record_line, records)), encoding="utf-8"
    )
    return path


def answers(
    tasks: int, *, seed: int = 0, skill: float = 1.0, slowness: float = 1.0, orders: int = 0
) -> list[Record]:
    """Random answers to tasks of three families and kinds, in 1 + `orders` orders of their options."""
    chance = np.random.default_rng(seed)
    made = []
    for place in range(tasks):
        truth = np.random.default_rng(place)  # the same tasks, whoever answers them
        options = [f"option-{letter}" for letter in "abcdef"[: truth.integers(2, 7)]]
        expected = str(truth.choice(options))
        tokens = int(truth.integers(60, 900))
        for order in range(orders + 1):
            shown = options if order == 0 else [str(option) for option in chance.permutation(options)]
            logits = chance.normal(size=len(shown)) + 1.5 * skill * np.array(
                [option == expected for option in shown]
            )
            raised = np.exp(logits)
            probabilities = raised / raised.sum()
            seconds = slowness * (0.05 + tokens / 1500) * float(chance.lognormal(0, 0.25))
            made.append(
                record(
                    f"task-{place:03}",
                    family=FAMILIES[place % 3],
                    kind=("choice", "noul", "score")[place % 3],
                    order=order,
                    option_ids=tuple(shown),
                    expected=expected,
                    choice=shown[int(np.argmax(probabilities))],
                    probabilities=tuple(map(float, probabilities)),
                    option_logits=tuple(map(float, logits)),
                    allowed_token_mass=float(chance.beta(20, 1)),
                    input_tokens=tokens,
                    cached_tokens=tokens // 2 if place % 4 else 0,
                    asked=BEGAN + timedelta(seconds=place),
                    client_seconds=seconds,
                    server_seconds=seconds * 0.9,
                )
            )
    return made
