"""Small requests while new instances take over: without traffic the alarms see nothing that is wrong."""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from semif.deployment.endpoint.watch import EndpointLook, OnLook
from semif.errors import SemifError

TAKING_OVER = frozenset({"ActivatingTraffic", "Baking"})
"""Stages of a variant in which its new instances get requests and the alarms are watched (`VariantStatus` of
ProductionVariantSummary, SageMaker's API reference, read 2026-11-30)."""

_JOIN_SECONDS = 75.0
"""Longer than a request may take."""


class BakingProbe:
    """Asks once for each look at an endpoint whose new instances take over, from a thread of its own.

    `on_look` is what the looks are handed to; a look that comes while a request is on its way asks none.
    What `ask` raises as SemifError is counted and kept: whether an update goes back is for the alarms to say.
    """

    def __init__(self, ask: Callable[[], object], on_look: OnLook) -> None:
        self._ask, self._on_look = ask, on_look
        # Without a bound: a thread that has ended must not keep the end of the deployment waiting.
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._answered = 0
        self._failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:  # nobody waits for a request that nobody wants any more
            with suppress(queue.Empty):
                self._wanted.get_nowait()
        self._wanted.put(False)
        if kind is None:
            self._thread.join(_JOIN_SECONDS)

    def on_look(self, look: EndpointLook) -> None:
        """Hand `look` on, and ask where the new instances take over."""
        self._on_look(look)
        if TAKING_OVER.intersection(look.stages) and self._wanted.empty():
            self._wanted.put(True)

    @property
    def summary(self) -> str | None:
        """How the requests went, in a line; None where none was sent."""
        if not self._answered and not self._failures:
            return None
        sent = self._answered + len(self._failures)
        line = f"asked {sent} small requests while the new instances took over, {self._answered} went well"
        return f"{line}; the last failure: {self._failures[-1]}" if self._failures else line

    def _run(self) -> None:
        while self._wanted.get():
            try:
                self._ask()
            except SemifError as error:
                self._failures.append(str(error))
            else:
                self._answered += 1
