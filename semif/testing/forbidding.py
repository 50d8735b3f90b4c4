"""The switch that forbids real requests."""

from collections.abc import Iterator
from contextlib import contextmanager

from semif.client.sending import http_sender


@contextmanager
def no_requests() -> Iterator[None]:
    """Inside, a request of any client that would leave the process raises SemifError, and is not sent."""
    before, http_sender.REQUESTS.allowed = http_sender.REQUESTS.allowed, False
    try:
        yield
    finally:
        http_sender.REQUESTS.allowed = before
