"""Starts the servers that are compared, on the same model with the same threads."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from bench.engine.contenders.adapter_process import HOST, Served
from bench.engine.contenders.contender import Contender, prepare_case
from bench.engine.contenders.decision_copy import decision_template, write_decision_copy
from bench.engine.contenders.llama_server import LlamaServer
from bench.engine.contenders.over_http import (
    SHARED_STATES,
    SYSTEM_ONE_CASES,
    LlamaAtOnce,
    LlamaCompletion,
    LlamaSystemOne,
    SemifServer,
    completion,
)
from bench.engine.measuring.names import BEST, DEFAULT, DEFAULT_AT_ONCE, LOAD, NO_TURNS, SERVER
from bench.engine.measuring.workloads import Case, DecisionBody
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.model import Model
from semif_adapter.prompt.chat_template import chat_template, plain_template
from semif_adapter.prompt.writer import SYSTEM_TEXT

ENDLESS_TURN = "16777216"
"""Tokens of a turn that no prompt is longer than."""

NO_DEADLINE = "3600"
"""Seconds; on a slow machine the usual ones would refuse what llama-server makes wait."""


@dataclass(frozen=True)
class LoadTarget:
    """A server that a load of many clients is given to."""

    name: str
    address: str
    pid: int
    request: Callable[[DecisionBody], tuple[str, Any]]
    """The path and body that ask for one decision."""


@dataclass(frozen=True)
class Servers:
    """All that answer over HTTP."""

    semif: SemifServer
    contenders: tuple[Contender, ...]
    targets: tuple[LoadTarget, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Files:
    """What all of them run."""

    gguf: Path
    library: Path
    program: Path | None
    """llama-server; without one that of the package `xllamacpp`."""
    scratch: Path
    """A folder for the decision copy of the model."""

    def llama_server(self, gguf: Path, configuration: str, engine: Engine) -> LlamaServer:
        """To be entered."""
        return LlamaServer(gguf, configuration, engine.info, self.program)

    def semif(self, engine: Engine, **variables: str) -> Served:
        """The adapter with the settings of `engine`; those in SEMIF_* of the environment are both's."""
        return Served(
            str(self.gguf),
            SEMIF_LIBRARY_DIR=str(self.library),
            SEMIF_READOUT="letters",
            SEMIF_CONTEXT_TOKENS=str(engine.info.context_tokens),
            SEMIF_THREADS=str(engine.info.threads),
            SEMIF_GPU_LAYERS=str(engine.info.gpu_layers),
            SEMIF_DEADLINE_SECONDS=NO_DEADLINE,
            **variables,
        )


def start_servers(
    opened: ExitStack, files: Files, engine: Engine, model: Model, cases: Sequence[str]
) -> Servers:
    """Start those that `cases` need; `opened` ends them."""
    served = opened.enter_context(files.semif(engine))
    address = f"http://{HOST}:{served.port}"
    semif = SemifServer(served.pid, address)
    contenders: list[Contender] = [semif]
    targets = [LoadTarget(SERVER, address, served.pid, _semif_request)]
    if LOAD in cases:
        without = opened.enter_context(files.semif(engine, SEMIF_TURN_TOKENS=ENDLESS_TURN))
        targets.append(LoadTarget(NO_TURNS, f"http://{HOST}:{without.port}", without.pid, _semif_request))
    if LOAD in cases or any(name in SHARED_STATES for name in cases):
        default = opened.enter_context(files.llama_server(files.gguf, "default", engine))
        contenders.append(LlamaCompletion(DEFAULT, default.pid, default.address, SHARED_STATES))
        contenders.append(LlamaAtOnce(DEFAULT_AT_ONCE, default.pid, default.address))
        targets.append(LoadTarget(DEFAULT, default.address, default.pid, _llama_request(engine)))
    best = opened.enter_context(files.llama_server(files.gguf, "best", engine))
    contenders.append(LlamaCompletion(BEST, best.pid, best.address))
    targets.append(LoadTarget(BEST, best.address, best.pid, _llama_request(engine)))
    notes = []
    if any(fnmatchcase(name, pattern) for name in cases for pattern in SYSTEM_ONE_CASES):
        try:
            contenders.append(_system_one(opened, files, engine, model))
        except (RuntimeError, OSError) as error:
            notes.append(f"llama.cpp's own /v1/systemone was not measured: {error}")
    return Servers(semif, tuple(contenders), tuple(targets), tuple(notes))


def _semif_request(decision: DecisionBody) -> tuple[str, Any]:
    return "/invocations", {"decision": decision}


def _llama_request(engine: Engine) -> Callable[[DecisionBody], tuple[str, Any]]:
    def request(decision: DecisionBody) -> tuple[str, Any]:
        prepared = prepare_case(engine, Case("", "schema-first", ((decision,),)))
        return "/completion", completion(prepared.prompts[0][0])

    return request


def _system_one(opened: ExitStack, files: Files, engine: Engine, model: Model) -> LlamaSystemOne:
    """llama-server in its best configuration on a copy of the model that it takes for a decision model.

    Raises RuntimeError where this build or this architecture cannot do that.
    """
    system = SYSTEM_TEXT["letters"]
    source = model.chat_template
    template = chat_template(model, source, system) if source else plain_template(system)
    copy = files.scratch / "decision.gguf"
    write_decision_copy(files.gguf, copy, decision_template(template.head, template.tail))
    server = opened.enter_context(files.llama_server(copy, "best", engine))
    return LlamaSystemOne(server.pid, server.address)
