"""Decision models on Amazon SageMaker AI.

The names for applications are loaded when they are first used: `import semif.lock` shall not load an AWS
client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semif.client.results import DecisionResult
    from semif.policy import Policy

__all__ = ["DecisionResult", "Policy"]

_MODULES = {
    "DecisionResult": "semif.client.results",
    "Policy": "semif.policy",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
