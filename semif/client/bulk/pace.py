"""How many requests are out at once, and when the next may go: one backoff for all of them.

Additive increase, multiplicative decrease: a request that is answered lets a little more out, a refusal for
lack of room halves what is out and holds all of them for a while.
"""

from semif.client.retry import Clock, Retry


class Pace:
    """Asked before a request is sent, told what became of it."""

    def __init__(self, most: int, retry: Retry, clock: Clock) -> None:
        """`most` at once, however much room there is."""
        self._most = most
        self._retry = retry
        self._clock = clock
        self._limit = float(most)
        self._running = 0
        self._round = 0
        self._refused_rounds = 0
        self._in_vain_seconds = 0.0
        self._not_before = clock.now()

    @property
    def seconds_to_wait(self) -> float:
        """How long nothing may be sent."""
        return max(0.0, self._not_before - self._clock.now())

    @property
    def has_room(self) -> bool:
        """Whether one more may be sent now."""
        return self._running < int(self._limit) and self.seconds_to_wait == 0

    def begin(self) -> int:
        """One is sent; the round that it belongs to."""
        self._running += 1
        return self._round

    def answered(self) -> None:
        """One has an answer: there is room."""
        self._running -= 1
        self._limit = min(self._most, self._limit + 1 / self._limit)
        self._refused_rounds = 0
        self._in_vain_seconds = 0.0

    def failed(self) -> None:
        """One has failed for a reason of its own."""
        self._running -= 1

    def refused(self, round_: int, hint_seconds: float | None, asked_seconds: float) -> bool:
        """One was refused for lack of room, with the server's hint; whether it shall be sent again.

        Not where nothing at all was answered in `total_seconds` from the first refusal on: then the server
        has no room for anybody. Counted is how long a reply took and how long all were held back: not what
        the caller takes over an answer, or until there is an item. Of a round, which ends with its first
        refusal, the others say nothing new.
        """
        self._running -= 1
        if round_ == self._round:
            self._round += 1
            self._limit = max(1.0, self._limit / 2)
            longest = min(
                self._retry.cap_seconds, self._retry.base_seconds * 2 ** min(self._refused_rounds, 32)
            )
            held_back = (hint_seconds or 0.0) + self._clock.share() * longest
            self._in_vain_seconds += held_back + (asked_seconds if self._refused_rounds else 0.0)
            self._refused_rounds += 1
            self._not_before = self._clock.now() + held_back
        return self._in_vain_seconds <= self._retry.total_seconds
