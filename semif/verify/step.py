"""What is shown one by one: a step, what AWS's documentation says of it, and what came of it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tomli_w

from semif.environment.environment import Environment, environments_folder
from semif.errors import SemifError
from semif.project.whole_files import write_whole
from semif.target.target import Target, open_target

Tables = Mapping[str, Any]
"""An environment file as TOML has it."""
Status = Literal["seen", "surprise", "not shown here", "does not apply", "not run"]
PREFIX = "verify-"
"""What the names of throw-away environments begin with."""


class SurpriseError(SemifError):
    """What was seen is not what AWS's documentation, or this project, says."""


@dataclass
class Bench:
    """The throw-away environment that the steps work on, and the AWS that holds it."""

    of: str
    """The environment that is proved; it is read, and never touched."""
    tables: Tables
    """Of its file."""
    local: bool
    profile: str | None
    tolerance: float
    """How far a probability of the endpoint may be from this machine's."""
    tell: Callable[[str], None] = lambda _: None
    """Takes a passing line of what goes on."""
    began: float = field(default_factory=time.time)

    @property
    def name(self) -> str:
        """The throw-away environment's."""
        return PREFIX + self.of

    @property
    def path(self) -> Path:
        """Its file, which is there as long as anything of it may be."""
        return environments_folder() / f"{self.name}.toml"

    def write(self, tables: Tables) -> None:
        """Make the environment what `tables` say; a deployment follows."""
        head = f"# Made by `semif verify {self.of}`, which deletes it.\n\n"
        write_whole(self.path, (head + tomli_w.dumps(tables)).encode())

    def target(self) -> Target:
        """The environment as its file is now, with its AWS."""
        return open_target(self.name, on_this_machine=self.local, profile=self.profile)

    def wait(self, what: str, look: Callable[[], bool], *, seconds: float, poll_seconds: float) -> None:
        """Return when `look` says so. Raises SurpriseError, which names `what`, after `seconds`."""
        deadline = time.monotonic() + seconds
        while not look():
            if time.monotonic() > deadline:
                raise SurpriseError(f"{what} did not come within {seconds:,.0f} s")
            time.sleep(poll_seconds)


@dataclass(frozen=True)
class Step:
    """One thing to see."""

    name: str
    expected: str
    """What should happen, as `source` says."""
    source: str
    """The page of AWS's documentation that says so."""
    run: Callable[[Bench], str]
    """Does it and says in a line what was seen. Raises SurpriseError, or another SemifError."""
    rows: tuple[str, ...]
    """Rows of docs/measured/verification.md that it moves, by the beginnings of their first cells."""
    minutes: float
    """How long it usually takes in an account."""
    instances: int = 1
    """The most that run meanwhile."""
    not_local: str | None = None
    """Why the AWS on this machine would not show it as AWS does; None where it does."""
    not_for: Callable[[Environment], str | None] = lambda _: None
    """Why an environment has nothing of it to show; None where it has."""

    @property
    def faithful_locally(self) -> bool:
        """Whether the AWS on this machine shows it as AWS does."""
        return self.not_local is None


@dataclass(frozen=True)
class Phase:
    """Steps on one form of the environment, of which the first deploys it."""

    form: Callable[[Tables], Tables]
    """From the file that is proved to the throw-away one."""
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Outcome:
    """What came of a step."""

    step: Step
    status: Status
    detail: str
    """What was seen, or why it was not."""
    seconds: float = 0.0
