"""What a run asks: every task as written, then in other orders of its options."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from semif.evaluation.runs.labelled_tasks import Task
from semif_adapter.contract.wire import Option


@dataclass(frozen=True)
class Job:
    """One task in one order of its options; `order` 0 is as written."""

    task: Task
    order: int
    options: tuple[Option, ...]

    @property
    def option_ids(self) -> tuple[str, ...]:
        """In the order asked."""
        return tuple(option.id for option in self.options)


def jobs(tasks: Sequence[Task], orders: int, seed: int, *, only_choices: bool) -> list[Job]:
    """All tasks as written, then all in their next order, up to `orders` further ones each.

    A task of n options has n! - 1 further orders at most. With `only_choices` a noul and a score have none:
    their form fixes the order. The same seed gives the same orders.
    """
    rounds: list[list[Job]] = [[] for _ in range(orders + 1)]
    for task in tasks:
        fixed = only_choices and task.kind in ("noul", "score")
        for order, options in enumerate(_permutations(task, 0 if fixed else orders, seed)):
            rounds[order].append(Job(task, order, options))
    return [job for asked in rounds for job in asked]


def _permutations(task: Task, further: int, seed: int) -> list[tuple[Option, ...]]:
    chance = random.Random(f"{seed}:{task.id}")  # noqa: S311 - orders need no secrecy
    found = {task.options: None}  # a dict keeps the order in which they were found
    while len(found) <= min(further, math.factorial(len(task.options)) - 1):
        found.setdefault(tuple(chance.sample(task.options, len(task.options))))
    return list(found)
