"""Renders a model's chat template, which is a program from a stranger, in a process of its own.

A sandbox keeps it from the machine, not from counting to ten thousand million: the process has a limit of
seconds and of memory, so that a template without an end ends the start with a line.
`python -m semif_adapter.prompt.rendering` reads a job from its standard input and writes the texts.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from semif_adapter.archive.prompt_version import TODAY

CPU_SECONDS = 10
MEMORY_BYTES = 1 << 30
"""Templates of published models render in milliseconds and in a few megabytes."""
WALL_SECONDS = 120.0
"""For a process that gets no CPU: the machine may be busy."""

Messages = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Rendered:
    """What came of one conversation: its text, or the reason why there is none."""

    text: str | None
    reason: str = ""


@dataclass(frozen=True)
class _Job:
    source: str
    variables: str
    """A list of what the template is given each time, as JSON: a job is remembered by its content."""
    cpu_seconds: int


def render(source: str, *, bos_token: str, eos_token: str, conversations: list[Messages]) -> list[Rendered]:
    """`source` rendered with each of `conversations`, each ready for the assistant's answer, thinking off."""
    common = {
        "add_generation_prompt": True,
        "enable_thinking": False,
        # As Transformers gives them: `tools is not none` shall not make an empty list of tools.
        "tools": None,
        "documents": None,
        "bos_token": bos_token,
        "eos_token": eos_token,
    }
    return render_variables(source, [{"messages": messages, **common} for messages in conversations])


def render_variables(source: str, variables: Sequence[dict[str, Any]]) -> list[Rendered]:
    """`source` rendered with each of `variables`, which are JSON."""
    return list(_render_apart(_Job(source, json.dumps(variables), CPU_SECONDS)))


@lru_cache(8)
def _render_apart(job: _Job) -> tuple[Rendered, ...]:
    count = len(json.loads(job.variables))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__],
            input=json.dumps(asdict(job)).encode(),
            capture_output=True,
            timeout=WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return (Rendered(None, f"it does not end within {WALL_SECONDS:g} s"),) * count
    if done.returncode != 0:
        reason = (
            f"it does not end within {job.cpu_seconds} s of computing, or takes more than "
            f"{MEMORY_BYTES >> 20} MiB (exit status {done.returncode})"
        )
        return (Rendered(None, reason),) * count
    return tuple(Rendered(**one) for one in json.loads(done.stdout))


class _Generation(Extension):
    """`{% generation %}` marks what was learned, for training alone: its content is rendered as it stands."""

    tags = {"generation"}  # noqa: RUF012 - jinja2's own attribute

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def environment() -> ImmutableSandboxedEnvironment:
    """Where templates run, with what they expect from Transformers."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = TODAY.strftime
    environment.filters["tojson"] = _tojson
    return environment


def _tojson(
    value: object,
    indent: int | None = None,
    separators: Sequence[str] | None = None,
    *,
    sort_keys: bool = False,
) -> str:
    """JSON as Transformers has it: Jinja's own filter would write `<` for a web page."""
    pair = (separators[0], separators[1]) if separators else None
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=pair, sort_keys=sort_keys)


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _render_here(job: _Job) -> list[Rendered]:
    try:
        template = environment().from_string(job.source)
    except Exception as error:  # noqa: BLE001 - whatever a stranger's program does is a reason
        return [_refused(error) for _ in json.loads(job.variables)]
    rendered = []
    for variables in json.loads(job.variables):
        try:
            rendered.append(Rendered(template.render(variables)))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            rendered.append(_refused(error))
    return rendered


def _refused(error: Exception) -> Rendered:
    return Rendered(None, " ".join(str(error).split()) or type(error).__name__)


def main() -> None:
    """Render the job on standard input within the limits of this process."""
    job = _Job(**json.load(sys.stdin))
    _allow(resource.RLIMIT_CPU, job.cpu_seconds)
    _allow(resource.RLIMIT_AS, MEMORY_BYTES)
    _allow(resource.RLIMIT_CORE, 0)
    json.dump([asdict(one) for one in _render_here(job)], sys.stdout)


def _allow(limit: int, most: int) -> None:
    """At most so much, or what this process is allowed in any case."""
    _, hard = resource.getrlimit(limit)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (least, least))


if __name__ == "__main__":
    main()
