"""How an endpoint is asked first, as its kind has it."""

from abc import ABC, abstractmethod
from typing import ClassVar

from semif.client.chat import Completion
from semif.client.reply import WireAnswer
from semif.target.target import Target


class DeployedKind(ABC):
    """A kind as a deployment sees it. What is known of it without AWS is in semif/environment/kinds."""

    smoke_request: ClassVar[bytes]
    """A small request, as JSON."""

    @abstractmethod
    def ask(self, target: Target) -> WireAnswer | Completion:
        """Ask a realtime endpoint `smoke_request`. Raises DecisionError."""

    @abstractmethod
    def read(self, endpoint: str, reply: bytes) -> WireAnswer | Completion:
        """What the reply of `endpoint` to a request says. Raises DecisionError where it is none."""
