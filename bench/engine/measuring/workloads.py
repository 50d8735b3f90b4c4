"""What is asked: one schema with many states, one state with many questions, all distinct, many clients."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from semif.evaluation.tasks.labelled_tasks import LabelledTask
from semif_adapter.contract.wire import Layout
from semif_adapter.llama.model import Model

DATA = Path(__file__).parents[2] / "data"
ROUTING = DATA / "routing.jsonl"
"""Labelled tasks of one schema."""
CLIENTS = 16


def schema_name(count: int) -> str:
    """Of W1's case with `count` states."""
    return f"W1 one schema x {count} states"


def state_name(tokens: int, questions: int, *, are_long: bool = False) -> str:
    """Of W2's case with so many questions about a state of so many tokens."""
    return f"W2 {tokens} tokens x {questions}" + (" long questions" if are_long else "")


def known_name(name: str) -> str:
    """Of the follow-up of the case `name`."""
    return f"{name}, state known"


def distinct_name(count: int) -> str:
    """Of W3's case with so many decisions."""
    return f"W3 {count} distinct"


DecisionBody = dict[str, Any]
"""A `decision` as the adapter's wire has it."""


@dataclass(frozen=True)
class Case:
    """Decisions to be made, in requests one after another.

    A request of several decisions holds one state. `layout` is the adapter's for this form of request.
    """

    name: str
    layout: Layout
    requests: tuple[tuple[DecisionBody, ...], ...]
    expected: tuple[str, ...] = ()
    """The right options, where they are known."""
    follow_up: "Case | None" = None
    """Is given to everybody right behind this one: more questions about the same state."""

    @property
    def decisions(self) -> int:
        """How many there are in all requests."""
        return sum(map(len, self.requests))


def _schema(task: LabelledTask) -> str:
    decision = task.decision()
    return json.dumps([decision["question"], decision["options"]])


class Workloads:
    """Makes the cases of one round. Every round has texts of its own, so that no cache knows them."""

    def __init__(self, model: Model, tasks: Sequence[LabelledTask]) -> None:
        self._model = model
        self._tasks = sorted(tasks, key=_schema)  # those with the same question stand together
        self._sentences = (DATA / "sentences.txt").read_text().split("\n")[:-1]
        self._questions, self._long_questions = (
            [json.loads(line) for line in (DATA / name).read_text().splitlines()]
            for name in ("questions.jsonl", "long_questions.jsonl")
        )

    def one_schema(self, number: int, count: int) -> Case:
        """W1: `count` tasks that follow each other, their question marked with the round."""
        count = min(count, len(self._tasks))
        first = number * count % len(self._tasks)
        taken = (list(self._tasks) * 2)[first : first + count]
        marked = [task.decision() | {"question": f"Round {number + 1}. {task.question}"} for task in taken]
        return Case(
            schema_name(len(taken)),
            "schema-first",
            tuple((decision,) for decision in marked),
            tuple(task.expected for task in taken),
        )

    def one_state(self, number: int, tokens: int, questions: int, *, are_long: bool = False) -> Case:
        """W2: one state of about `tokens` tokens, `questions` questions in one request.

        Those that are long are asked once more, a little otherwise, when the state is known.
        """
        name = state_name(tokens, questions, are_long=are_long)
        state = self.state(f"{number}-{tokens}-{questions}{'-long' * are_long}", tokens)
        rows = self._long_questions if are_long else self._questions
        asked = tuple(_decision(index, rows[index % len(rows)], state) for index in range(questions))
        again = tuple(decision | {"question": f"Again: {decision['question']}"} for decision in asked)
        follow_up = Case(known_name(name), "state-first", (again,)) if are_long else None
        return Case(name, "state-first", (asked,), follow_up=follow_up)

    def all_distinct(self, number: int, count: int) -> Case:
        """W3: another state and another question each time, of which no round before knows the words."""
        requests = []
        for index, row in enumerate(islice(cycle(self._questions), count)):
            decision = _decision(index, row, self.state(f"{number}-distinct-{index}", 60))
            decision["question"] = f"Case {number + 1}-{index + 1}. {row['question']}"
            requests.append((decision,))
        return Case(distinct_name(count), "schema-first", tuple(requests))

    def short(self, mark: str, client: int, count: int) -> list[DecisionBody]:
        """W4: the tasks of a client with short texts; all with the same `mark` share their schema."""
        chosen = random.Random(f"{mark}-{client}").choices(self._same_schema, k=count)
        return [
            task.decision()
            | {"question": f"Load {mark}. {task.question}", "state": f"{client}-{index}. {task.state}"}
            for index, task in enumerate(chosen)
        ]

    def long(self, mark: str, tokens: int, count: int) -> list[DecisionBody]:
        """W4: decisions with a long state each."""
        return [
            _decision(index, row, self.state(f"{mark}-{index}", tokens))
            for index, row in enumerate(islice(cycle(self._questions), count))
        ]

    @property
    def _same_schema(self) -> list[LabelledTask]:
        """The tasks that ask what the first one asks."""
        return [task for task in self._tasks if _schema(task) == _schema(self._tasks[0])]

    def state(self, mark: str, tokens: int) -> str:
        """A report that opens with `mark`, as many words of it as make at most `tokens` tokens."""
        chance = random.Random(mark)
        words = [f"Report {mark}."]
        while self._count(words) < tokens:
            words += chance.choice(self._sentences).split()
        low, high = 1, len(words)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._count(words[:middle]) <= tokens else (low, middle - 1)
        return " ".join(words[:low])

    def _count(self, words: list[str]) -> int:
        return len(self._model.tokenize(" ".join(words), parse_special=False))


def _decision(index: int, row: dict[str, Any], state: str) -> DecisionBody:
    return {
        "id": f"q{index}",
        "state": state,
        "question": row["question"],
        "options": [{"id": text} for text in row["options"]],
    }
