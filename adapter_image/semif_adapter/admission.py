"""What may wait for the engine: a queue bounded in requests, in tokens and in the seconds they will take.

Pure bookkeeping on the event loop's thread; times are readings of `time.monotonic()`.
"""

from semif_adapter.errors import OverloadedError

MEMORY = 0.8
"""What the earlier requests weigh in the running token rate beside the latest one."""
SHORTEST_RETRY_SECONDS = 0.1


class TokenRate:
    """A running estimate of the machine's tokens per second, seeded by the warm-up decision.

    A ratio of decaying sums, so that a long request counts for as much time as it took.
    """

    def __init__(self, tokens_per_second: float) -> None:
        self._tokens, self._seconds = tokens_per_second, 1.0
        self.best = tokens_per_second
        """The highest estimate so far: what an idle machine is expected to reach again."""

    @property
    def tokens_per_second(self) -> float:
        """The estimate."""
        return self._tokens / self._seconds

    def learn(self, tokens: int, seconds: float) -> None:
        """A request of `tokens` kept the engine busy for `seconds`."""
        self._tokens = MEMORY * self._tokens + tokens
        self._seconds = MEMORY * self._seconds + max(seconds, 1e-6)
        self.best = max(self.best, self.tokens_per_second)


class Admission:
    """Counts the requests that hold a place and the tokens that the engine has still to compute."""

    def __init__(self, *, max_requests: int, max_tokens: int) -> None:
        self._max_requests, self._max_tokens = max_requests, max_tokens
        self.rate = TokenRate(1.0)
        self.requests = 0
        """Requests that hold a place: being read, queued or running."""
        self.queued = 0
        """Requests that the engine has not begun."""
        self._tokens = 0
        self._running: tuple[int, float] | None = None

    def take_place(self, now: float) -> None:
        """Raises OverloadedError where all places are taken."""
        if self.requests >= self._max_requests:
            raise OverloadedError(
                f"{self.requests} requests are in flight, the limit is {self._max_requests}",
                retry_after_seconds=_retry(self.backlog_seconds(now)),
            )
        self.requests += 1

    def free_place(self) -> None:
        """The request is answered, refused or abandoned."""
        self.requests -= 1

    def enter(self, tokens: int, deadline: float, now: float) -> None:
        """Queue a request of `tokens` that must be answered by `deadline`.

        Raises OverloadedError where the queue holds too many tokens or the answer would come too late. On an
        idle machine the best rate so far decides, so that one slow spell cannot refuse requests for ever.
        """
        if self._tokens and self._tokens + tokens > self._max_tokens:
            raise OverloadedError(
                f"{self._tokens} tokens are queued, {tokens} more are over the limit of {self._max_tokens}",
                retry_after_seconds=_retry(self.backlog_seconds(now)),
            )
        rate = self.rate.tokens_per_second if self._tokens else self.rate.best
        own, left = tokens / rate, deadline - now
        late = self.backlog_seconds(now) + own - left
        if late > 0:
            raise OverloadedError(
                f"{tokens} tokens behind {self._tokens} would be answered {late:.1f} s after the deadline",
                retry_after_seconds=_retry(min(late, self.backlog_seconds(now)) or left),
            )
        self._tokens += tokens
        self.queued += 1

    def start(self, tokens: int, now: float) -> None:
        """The engine has begun a request of `tokens`."""
        self.queued -= 1
        self._running = (tokens, now)

    def leave(self, tokens: int, *, started: bool) -> None:
        """The engine is done with a request of `tokens`, or will never begin it."""
        self._tokens -= tokens
        if started:
            self._running = None
        else:
            self.queued -= 1

    def backlog_seconds(self, now: float) -> float:
        """Expected seconds until the engine has computed everything that is queued or running."""
        running, elapsed = (self._running[0], now - self._running[1]) if self._running else (0, 0.0)
        rate = self.rate.tokens_per_second
        return (self._tokens - running) / rate + max(0.0, running / rate - elapsed)


def _retry(seconds: float) -> float:
    return round(max(SHORTEST_RETRY_SECONDS, seconds), 1)
