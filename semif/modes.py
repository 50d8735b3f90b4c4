"""How an environment is asked, and the commands that do it."""

from semif.environment import Environment
from semif.environment_tables import Mode
from semif.errors import SemifError

_NAMES = {
    "realtime": "answers while the caller waits",
    "async": "answers by a queue",
    "batch": "answers by transform jobs",
}


def _commands(environment: Environment) -> str:
    name = environment.name
    if environment.endpoint.mode == "async":
        return f"`semif submit {name} FILE.jsonl`"
    if environment.endpoint.mode == "batch":
        return f"`semif batch {name} FILE.jsonl`"
    return f"`semif ask {name}`" if environment.kind == "text" else f"`semif decide {name} FILE`"


def require_mode(environment: Environment, mode: Mode) -> None:
    """Raise SemifError, which names the command to use, unless `environment` is of `mode`."""
    given = environment.endpoint.mode
    if given != mode:
        raise SemifError(
            f"{environment.name} {_NAMES[given]} (endpoint.mode = '{given}'): use {_commands(environment)}, "
            f"or an environment with endpoint.mode = '{mode}'"
        )
