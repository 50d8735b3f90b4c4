"""How an environment is asked, and the commands that do it."""

from semif.environment.environment import Environment
from semif.environment.tables import Mode
from semif.errors import SemifError

_NAMES = {
    "realtime": "answers while the caller waits",
    "async": "answers by a queue",
    "batch": "answers by transform jobs",
}


def asking_command(environment: Environment, command_line: str, file: str = "FILE") -> str:
    """The command that asks `environment`, which commands call by `command_line` (`demo --local`)."""
    if environment.endpoint.mode != "realtime":
        verb = "submit" if environment.endpoint.mode == "async" else "batch"
        return f"semif {verb} {command_line} {file}.jsonl"
    if environment.kind == "text":
        return f'semif ask {command_line} "Which colour is the sky?"'
    return f"semif decide {command_line} {file}.json"


def require_mode(environment: Environment, mode: Mode) -> None:
    """Raise SemifError, which names the command to use, unless `environment` is of `mode`."""
    given = environment.endpoint.mode
    if given != mode:
        command = asking_command(environment, environment.name)
        raise SemifError(
            f"{environment.name} {_NAMES[given]} (endpoint.mode = '{given}'): use `{command}`, or an "
            f"environment with endpoint.mode = '{mode}'"
        )
