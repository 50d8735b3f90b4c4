"""Fixtures for pytest, which finds them where Semif is installed.

What they need is loaded when they are used: pytest reads this file in every project that has Semif.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from semif.client.client import DecisionClient


@pytest.fixture
def semif_fake() -> "Callable[..., DecisionClient]":
    """Makes clients as `semif.testing.fake_client` does."""
    from semif.testing.clients import fake_client  # noqa: PLC0415

    return fake_client


@pytest.fixture
def semif_no_requests() -> Iterator[None]:
    """Real requests raise SemifError. An autouse fixture that takes it forbids them everywhere."""
    from semif.testing.forbidding import no_requests  # noqa: PLC0415

    with no_requests():
        yield
