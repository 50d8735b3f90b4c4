"""How many instances a load of decisions needs, from the adapter's token rate and a queue's arithmetic."""

import math
from dataclasses import dataclass

from semif.errors import SemifError

MAX_BUSY = 0.7
"""The largest share of its time that an instance shall compute: beyond it waiting grows steeply, and bursts
and the loss of an instance need room until a new one is up, which takes minutes."""


@dataclass(frozen=True)
class RequestLoad:
    """What is asked of the whole endpoint."""

    requests_per_second: float
    tokens: int
    """Of one question's prompt, state included: `input_tokens` of an answer."""
    questions: int = 1
    """Of one request, about one state."""
    cached_share: float = 0.0
    """Of all prompt tokens, those that need no computing: `cached_tokens` divided by `input_tokens`, summed
    over the answers of a request. Below 1."""

    @property
    def computed_tokens(self) -> float:
        """Tokens that a request makes the engine compute."""
        return self.tokens * self.questions * (1 - self.cached_share)


@dataclass(frozen=True)
class FleetSize:
    """What the load needs. All seconds are means."""

    instances: int
    service_seconds: float
    """The engine's work on a request."""
    busy: float
    """Share of the time that an instance computes, 0 to 1."""
    queue_seconds: float
    """A request's wait for the engine."""
    in_flight: float
    """Requests at an instance, waiting or at work: what scaling on concurrent requests sees."""

    @property
    def seconds(self) -> float:
        """From a request's arrival at the container to its answer."""
        return self.queue_seconds + self.service_seconds


def size(load: RequestLoad, *, tokens_per_second: float, deadline_seconds: float) -> FleetSize:
    """The fewest instances, each at most `MAX_BUSY` busy, whose mean answer comes within the deadline.

    An instance is a queue with random arrivals, one server and requests of one size (M/D/1): at a share
    `busy` of its time it makes a request wait `service * busy / (2 * (1 - busy))` on the mean (Pollaczek and
    Khinchine). Routing to the instance with the fewest requests does better, requests of unequal size worse.
    Raises SemifError where one request alone takes longer than the deadline.
    """
    service = load.computed_tokens / tokens_per_second
    if service >= deadline_seconds:
        raise SemifError(
            f"a request of {load.computed_tokens:,.0f} tokens to compute takes {service:.1f} s at "
            f"{tokens_per_second:,.0f} tokens/s, the deadline is {deadline_seconds:g} s; no number of "
            "instances helps: shorten the prompts, ask fewer questions at once, or take a faster instance"
        )
    # With a longer wait than this many services the mean answer would miss the deadline.
    room = deadline_seconds / service - 1
    busy_limit = min(MAX_BUSY, 2 * room / (1 + 2 * room))
    work = load.requests_per_second * service
    instances = max(1, math.ceil(work / busy_limit - 1e-9))
    busy = work / instances
    queue = service * busy / (2 * (1 - busy))
    return FleetSize(
        instances=instances,
        service_seconds=service,
        busy=busy,
        queue_seconds=queue,
        in_flight=load.requests_per_second / instances * (queue + service),
    )
