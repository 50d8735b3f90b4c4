"""What a run asks: every task as written, then in other orders of its options."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from semif.evaluation.tasks.labelled_tasks import LabelledTask
from semif_adapter.contract.wire import Option


@dataclass(frozen=True)
class OrderedTask:
    """One task in one order of its options, which is asked once; `order` 0 is as written."""

    task: LabelledTask
    order: int
    options: tuple[Option, ...]

    @property
    def option_ids(self) -> tuple[str, ...]:
        """In the order asked."""
        return tuple(option.id for option in self.options)


def ordered_tasks(
    tasks: Sequence[LabelledTask], further: int, seed: int, *, only_choices: bool
) -> list[OrderedTask]:
    """All tasks as written, then all in their next order, up to `further` ones each.

    A task of n options has n! - 1 further orders at most. With `only_choices` a noul and a score have none:
    their form fixes the order. The same seed gives the same orders.
    """
    rounds: list[list[OrderedTask]] = [[] for _ in range(further + 1)]
    for task in tasks:
        fixed = only_choices and task.kind in ("noul", "score")
        for order, options in enumerate(_permutations(task, 0 if fixed else further, seed)):
            rounds[order].append(OrderedTask(task, order, options))
    return [ordered for one_round in rounds for ordered in one_round]


def _permutations(task: LabelledTask, further: int, seed: int) -> list[tuple[Option, ...]]:
    chance = random.Random(f"{seed}:{task.id}")  # noqa: S311 - orders need no secrecy
    orders = {task.options: None}  # a dict keeps the order in which they were drawn
    while len(orders) <= min(further, math.factorial(len(task.options)) - 1):
        orders.setdefault(tuple(chance.sample(task.options, len(task.options))))
    return list(orders)
