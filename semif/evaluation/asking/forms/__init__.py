"""How a task is put to a server, and how its reply is read: one module for each form of request."""

from typing import Protocol

from semif.evaluation.runs.run_file import AnswerFault, Pins
from semif.evaluation.runs.task_record import ReplyContent
from semif.evaluation.tasks.option_orders import OrderedTask


class RequestForm(Protocol):
    """A form of request."""

    only_choices: bool
    """Whether the options of a choice alone can be put in another order."""

    @property
    def sought(self) -> str:
        """Where a reply must have its answer, and what to change where it has not, for messages."""
        ...

    def body(self, ordered: OrderedTask) -> bytes:
        """The request."""
        ...

    def read(self, ordered: OrderedTask, reply: bytes) -> ReplyContent:
        """What the reply to `body(ordered)` says; a reply that is none has the status failed."""
        ...

    def pins(self, reply: bytes) -> Pins:
        """What answered, as far as a reply tells."""
        ...


def no_answer(why: str) -> ReplyContent:
    """For a reply with status 200 that holds no valid answer."""
    return ReplyContent(status="failed", error=AnswerFault(code="invalid_answer", message=why))
