"""The form of a request's body: what it asks, how it is answered, how it is refused."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from semif_adapter.contract.errors import AdapterError, EngineError, NoMemoryError, Refusal
from semif_adapter.contract.question import Question
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Layout, Result, SharedTiming, WireModel

logger = logging.getLogger(__name__)


class Form(ABC):
    """A body that was read: its questions, and the shape of the reply to them."""

    questions: Sequence[Question]
    layout: Layout
    """What its prompts begin with, unless the setting of that name says otherwise."""

    @classmethod
    @abstractmethod
    def parse(cls, document: Any, settings: Settings) -> Self:
        """What `document`, strict JSON already, asks.

        Raises InvalidRequestError with every problem in it.
        """

    @abstractmethod
    def to_response(self, results: Sequence[Result], timing: SharedTiming) -> WireModel:
        """The reply; `results` are in the order of the questions."""

    @classmethod
    @abstractmethod
    def refusal(cls, error: AdapterError) -> Refusal:
        """How `error` is told to who sends this form."""

    @classmethod
    @contextmanager
    def refusing(cls) -> Iterator[None]:
        """Raise errors on with their refusal in this form; what nobody foresaw becomes an EngineError."""
        try:
            yield
        except AdapterError as error:
            error.refusal = cls.refusal(error)
            raise
        except MemoryError:
            shortage = NoMemoryError()
            shortage.refusal = cls.refusal(shortage)
            raise shortage from None
        except Exception as error:  # noqa: BLE001 - it must not reach the client with its message
            # Only the type: the message of an unforeseen error may hold the caller's text.
            logger.error("fault: %s", type(error).__name__)
            fault = EngineError(f"the server failed with {type(error).__name__}")
            fault.refusal = cls.refusal(fault)
            raise fault from None
