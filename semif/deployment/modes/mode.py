"""What a deployment does differently in each mode: everything about a mode that calls AWS."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from semif.aws.container_log import ContainerLog
from semif.client.chat import Completion
from semif.client.reply import WireAnswer
from semif.deployment.endpoint.watch import OnLook
from semif.deployment.target_cdk import OnLine
from semif.environment.environment import Environment
from semif.lock.lock_file import Lock
from semif.target.target import Target


@dataclass(frozen=True)
class Running:
    """What runs of an environment: for programs, as rows for people, and what is wrong with it."""

    facts: dict[str, Any]
    """For JSON."""
    rows: list[tuple[str, str, str]]
    """What it is (`endpoint`), its name, and words on how it is."""
    problems: list[str]
    verdict: str
    """Where nothing is wrong."""


class DeployedMode(ABC):
    """A mode as a deployment sees it. What is known of it without AWS is in semif/environment/modes."""

    @abstractmethod
    def deploy(self, target: Target, lock: Lock, on_line: OnLine, on_look: OnLook, *, recreate: bool) -> None:
        """Deploy what `lock` pins, see that it is there, and keep the lock before; see `deploy_endpoint`."""

    @abstractmethod
    def first_answer(self, target: Target) -> WireAnswer | Completion | None:
        """What a small request is answered; None where nothing is there to ask. Raises SemifError."""

    @abstractmethod
    def running(self, target: Target, lock: Lock | None) -> Running:
        """What runs, and what of it is not what `lock` pins. Raises SemifError."""

    @abstractmethod
    def log(self, environment: Environment) -> ContainerLog:
        """Where its containers print."""

    @abstractmethod
    def end(self, target: Target, on_line: OnLine) -> None:
        """End what the stacks do not take along when they are deleted. Raises SemifError."""
