"""Answers for people: each option's probability as a small bar."""

import json
from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from semif.client.errors import UnknownReplyError
from semif.client.reply import WireAnswer
from semif.errors import printable
from semif_adapter.contract.wire import Result, SharedTiming

BAR_CELLS = 24


def show_answer(console: Console, body: bytes, answer: WireAnswer) -> None:
    """Print every result of the reply under its question from the request `body`, and what they shared.

    The answers of System One and of OpenAI are printed as they came. Raises UnknownReplyError for a reply to
    something else.
    """
    request = json.loads(body)
    if "questions" in request:
        console.print_json(answer.raw.decode())
        return
    decisions = request["decisions"] if "decisions" in request else [request["decision"]]
    if [decision["id"] for decision in decisions] != [result.id for result in answer.results]:
        raise UnknownReplyError("the reply answers another request than this one; --json shows it")
    for decision, result in zip(decisions, answer.results, strict=True):
        console.print(f"[bold]{escape(printable(result.id))}[/]: {escape(printable(decision['question']))}")
        probabilities = dict(zip(result.option_ids, result.probabilities, strict=True))
        console.print(bars(probabilities, blocks="utf" in console.encoding.lower()))
        console.print(f"  [dim]{escape(printable(_facts(result)))}[/]", soft_wrap=True)
    if answer.timing is not None:
        console.print(f"  [dim]{_shared(answer.timing)}[/]", soft_wrap=True)


def bars(probabilities: Mapping[str, float], *, blocks: bool) -> Table:
    """A line for each option with its probability, the most probable marked."""
    table = Table.grid(padding=(0, 1))
    best = max(probabilities.values())
    for option, probability in probabilities.items():
        style = "bold green" if probability == best else ""
        table.add_row(
            " ",
            escape(printable(option)),
            f"[{style or 'default'}]{bar(probability, blocks=blocks)}[/]",
            f"{probability * 100:5.1f} %",
            style=style,
        )
    return table


def bar(share: float, *, blocks: bool = True) -> str:
    """`share` (0 to 1) as a bar of `BAR_CELLS` characters; without `blocks` in ASCII."""
    full, empty = ("█", "·") if blocks else ("#", ".")
    cells = round(share * BAR_CELLS)
    return full * cells + empty * (BAR_CELLS - cells)


def _facts(result: Result) -> str:
    mass = (
        "" if result.allowed_token_mass is None else f", allowed token mass {result.allowed_token_mass:.2f}"
    )
    calibrated = f", temperature {result.calibration.temperature:g}" if result.calibration else ""
    return (
        f"{result.readout} readout{calibrated}{mass}, "
        f"{result.input_tokens} tokens ({result.cached_tokens} cached), "
        f"{result.timing.total_seconds * 1000:.0f} ms, {result.model.name} {result.model.quantization}"
    )


def _shared(timing: SharedTiming) -> str:
    return (
        f"{timing.batch_size} decisions over one prefix of {timing.prefix_tokens} tokens "
        f"({timing.prefix_cached_tokens} cached), computed once in "
        f"{timing.prefill_seconds * 1000:.0f} ms; {timing.total_seconds * 1000:.0f} ms in all"
    )
