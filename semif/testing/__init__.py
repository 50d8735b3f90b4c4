"""For the tests of applications: clients that answer without a server, recorded answers, no real requests.

They are the real clients, with their checks, types and errors, on a transport that asks nobody. The names are
loaded when they are first used: pytest reads the fixtures here in every project that has Semif.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semif.testing.clients import fake_async_client, fake_client, recording_client, replaying_client
    from semif.testing.forbidding import no_requests

__all__ = ["fake_async_client", "fake_client", "no_requests", "recording_client", "replaying_client"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(
        import_module("semif.testing.forbidding" if name == "no_requests" else "semif.testing.clients"), name
    )
