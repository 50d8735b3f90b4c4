"""`semif`: each command is a module with a `command`, in one of the rooms below, loaded when it is called."""

import sys
from importlib import import_module
from typing import Any, NamedTuple

import click

from semif.cli.output import Failed, Interrupted
from semif.cli.streams import failure_of, finish_output, prepare_streams
from semif.errors import SemifError


class Entry(NamedTuple):
    """A command before its module is loaded."""

    room: str
    """The package under semif.cli whose module of the command's name has it; empty: semif.cli itself."""
    help: str
    """What `semif --help` says of it, as its own docstring begins."""


# Written here as well, since the modules of all commands take ten times as long to load as this one.
COMMANDS = {
    "demo": Entry("operating", "Show the whole chain on this machine."),
    "serve": Entry("asking", "Serve a model on this machine."),
    "deploy": Entry("operating", "Deploy ENV, from its artifacts to an endpoint."),
    "decide": Entry("asking", "Ask an endpoint, show the probabilities."),
    "ask": Entry("asking", "Ask a text endpoint for an answer in words."),
    "submit": Entry("asking", "Ask an asynchronous endpoint all of a file."),
    "batch": Entry("asking", "Ask all of a file by a transform job."),
    "evaluate": Entry("", "Ask labelled tasks, and judge the answers."),
    "calibrate": Entry("", "Make probabilities honest, and find where to act on them."),
    "status": Entry("operating", "Show what of ENV runs, and what it pins."),
    "logs": Entry("operating", "Show what the endpoint's containers print."),
    "size": Entry("operating", "Tell how many instances a load needs."),
    "diff": Entry("operating", "Show what a deployment would change."),
    "promote": Entry("operating", "Copy FROM's image and model to TO, write TO's lock."),
    "rollback": Entry("operating", "Go back to what was deployed before."),
    "destroy": Entry("operating", "Delete what was deployed of ENV."),
    "prune": Entry("operating", "Delete old models, sources and images of ENV."),
    "verify": Entry("operating", "Prove all of ENV on AWS, and take it away."),
    "init": Entry("preparing", "Begin a project: environments, models, CI."),
    "build": Entry("preparing", "Build image and model, write the lock."),
    "env": Entry("preparing", "Check and show environment files."),
    "model": Entry("", "Pin models, and pack them into archives that SageMaker hosts."),
    "image": Entry("preparing", "Pin the published containers that run, or that our image extends."),
    "iam": Entry("preparing", "Print least-privilege policies as JSON."),
}
"""In the order of `semif --help`."""


class Commands(click.Group):
    """Loads a command's module on demand, and turns failures into one line and an exit status."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All of them, in the order in which one needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command's click object; None where there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module = ".".join(filter(None, ("semif.cli", COMMANDS[cmd_name].room, cmd_name)))
        command: click.Command = import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list of commands, none of which is loaded for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def main(self, *arguments: Any, **named: Any) -> Any:
        """Run the command line, on streams that are fit to be written."""
        prepare_streams()
        try:
            return super().main(*arguments, **named)
        except OSError as error:  # of --help and --version, which no command is behind
            failure = failure_of(error)
            failure.show()
            sys.exit(failure.exit_code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Exit status 1 for a failure, 2 for wrong usage, 130 for Ctrl-C."""
        try:
            result = super().invoke(ctx)
            finish_output()
        except BrokenPipeError:
            raise  # click ends quietly, with status 1: nobody reads on
        except SemifError as error:
            raise Failed(str(error)) from error
        except KeyboardInterrupt:
            raise Interrupted from None
        except OSError as error:
            raise failure_of(error) from error
        return result


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="semif", prog_name="semif")
def main() -> None:
    """Deploy decision models to Amazon SageMaker AI, and ask them.

    A decision model reads a state and a question and gives a probability for each option.

    \b
    Try it on this machine, with no account:
      semif demo
      semif serve embedded --ui
    \b
    Deploy to AWS, then ask:
      semif deploy dev
      semif decide dev examples/routing.json
    """
