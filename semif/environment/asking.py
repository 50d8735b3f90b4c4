"""How an environment is asked, and the commands that do it."""

from semif.environment.environment import Environment
from semif.errors import SemifError


def asking_command(environment: Environment, command_line: str) -> str:
    """The command that asks `environment`, which commands call by `command_line` (`demo --local`)."""
    return environment.inference_mode.asking_command(environment.serving_kind, command_line, "FILE")


def example_command(environment: Environment, command_line: str) -> str:
    """The same with requests of examples/, where there are any for it."""
    kind, mode = environment.serving_kind, environment.inference_mode
    file = f"examples/{mode.example}" if mode.example is not None and kind.asks_examples else "FILE"
    return mode.asking_command(kind, command_line, file)


def require_mode(environment: Environment, mode: str) -> None:
    """Raise SemifError, which names the command to use, unless `environment` is of `mode`."""
    actual = environment.inference_mode
    if actual.name != mode:
        command = asking_command(environment, environment.name)
        raise SemifError(
            f"{environment.name} {actual.manner} (endpoint.mode = '{actual.name}'): use `{command}`, or an "
            f"environment with endpoint.mode = '{mode}'"
        )


def require_kind(environment: Environment, kind: str) -> None:
    """Raise SemifError, which names the command to use, unless `environment` is of `kind`."""
    actual = environment.serving_kind
    if actual.name != kind:
        raise SemifError(
            f"{environment.name} is of kind '{actual.name}': {actual.answers}; use "
            f"`{actual.usage(environment.name)}`, or ask an environment of kind '{kind}'"
        )
