"""The ceilings: a verification is stopped, and its remains taken away, before it costs or takes more."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

RESERVE_SECONDS = 900.0
"""Kept back of both ceilings for the clean-up, during which instances may still bill."""


class CeilingError(BaseException):
    """A ceiling was reached. Like KeyboardInterrupt it is nothing that a step may take for a failure."""


class Meter:
    """Counts time, and the money of instances, upwards.

    `usd_per_hour` is that of one instance. The ceilings are in US dollars and seconds. Used in the main
    thread, which a timer interrupts.
    """

    def __init__(
        self,
        *,
        usd_per_hour: float,
        max_usd: float,
        max_seconds: float,
        reserve_seconds: float = RESERVE_SECONDS,
    ) -> None:
        self._usd_per_hour, self._max_usd = usd_per_hour, max_usd
        self._max_seconds, self._reserve = max_seconds, reserve_seconds
        self._began = time.monotonic()
        self.usd = 0.0
        """Spent on instances at most."""

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    @contextmanager
    def billing(self, instances: int) -> Iterator[None]:
        """While so many `instances` run at most."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.usd += instances * self._usd_per_hour / 3600 * (time.monotonic() - began)

    @contextmanager
    def running(self, instances: int) -> Iterator[None]:
        """As `billing`, and under the ceilings: raises CeilingError when one of them comes near."""
        rate = instances * self._usd_per_hour / 3600
        left = self._max_seconds - self._reserve - self.seconds
        why = f"{self._max_seconds / 60:,.0f} minutes"
        if rate:
            by_money = (self._max_usd - self.usd) / rate - self._reserve
            if by_money < left:
                left, why = by_money, f"${self._max_usd:,.2f}"
        message = f"the ceiling of {why} comes near: the clean-up needs what is left"
        if left <= 0:
            raise CeilingError(message)
        with self.billing(instances), _interrupted_after(left, message):
            yield


@contextmanager
def _interrupted_after(seconds: float, message: str) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise CeilingError(message)

    main = threading.get_ident()
    before = signal.signal(signal.SIGUSR1, stop)
    timer = threading.Timer(seconds, signal.pthread_kill, (main, signal.SIGUSR1))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # one that has begun must not hit what comes after
        signal.signal(signal.SIGUSR1, before)
