"""What may wait for the engine: a queue bounded in requests, in tokens and in the seconds they will take.

Pure bookkeeping on the event loop's thread; times are readings of `time.monotonic()`.
"""

from collections.abc import Sequence

from semif_adapter.contract.errors import OverloadedError, PromptTooLongError
from semif_adapter.serving.admitted_request import AdmittedRequest

MEMORY = 0.8
"""What the earlier requests weigh in the running token rate beside the latest one."""
SHORTEST_RETRY_SECONDS = 0.1
SURELY_LATE = 2.0
"""How many times as long as it may a request takes, by the best rate so far, where no idle server will answer
it in time; below that the rate may be what is wrong."""


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
        """`tokens` were computed for a request in `seconds` of the engine's; cached ones count nowhere."""
        self._tokens = MEMORY * self._tokens + tokens
        self._seconds = MEMORY * self._seconds + max(seconds, 1e-6)
        self.best = max(self.best, self.tokens_per_second)


class Admission:
    """Counts the requests that hold a place and the tokens that the engine has still to compute."""

    def __init__(self, *, max_requests: int, max_tokens: int, turn_tokens: int) -> None:
        """`turn_tokens` is after how many a long request lets short ones go in between (`turns.py`)."""
        self._max_requests, self._max_tokens, self._turn = max_requests, max_tokens, turn_tokens
        self.rate = TokenRate(1.0)
        self.requests = 0
        """Requests that hold a place: being read, queued or running."""
        self._queue: list[AdmittedRequest] = []
        """Those that wait for the engine or run, in order of arrival."""

    @property
    def queued(self) -> int:
        """Requests that the engine has not begun."""
        return sum(request.status == "waiting" for request in self._queue)

    def take_place(self) -> None:
        """Raises OverloadedError where all places are taken."""
        if self.requests >= self._max_requests:
            raise OverloadedError(
                f"{self.requests} requests are in flight, the limit is {self._max_requests}",
                retry_after_seconds=_retry(self.backlog_seconds()),
            )
        self.requests += 1

    def free_place(self) -> None:
        """The request is answered, refused or abandoned."""
        self.requests -= 1

    def enter(self, request: AdmittedRequest, now: float) -> None:
        """Queue `request`, whose tokens are known; `leave` takes it out.

        Raises OverloadedError where the queue holds too many tokens, or the answer would come too late, or
        make an earlier one come too late; PromptTooLongError where an idle server would be too late as well,
        had the request come to it at once: what its upload and its check took may be less the next time.
        On an idle machine the best rate so far decides, so that one slow spell cannot refuse for ever.
        """
        tokens = request.tokens
        queued = sum(other.left for other in self._queue)
        if self._queue and queued + tokens > self._max_tokens:
            raise OverloadedError(
                f"{queued} tokens are queued, {tokens} more are over the limit of {self._max_tokens}",
                retry_after_seconds=_retry(self.backlog_seconds()),
            )
        rate = self.rate.tokens_per_second if self._queue else self.rate.best
        after = [*self._queue, request]
        left = request.deadline - now
        late = self._tokens_until(request, after) / rate - left
        if late > 0 and not self._queue and tokens / rate > SURELY_LATE * request.seconds:
            raise PromptTooLongError(
                f"{tokens} tokens take about {tokens / rate:.0f} s here, the deadline is "
                f"{request.seconds:g} s; shorten the state, the question or the options"
            )
        if late > 0:
            raise OverloadedError(
                f"{tokens} tokens behind {queued} would be answered {late:.1f} s after the deadline",
                retry_after_seconds=_retry(min(late, self.backlog_seconds()) or left),
            )
        for other in self._queue:
            without, until = self._tokens_until(other, self._queue) / rate, other.deadline - now
            if without <= until < self._tokens_until(other, after) / rate:
                raise OverloadedError(
                    f"{tokens} tokens more would keep an earlier request from its deadline",
                    retry_after_seconds=_retry(without),
                )
        self._queue = after

    def leave(self, request: AdmittedRequest) -> None:
        """The engine is done with the request, or will never begin it."""
        self._queue.remove(request)

    def backlog_seconds(self) -> float:
        """Expected seconds until the engine has computed everything that is queued or running."""
        return sum(request.left for request in self._queue) / self.rate.tokens_per_second

    def _tokens_until(self, request: AdmittedRequest, queue: Sequence[AdmittedRequest]) -> int:
        """About how many tokens the engine computes until `request`, of `queue`, is answered."""
        place = queue.index(request)
        before, behind = queue[:place], queue[place + 1 :]
        everything = sum(other.left for other in before)
        if request.tokens > self._turn:
            return everything + request.left + self._short(behind)
        short = self._short(before)
        # The long ones get a turn before the short ones' first, and again after each of theirs.
        turns = 1 + (short + request.left) // self._turn
        return min(everything, short + turns * self._turn) + request.left

    def _short(self, requests: Sequence[AdmittedRequest]) -> int:
        """Tokens of those that go in between the turns of long ones."""
        return sum(request.left for request in requests if request.tokens <= self._turn)


def _retry(seconds: float) -> float:
    return round(max(SHORTEST_RETRY_SECONDS, seconds), 1)
