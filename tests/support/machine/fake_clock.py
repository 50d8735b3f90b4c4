"""Time and chance that a test sets: nothing waits."""

from semif.client.retry import Clock


class FakeClock(Clock):
    """`share` is always what it was given; waiting only moves the time on."""

    def __init__(self, share: float = 0.5) -> None:
        self.time = 1000.0
        self.waits: list[float] = []
        self._share = share

    def now(self) -> float:
        return self.time

    def share(self) -> float:
        return self._share

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    async def pause(self, seconds: float) -> None:
        self.sleep(seconds)
