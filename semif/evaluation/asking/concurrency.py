"""Asking: callers that wait for their answers, or arrivals at a rate that nobody's waiting slows down."""

import queue
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from semif.evaluation.asking.asked_server import AskedTarget
from semif.evaluation.runs.run_file import Asking, Record
from semif.evaluation.runs.task_record import record_of
from semif.evaluation.tasks.option_orders import OrderedTask

MAX_IN_FLIGHT = 128
"""Most requests on their way at a rate. An arrival that finds all taken waits, and its waiting is counted."""


@dataclass(frozen=True)
class _Arrival:
    ordered: OrderedTask
    after: float | None
    """When it is due, in seconds from the beginning; None for as soon as a caller is free."""


def ask_all(target: AskedTarget, planned: Sequence[OrderedTask], asking: Asking) -> Iterator[Record]:
    """Ask every task in its order; a record for each, as the answers come.

    At a rate the times between arrivals are random (exponential), as those of independent callers are; the
    seed fixes them. Raises what `target.ask` raises. Where the caller stops, what is on its way is given up.
    """
    arrivals: queue.SimpleQueue[_Arrival] = queue.SimpleQueue()
    for ordered, after in zip(planned, _due(len(planned), asking), strict=True):
        arrivals.put(_Arrival(ordered, after))
    callers = min(len(planned), asking.concurrency if asking.rate is None else MAX_IN_FLIGHT)
    records: queue.SimpleQueue[Record | Exception] = queue.SimpleQueue()
    stopped = threading.Event()
    clock = _Clock()
    for _ in range(callers):
        # Daemons: Ctrl-C must not wait for a server that takes a minute.
        threading.Thread(
            target=_call, args=(target, arrivals, records, clock, stopped), daemon=True, name="caller"
        ).start()
    try:
        for _ in planned:
            record = records.get()
            if isinstance(record, Exception):
                raise record
            yield record
    finally:
        stopped.set()


def _due(count: int, asking: Asking) -> Sequence[float | None]:
    if asking.rate is None:
        return [None] * count
    chance = random.Random(asking.seed)  # noqa: S311 - arrivals need no secrecy
    return list(accumulate(chance.expovariate(asking.rate) for _ in range(count)))


class _Clock:
    """Seconds since the beginning, and what time of day they are."""

    def __init__(self) -> None:
        self._began, self._day = time.perf_counter(), datetime.now(UTC)

    def now(self) -> float:
        return time.perf_counter() - self._began

    def time_of(self, seconds: float) -> datetime:
        return self._day + timedelta(seconds=seconds)


def _call(
    target: AskedTarget,
    arrivals: "queue.SimpleQueue[_Arrival]",
    records: "queue.SimpleQueue[Record | Exception]",
    clock: _Clock,
    stopped: threading.Event,
) -> None:
    """One caller: take the next arrival, wait until it is due, ask, put the record."""
    try:
        while not stopped.is_set():
            arrival = arrivals.get_nowait()
            if arrival.after is not None and stopped.wait(max(0.0, arrival.after - clock.now())):
                return
            records.put(_ask(target, arrival, clock))
    except queue.Empty:
        return
    except Exception as error:  # noqa: BLE001 - the thread that writes raises it
        records.put(error)


def _ask(target: AskedTarget, arrival: _Arrival, clock: _Clock) -> Record:
    sent = clock.now()
    due = sent if arrival.after is None else arrival.after
    asked = target.ask(arrival.ordered)
    return record_of(
        arrival.ordered,
        asked.content,
        asked=clock.time_of(due),
        client_seconds=clock.now() - due,
        queue_seconds=None if arrival.after is None else sent - due,
        attempts=asked.attempts,
        refusals=asked.refusals,
        raw=asked.raw,
    )
