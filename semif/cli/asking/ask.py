"""`semif ask`: talk to an endpoint of kind `text`."""

import sys
from collections.abc import Iterator

import click

from semif.cli.options import NumberRange, environment_argument, target_options
from semif.cli.output import json_option
from semif.client.chat import chat_request, complete, stream
from semif.environment.asking import require_kind, require_mode
from semif.environment.environment import load_environment
from semif.errors import SemifError, harmless
from semif.project.whole_files import read_bounded, utf8
from semif.target.target import open_target
from semif_adapter.contract.wire import MAX_BODY_BYTES

STILL_THINKING = "semif: the model was still thinking at its last token; raise --max-tokens"


@click.command()
@environment_argument
@click.argument("message", default="-")
@click.option("--system", metavar="TEXT", help="What the model shall be or do, before the message.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    help="Longest answer; SageMaker ends an invocation after 60 seconds.",
)
@click.option(
    "--temperature", type=NumberRange(0, 2), help="0 for the likeliest words; default: the server's."
)
@click.option("--stream", "streaming", is_flag=True, help="Show the words as they come.")
@target_options
@json_option
def command(
    *,
    environment: str,
    message: str,
    system: str | None,
    max_tokens: int,
    temperature: float | None,
    streaming: bool,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Ask a text endpoint for an answer in words.

    Sends MESSAGE to the endpoint of ENV, which must be of kind "text", and prints what the model says.
    Without MESSAGE, or with -, it is read from standard input. --json prints the server's whole reply.

    \b
    Examples:
      semif ask text "Which colour is the sky?"
      semif ask demo-text --local --stream "Tell me a story"
      semif ask text --system "Answer in one word." <question.txt
    """
    if streaming and as_json:
        raise click.UsageError("--stream prints words as they come, --json one object; give one")
    asked = load_environment(environment)
    require_kind(asked, "text")
    require_mode(asked, "realtime")
    text = _standard_input() if message == "-" else message
    if not text.strip():
        raise SemifError("the message is empty; give it as an argument or on standard input")
    body = chat_request(text, system=system, max_tokens=max_tokens, temperature=temperature, stream=streaming)
    target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
    endpoint = target.environment.endpoint_name
    if streaming:
        _print_stream(stream(target.aws, endpoint, body))
        return
    answer = complete(target.aws, endpoint, body)
    if as_json:
        click.echo(answer.raw)
    elif answer.text:
        click.echo(harmless(answer.text))
    else:
        click.echo(STILL_THINKING, err=True)


def _standard_input() -> str:
    content = read_bounded(sys.stdin.buffer, MAX_BODY_BYTES, "standard input")
    try:
        return utf8(content, "standard input").decode()
    except UnicodeDecodeError as error:
        raise SemifError(f"standard input is not UTF-8: byte {error.start + 1} is wrong") from None


def _print_stream(pieces: Iterator[str]) -> None:
    said = False
    for piece in pieces:
        said = True
        click.echo(harmless(piece), nl=False)
        sys.stdout.flush()
    if said:
        click.echo()
    else:
        click.echo(STILL_THINKING, err=True)
