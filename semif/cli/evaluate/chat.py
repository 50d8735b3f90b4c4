"""The options of `--as chat`: how a server that answers in words is asked, and where its answer stands."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from semif.errors import SemifError
from semif.evaluation.asking.forms.chat_request import MAX_TOKENS, ChatRequest, body_request, chat_request
from semif.evaluation.extra import need_evaluate_extra
from semif.project.whole_files import read_whole, utf8
from semif_adapter.contract.wire import MAX_BODY_BYTES

Command = Callable[..., Any]

_OPTIONS = (
    click.option("--model", metavar="NAME", help="With --as chat: the model that is asked for."),
    click.option("--system", metavar="TEXT|@FILE", help="With --as chat: your system prompt."),
    click.option(
        "--prompt",
        metavar="TEXT|@FILE",
        help="With --as chat: your prompt; {state}, {question}, {options} and {label} are filled in.",
    ),
    click.option(
        "--max-tokens", type=click.IntRange(1), help=f"With --as chat: longest answer; default: {MAX_TOKENS}."
    ),
    click.option(
        "--body",
        type=click.Path(path_type=Path),
        metavar="JSON",
        help="With --as chat: the whole body that your API takes, its strings filled in as a prompt.",
    ),
    click.option(
        "--answer-path",
        "answer",
        multiple=True,
        metavar="JMESPATH",
        help="With --as chat: where the reply has its answer; a further one goes into the JSON found there.",
    ),
    click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="NAME: VALUE",
        help="With --url: a header of each request; env:VARIABLE in it is that variable's value.",
    ),
)
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e]*)")
_VARIABLE = re.compile(r"env:(\w+)")
_SECRET = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)
_OURS = {"accept", "accept-encoding", "content-length", "content-type", "host", "transfer-encoding"}


@dataclass(frozen=True)
class Chat:
    """What the options say."""

    request: ChatRequest | None
    """None where nothing is said."""
    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    """The variables' values in them, which no file and no message may hold."""


def chat_options(command: Command) -> Command:
    """How a chat is asked; the command gets it as `chat`."""

    @wraps(command)
    def with_chat(
        *,
        form: str | None,
        url: str | None,
        model: str | None,
        system: str | None,
        prompt: str | None,
        max_tokens: int | None,
        body: Path | None,
        answer: tuple[str, ...],
        headers: tuple[str, ...],
        **others: Any,
    ) -> Any:
        said = {"--model": model, "--system": system, "--prompt": prompt, "--max-tokens": max_tokens}
        given = [name for name, value in said.items() if value is not None]
        if body is not None and given:
            raise click.UsageError(f"--body is the whole request; write what {given[0]} says into its file")
        if body is not None or answer:
            given += ["--body" if body is not None else "--answer-path"]
        known = form or (None if url is None else "decision")  # an environment's is known by its kind, later
        if given and known not in {None, "chat"}:
            raise click.UsageError(f"{given[0]} is for --as chat")
        if headers and url is None:
            raise click.UsageError("--header is for --url; an endpoint is asked through SageMaker")
        request = None
        if given:
            need_evaluate_extra()
            texts = {"system": _text(system), "prompt": _text(prompt)}
            request = (
                chat_request(model=model, **texts, max_tokens=max_tokens, answer=answer)
                if body is None
                else body_request(body, answer)
            )
        return command(form=form, url=url, chat=Chat(request, *_headers(headers)), **others)

    for option in reversed(_OPTIONS):
        option(with_chat)
    return with_chat


def _text(given: str | None) -> str | None:
    """What is written, or what is in the file that is named."""
    if given is None or not given.startswith("@"):
        return given
    path = Path(given[1:])
    try:
        return utf8(read_whole(path, MAX_BODY_BYTES), path).decode()
    except UnicodeDecodeError as error:
        raise SemifError(f"{path} is not UTF-8: byte {error.start} is wrong") from None


def _headers(given: tuple[str, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    """By name, and the secrets in them. Raises SemifError, without a value."""
    headers, secrets = {}, []
    for header in given:
        name, value = _named(header)
        words = []
        for word in value.split(" "):
            variable = _VARIABLE.fullmatch(word)
            if variable is not None:
                secrets.append(_value(name, variable[1]))
            words.append(secrets[-1] if variable else word)
        headers[name] = " ".join(words)
    return headers, tuple(secrets)


def _named(header: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(header)
    if match is None:
        raise SemifError(
            "a --header is no header; write NAME: VALUE in ASCII, as in 'Authorization: Bearer env:API_KEY'"
        )
    name, value = match[1], match[2].strip()
    if name.lower() in _OURS:
        raise SemifError(f"--header {name}: semif writes it itself; leave it out")
    if _SECRET.search(name) and not any(map(_VARIABLE.fullmatch, value.split(" "))):
        raise SemifError(
            f"--header {name}: other users of this machine can read an argument, and the shell keeps it; set "
            f"a variable and write '{name}: env:VARIABLE'"
        )
    return name, value


def _value(header: str, variable: str) -> str:
    value = os.environ.get(variable)
    if not value or not re.fullmatch(r"[\x20-\x7e]+", value):
        raise SemifError(f"--header {header}: {variable} is not set, or holds more than visible ASCII")
    return value
