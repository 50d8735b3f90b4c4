"""What a row of the table of rights is: actions, on what, for which task, in which environments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from semif.environment.environment import Environment
from semif.rights.place import Place

Task = Literal["deploy", "diff", "call", "label", "prune", "verify"]
TASKS: tuple[Task, ...] = ("deploy", "diff", "call", "label", "prune", "verify")
"""Deploy, promote, operate and remove; compare and check, reading alone; ask; read what callers asked, to
label it; prune; verify, besides deploy."""


@dataclass(frozen=True)
class Right:
    """Actions that are allowed together, on the same resources."""

    purpose: str
    """What for, as the page says it."""
    actions: tuple[str, ...]
    resources: Callable[[Place], tuple[str, ...]]
    tasks: tuple[Task, ...]
    applies: Callable[[Environment], bool] = lambda _: True
    """Whether the environment needs it."""
    tagged: bool = False
    """Only on what carries the environment's tag, where CloudFormation's names do not tell whose it is."""
