"""When to ask again: full jitter under a cap, no sooner than the server's hint, up to an end."""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from operator import index
from typing import TypeVar

from semif.client.errors import AnswerTimeoutError, DecisionError
from semif.errors import SemifError

Returned = TypeVar("Returned")
"""What the sending of a request returns."""
_LOG = logging.getLogger("semif.client")


@dataclass(frozen=True)
class Retry:
    """How often, and how long, a request is repeated that failed with a retryable error.

    Before attempt n + 1 the client waits a random time between 0 and `base_seconds` * 2^(n - 1), at most
    `cap_seconds` ("full jitter": https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
    Where the server names a time, that random time is waited on top of it. Raises SemifError for values that
    make no sense.
    """

    max_attempts: int = 5
    """How often a request is sent at most; 1 for never again."""
    base_seconds: float = 0.25
    cap_seconds: float = 10.0
    total_seconds: float = 60.0
    """No attempt begins later than this after the first began. One that runs is cut off by a call's `timeout`
    alone."""
    timeouts: bool = False
    """Whether a request is repeated that got no answer in time. Right where a server lets requests wait and
    refuses none, as Strands Decider's does: what took too long was the queue. Ours refuses in time."""

    def __post_init__(self) -> None:
        checked_count("max_attempts", self.max_attempts)
        for name in ("base_seconds", "cap_seconds", "total_seconds"):
            seconds = getattr(self, name)
            if not _is_number(seconds) or not 0 <= seconds < float("inf"):
                raise SemifError(f"{name} = {seconds!r}: must be a number of 0 or more, and finite")


@dataclass(frozen=True)
class Attempt:
    """What became of one sending of a request, for metrics and logs."""

    number: int
    """1 for the first."""
    seconds: float
    """From sending to the whole reply, or to the failure."""
    status: int | None
    """200; else the container's or SageMaker's HTTP status; None where no reply came."""
    code: str | None
    """The error's, where it has one."""
    retry_in_seconds: float | None
    """How long is waited before the next attempt; None where this was the last."""
    inference_id: str | None = None
    """The call's, the same for all its attempts."""


class Clock:
    """Time and chance, which tests replace."""

    def now(self) -> float:
        """Seconds from a fixed point."""
        return time.monotonic()

    def share(self) -> float:
        """A random number from 0 to 1."""
        return random.random()  # noqa: S311 - spreads load, keeps no secret

    def sleep(self, seconds: float) -> None:
        """Wait, on this thread."""
        time.sleep(seconds)

    async def pause(self, seconds: float) -> None:
        """Wait, and let the event loop do other things."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = Clock()


class TimeLeft:
    """What is left of the seconds that several calls have together."""

    def __init__(self, seconds: float | None, clock: Clock = SYSTEM_CLOCK) -> None:
        """None for no limit. Raises SemifError for seconds that are no limit."""
        self._seconds = checked_timeout(seconds)
        self._clock = clock
        self._began = clock.now()

    def seconds(self) -> float | None:
        """None where there is no limit. Raises AnswerTimeoutError where nothing is left."""
        if self._seconds is None:
            return None
        left = self._seconds - (self._clock.now() - self._began)
        if left <= 0:
            raise AnswerTimeoutError(
                "the time that was given (timeout=) is over; nothing was sent", code="timeout"
            )
        return left


class Attempts:
    """The attempts of one request. `begin`, then `succeeded` or `failed`, for each."""

    def __init__(
        self,
        retry: Retry,
        clock: Clock,
        on_attempt: Callable[[Attempt], object],
        timeout: float | None = None,
        *,
        inference_id: str | None = None,
    ) -> None:
        """`timeout` is for all attempts and the waits between them, in seconds. Raises SemifError."""
        self._retry = retry
        self._timeout = checked_timeout(timeout)
        self._clock = clock
        self._on_attempt = on_attempt
        self._inference_id = inference_id
        self._number = self._refusals = 0
        self._first_began = self._began = clock.now()

    def begin(self) -> float | None:
        """The request is sent now; seconds that are left for it, None for any."""
        self._number += 1
        self._began = self._clock.now()
        if self._timeout is None:
            return None
        return max(0.0, self._timeout - (self._began - self._first_began))

    def succeeded(self) -> None:
        """The answer is there."""
        self._report(200, None, None)

    def failed(self, error: DecisionError) -> float:
        """Seconds to wait before the next attempt. Raises `error` where there shall be none."""
        seconds = self._wait(error)
        if seconds is None:
            self.gave_up(error)
            raise error
        self._report(error.status, error.code, seconds)
        return seconds

    def refused(self, error: DecisionError, seconds: float) -> None:
        """There was no room, and it is sent again in so many seconds: it counts as no failure of its own."""
        self._refusals += 1
        self._first_began = self._clock.now()
        self._report(error.status, error.code, seconds)

    def passed_over(self, seconds: float) -> None:
        """For so many seconds nobody sent it, or took its reply: they are no time of these attempts."""
        self._first_began += seconds
        self._began += seconds

    def gave_up(self, error: DecisionError) -> None:
        """It is not sent again."""
        error.attempts = self._number
        error.inference_id = self._inference_id
        self._report(error.status, error.code, None)

    def _wait(self, error: DecisionError) -> float | None:
        retry = self._retry
        failures = self._number - self._refusals
        late = retry.timeouts and isinstance(error, AnswerTimeoutError)
        if not (error.retryable or late) or failures >= retry.max_attempts:
            return None
        longest = min(retry.cap_seconds, retry.base_seconds * 2 ** min(failures - 1, 32))
        seconds = (error.retry_after_seconds or 0.0) + self._clock.share() * longest
        waited = self._clock.now() - self._first_began
        in_time = self._timeout is None or waited + seconds < self._timeout
        return seconds if in_time and waited + seconds <= retry.total_seconds else None

    def _report(self, status: int | None, code: str | None, retry_in_seconds: float | None) -> None:
        seconds = self._clock.now() - self._began
        _LOG.debug(
            "inference_id=%s attempt=%d seconds=%.3f status=%s code=%s retry_in_seconds=%s",
            *(self._inference_id, self._number, seconds, status, code, retry_in_seconds),
        )
        self._on_attempt(Attempt(self._number, seconds, status, code, retry_in_seconds, self._inference_id))


def checked_count(name: str, count: int) -> int:
    """`count`, where it is a whole number of at least 1; raises SemifError that calls it `name`."""
    try:
        whole = 0 if isinstance(count, bool) else index(count)
    except TypeError:
        whole = 0
    if whole < 1:
        raise SemifError(f"{name} = {count!r}: must be a whole number of 1 or more")
    return whole


def _is_number(value: object) -> bool:
    """Whether `value` can be compared with a clock: settings are often texts from the environment."""
    return isinstance(value, Real) and not isinstance(value, bool)


def checked_timeout(seconds: float | None) -> float | None:
    """`seconds`, where a call may be limited to them; None for no limit. Raises SemifError."""
    if seconds is None:
        return None
    if not _is_number(seconds) or not 0 < seconds < float("inf"):
        raise SemifError(
            f"timeout = {seconds!r}: must be a number of more than 0 seconds, and finite; "
            "leave it out for none"
        )
    return seconds


def until_answered(
    send: Callable[[float | None], Returned],
    *,
    retry: Retry,
    on_attempt: Callable[[Attempt], object] = lambda _: None,
    clock: Clock = SYSTEM_CLOCK,
    timeout: float | None = None,
    inference_id: str | None = None,
) -> Returned:
    """What `send` returns; it is called again, as `retry` and `timeout` allow, where it fails.

    It takes the seconds that are left for it, None for any. Raises DecisionError.
    """
    attempts = Attempts(retry, clock, on_attempt, timeout, inference_id=inference_id)
    while True:
        seconds_left = attempts.begin()
        try:
            answer = send(seconds_left)
        except DecisionError as error:
            seconds = attempts.failed(error)
        else:
            attempts.succeeded()
            return answer
        clock.sleep(seconds)


QUEUEING = Retry(max_attempts=3, base_seconds=8.0, cap_seconds=30.0, total_seconds=240.0, timeouts=True)
"""For servers that let requests wait until SageMaker gives up on them, after 60 seconds. What was given up on
is computed all the same, so that the next comes late, and there are few."""
