"""How long functions take, by part."""

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, NamedTuple

from semif_adapter.engine.engine import Engine
from semif_adapter.engine.scheduler import Scheduler
from semif_adapter.llama.libllama import Library
from semif_adapter.readouts.listed import ListedQuestions
from semif_adapter.serving.intake import Intake

PASSES, PROMPT, CHECK, ENGINE = (
    "forward passes (llama_decode)",
    "prompts written and tokenised",
    "body parsed and checked, prompts written and tokenised",
    "the engine's work around the passes",
)


class Call(NamedTuple):
    """One call; `began` as `time.perf_counter()` counts, which all processes of a machine share on Linux."""

    part: str
    began: float
    seconds: float


class Watch:
    """Notes every call of the functions that it is put on."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def put_on(self, owner: Any, name: str, part: str) -> None:
        """Note the calls of `owner`'s function `name` from now on."""
        function: Callable[..., Any] = getattr(owner, name)

        def watched(*arguments: Any, **keywords: Any) -> Any:
            began = perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                self.calls.append(Call(part, began, perf_counter() - began))

        setattr(owner, name, watched)


def watch_engine(watch: Watch, library: Library) -> None:
    """In this process: the forward passes, and what makes prompts."""
    watch.put_on(library, "llama_decode", PASSES)
    watch.put_on(ListedQuestions, "write", PROMPT)


def watch_server(watch: Watch, library: Library) -> None:
    """In the server's process: the forward passes, the engine with them, and the checking threads."""
    watch.put_on(library, "llama_decode", PASSES)
    watch.put_on(Engine, "begin", ENGINE)
    watch.put_on(Scheduler, "advance", ENGINE)
    watch.put_on(Intake, "_prepare", CHECK)


def seconds_by_part(calls: Iterable[Call], began: float, ended: float) -> dict[str, float]:
    """Sums of the calls that began between `began` and `ended`."""
    sums: dict[str, float] = {}
    for call in calls:
        if began <= call.began < ended:
            sums[call.part] = sums.get(call.part, 0.0) + call.seconds
    return sums
