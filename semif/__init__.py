"""Decision models on Amazon SageMaker AI.

The names for applications are loaded when they are first used: `import semif.lock` shall not load an AWS
client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semif.client.async_client import AsyncDecisionClient
    from semif.client.bulk.each import EachAnswer
    from semif.client.client import DecisionClient
    from semif.client.errors import DecisionError
    from semif.client.questions import Question
    from semif.client.results import DecisionResult
    from semif.client.retry import Attempt, Retry
    from semif.policy import Policy

__all__ = [
    "AsyncDecisionClient",
    "Attempt",
    "DecisionClient",
    "DecisionError",
    "DecisionResult",
    "EachAnswer",
    "Policy",
    "Question",
    "Retry",
]

_MODULES = {
    "AsyncDecisionClient": "semif.client.async_client",
    "Attempt": "semif.client.retry",
    "DecisionClient": "semif.client.client",
    "DecisionError": "semif.client.errors",
    "DecisionResult": "semif.client.results",
    "EachAnswer": "semif.client.bulk.each",
    "Policy": "semif.policy",
    "Question": "semif.client.questions",
    "Retry": "semif.client.retry",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
