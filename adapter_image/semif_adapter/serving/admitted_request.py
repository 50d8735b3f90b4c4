"""A request that was admitted, until it has its answer."""

import asyncio
from typing import Literal

from semif_adapter.contract.errors import AdapterError
from semif_adapter.engine.computation import Computation, RequestResult

RequestStatus = Literal["reading", "waiting", "running", "ended"]


class AdmittedRequest:
    """Until when one request must be answered, how far it is, and what the log will tell of its way.

    On the event loop's thread; what the engine does for it is read from its `computation`.
    """

    def __init__(self, arrived: float, seconds: float) -> None:
        """It came at `arrived`, as `time.monotonic()` counts, and must be answered within `seconds`."""
        self.seconds = seconds
        self.deadline = arrived + seconds
        self.computation: Computation | None = None
        """None while it is read and checked."""
        self.answer: asyncio.Future[RequestResult] | None = None
        """What it waits for, from when it is queued."""
        self.queue_seconds: float | None = None
        """None: it never was in the queue."""
        self.score_seconds = 0.0

    @property
    def status(self) -> RequestStatus:
        """How far it is; its first forward pass makes it running."""
        if self.computation is None:
            return "reading"
        if self.computation.ended:
            return "ended"
        return "running" if self.computation.started else "waiting"

    @property
    def tokens(self) -> int:
        """Tokens to compute, at most, by what is known now; they settle whether it is long (`turns.py`)."""
        return 0 if self.computation is None else self.computation.cost.expected

    @property
    def left(self) -> int:
        """Tokens still to compute."""
        return 0 if self.computation is None else max(0, self.computation.cost.left)

    def settle(self, outcome: RequestResult | AdapterError) -> None:
        """Answer it with `outcome`, unless it has its answer or nobody waits for one."""
        if self.answer is None or self.answer.done():
            return
        if isinstance(outcome, AdapterError):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)
