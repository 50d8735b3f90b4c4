"""Which models a client of another API may name: the one that is served, or one that it stands for."""

from dataclasses import dataclass

from semif_adapter.contract.errors import ModelNotFoundError
from semif_adapter.contract.wire import ModelInfo


@dataclass(frozen=True)
class Aliases:
    """Names that mean whatever is served: these, and these with a `-` and more behind them."""

    names: tuple[str, ...]

    def mean(self, name: str) -> bool:
        """Whether `name` is one of them, in whatever case: hubs write Kev, clients kev."""
        lower = name.lower()
        return any(lower == alias or lower.startswith(f"{alias}-") for alias in self.names)


SYSTEM_ONES = Aliases(("jev", "kev", "laya", "strands-decider"))
"""TypeSafe's own models (jev-latest, jev-1.13.0), and those that answer its API elsewhere: their clients have
the names built in."""
OPENAIS = Aliases(("gpt-6-luna",))
"""The one model that OpenAI's clients may name (`openai` 3.57.0, decisions.create)."""


def check_model(name: str | None, served: ModelInfo, aliases: Aliases | None) -> None:
    """Raise ModelNotFoundError unless `name` means the model that is served; None stands for it."""
    if name is None or name == served.name or (aliases and aliases.mean(name)):
        return
    also = f", which also answers to {', '.join(aliases.names)}" if aliases else ""
    raise ModelNotFoundError(f"the only model here is {served.name}{also}; see GET /v1/models", path="model")
