"""A whole run: start everybody, warm up, measure in rounds, report."""

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from bench.engine.contenders.contender import Contender, PreparedCase, padded_decisions, prepare_case
from bench.engine.contenders.in_process import (
    BASELINE_BATCH_TOKENS,
    FullPrompt,
    InProcessEngine,
    JoinedEngine,
    Limit,
    SchemaRestore,
    StateRestore,
)
from bench.engine.contenders.servers import Files, Servers, start_servers
from bench.engine.measuring.names import LOAD
from bench.engine.measuring.plan import FULL_PROMPT_TOKENS, STATES, Plan
from bench.engine.measuring.workloads import Workloads
from bench.engine.report.machine import describe_run, describe_setup
from bench.engine.report.write import write
from bench.engine.rounds import load
from bench.engine.rounds.measure import measure_case
from bench.engine.rounds.record import Record
from bench.models.quantised import TYPES, quantised
from bench.models.random_models import SHAPES, random_model
from semif.errors import SemifError
from semif.evaluation.tasks.labelled_tasks import LabelledTask
from semif.models.presets import load_preset
from semif.models.sources.fetch import fetch
from semif.serve.local_adapter import adapter_variables, library_folder
from semif_adapter.contract.settings import Settings
from semif_adapter.decoding.tiles import choose_tiles
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import Context
from semif_adapter.llama.libllama import open_library
from semif_adapter.llama.model import Model

CONTEXT_TOKENS = 4096

NOTES = (
    (
        "Everybody gets the same prompts in the same tokens (/v1/systemone: the same text), the same "
        "library, threads and GOMP_SPINCOUNT; texts are new in every round, so that no cache knows them."
    ),
    (
        f"full prompt: of one state's questions as many as make {FULL_PROMPT_TOKENS} tokens are measured "
        "and multiplied; of llama-server too, where it says that its cache had nothing of a second prompt. "
        "Everybody is measured where a bar or a page needs it."
    ),
    (
        "the limit: short passes are padded to whole tiles by the adapter's own rule. It computes the logits "
        "of one row a pass; a decision needs one a question."
    ),
    "semif engine, joined: SEMIF_MODE=joined, all questions of a request in as few passes as they fill.",
    (
        "state restore: the state's memory is put back before every question but the first; it keeps nothing "
        "from one request to the next, but for one about a known state. schema restore is the same with the "
        "schema, for W1."
    ),
    (
        "llama-server default: four slots with a unified cache, what the program makes of `--parallel -1`; "
        '"at once" sends all questions of a state together, its tokens in reverse: the same process was '
        "asked about that state one after another. "
        "best: one slot, full sliding-window cache, prompt cache."
    ),
)


def find_gguf(name: str) -> Path:
    """The GGUF at a path, of a random model or of a preset; `-TYPE` behind these is of the weights."""
    if name.endswith(".gguf"):
        return Path(name).expanduser().resolve()
    wanted = {f"-{kind.lower()}": kind for kind in TYPES}
    ending = next((ending for ending in wanted if name.endswith(ending)), "")
    plain = name.removesuffix(ending)
    if plain in SHAPES:
        return random_model(plain, type_name=wanted.get(ending, "Q4_K_M"))
    gguf = fetch(load_preset(plain))
    return quantised(gguf, wanted[ending]) if ending else gguf


def run(plan: Plan, tasks: Sequence[LabelledTask], record: Record, output: Path, scratch: Path) -> str:
    """Measure until each chosen case has all its rounds in the record; the report.

    What is measured is written to `output` case by case, so that a run that is interrupted (Ctrl-C) can be
    gone on with. Raises SemifError, StartupError, ValueError or OSError where something cannot be started.
    """
    gguf = find_gguf(plan.model)
    library_dir = (plan.library or library_folder()).resolve()
    program = library_dir / "llama-server" if plan.library else None
    files = Files(gguf, library_dir, program, scratch)
    began, this = time.monotonic(), describe_run()
    with ExitStack() as opened:
        settings = Settings.from_env(
            {
                **adapter_variables(os.environ),
                "SEMIF_GGUF": str(gguf),
                "SEMIF_LIBRARY_DIR": str(library_dir),
                "SEMIF_READOUT": "letters",
                "SEMIF_CONTEXT_TOKENS": str(CONTEXT_TOKENS),
                "SEMIF_GPU_LAYERS": str(plan.gpu_layers),
            }
        )
        engine = opened.enter_context(closing(Engine.load(settings)))
        engines = [InProcessEngine(engine)]
        if engine.info.mode == "invariant":
            joined = settings.model_copy(update={"mode": "joined"})
            engines.append(JoinedEngine(opened.enter_context(closing(Engine.load(joined)))))
        library = open_library(library_dir)
        model = opened.enter_context(closing(Model(library, gguf, plan.gpu_layers)))
        record.check_setup(describe_setup(engine.info, gguf, hybrid=model.has_recurrent_layers))
        context = opened.enter_context(
            closing(
                Context(
                    model,
                    streams=1,
                    context_tokens=engine.info.context_tokens,
                    threads=engine.info.threads,
                    batch_tokens=BASELINE_BATCH_TOKENS,
                )
            )
        )
        servers = start_servers(opened, files, engine, model, plan.chosen)
        run_ = _EngineRun(engine, engines, model, context, servers=servers, record=record)
        record.runs.append(this)
        try:
            run_.measure(Workloads(model, tasks), plan, output)
        except KeyboardInterrupt:
            print("bench.engine: interrupted; --add goes on from here", file=sys.stderr)
    if not record.rounds:
        raise SemifError("interrupted before anything was measured")
    this["seconds"] = time.monotonic() - began
    return write(record, NOTES, output)


class _EngineRun:
    """Everybody who takes part, and what has been measured so far."""

    def __init__(
        self,
        engine: Engine,
        engines: Sequence[InProcessEngine],
        model: Model,
        context: Context,
        *,
        servers: Servers,
        record: Record,
    ) -> None:
        self._engine, self._servers, self._record = engine, servers, record
        sample = model.tokenize(" ".join(NOTES), parse_special=False)
        self._tiles = None
        if not model.has_recurrent_layers:  # which cannot forget a tail
            self._tiles = choose_tiles(context, model, sample, reads_head=False)
        self._contenders: list[Contender] = [
            *engines,
            FullPrompt(context),
            StateRestore(context),
            SchemaRestore(context),
            Limit(context, self._tiles),
            *servers.contenders,
        ]
        record.notes = list(servers.notes)

    def measure(self, workloads: Workloads, plan: Plan, output: Path) -> None:
        """Each chosen case in turn, round after round, until it has so many; first a warm-up."""
        # Everybody touches its weights once, with texts that no round has.
        warm = prepare_case(self._engine, workloads.one_state(-1, STATES[0][0], 2))
        measure_case(warm, self._contenders, 0)
        measured = self._record.rounds
        todo = [
            (number, name)
            for number in range(plan.rounds)
            for name in plan.chosen
            if number >= measured.get(name, 0)
        ]
        seconds: dict[str, float] = {}
        for place, (number, name) in enumerate(todo):
            began = time.monotonic()
            if name == LOAD:
                self._load(workloads, plan, number)
            else:
                self._case(workloads, plan, number, name)
            self._record.write(output)
            seconds[name] = time.monotonic() - began
            told = f"round {number + 1} of {plan.rounds}, {name}: {seconds[name]:.0f} s"
            print(f"bench.engine: {told}{_left(seconds, todo[place + 1 :])}", file=sys.stderr)

    def _case(self, workloads: Workloads, plan: Plan, number: int, name: str) -> None:
        prepared = prepare_case(self._engine, plan.makers[name](workloads, number))
        first = number + plan.names.index(name)
        taken = measure_case(prepared, self._contenders, first)
        self._count_right(prepared)
        part: PreparedCase | None = prepared
        while part is not None:
            case = part.case
            self._record.add_case(case.name, taken[case.name])
            self._record.decisions[case.name] = case.decisions
            self._record.padded[case.name] = padded_decisions(part, self._tiles)
            part = part.follow_up

    def _load(self, workloads: Workloads, plan: Plan, number: int) -> None:
        make = load.scripts(workloads, number, short=plan.short, long_tokens=plan.long_tokens)
        self._record.add_load(load.run_loads(self._servers.targets, make, first=number))

    def _count_right(self, prepared: PreparedCase) -> None:
        results = self._servers.semif.last
        for expected, result in zip(prepared.case.expected, results, strict=False):
            chosen = max(range(len(result["option_ids"])), key=result["probabilities"].__getitem__)
            self._record.labelled += 1
            self._record.right += result["option_ids"][chosen] == expected


def _left(seconds: dict[str, float], rest: Sequence[tuple[int, str]]) -> str:
    """How long the rest will take, once each of its cases has been measured before."""
    if any(name not in seconds for _, name in rest):
        return ""
    return f", about {sum(seconds[name] for _, name in rest) / 60:.0f} minutes left"
