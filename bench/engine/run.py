"""A whole run: start everybody, warm up, measure in rounds, report."""

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.engine.contenders.contender import Contender, PreparedCase, prepare_case
from bench.engine.contenders.in_process import (
    BASELINE_BATCH_TOKENS,
    FULL_PROMPT_TOKENS,
    FullPrompt,
    InProcessEngine,
    JoinedEngine,
    Limit,
    SchemaRestore,
    StateRestore,
)
from bench.engine.contenders.servers import Servers, start_servers
from bench.engine.measuring.workloads import QUESTION_COUNTS, STATE_TOKENS, Case, Workloads
from bench.engine.report import plots, tables
from bench.engine.report.machine import describe
from bench.engine.rounds import bars, load
from bench.engine.rounds.measure import Results, run_round
from bench.models.random_models import SHAPES, random_model
from semif.evaluation.runs.labelled_tasks import LabelledTask
from semif.models.presets import load_preset
from semif.models.sources.fetch import fetch
from semif.serve.local_adapter import adapter_variables, library_folder
from semif_adapter.contract.settings import Settings
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
        "and multiplied. Of states of 1,800 tokens those are measured that have a bar there or set one."
    ),
    ("semif engine, joined: SEMIF_MODE=joined, all questions of a request in as few passes as they fill."),
    (
        "state restore: the state's memory is put back before every question but the first; it keeps nothing "
        "from one request to the next. schema restore is the same with the schema, for W1."
    ),
    (
        "llama-server default: four slots with a unified cache, what the program makes of `--parallel -1`; "
        '"at once" sends all questions of a state together. '
        "best: one slot, full sliding-window cache, prompt cache."
    ),
)


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rounds: int
    most_seconds: float
    """No further round begins that could take longer than these, counted from the start."""
    tasks_a_round: int
    distinct: int
    short: int
    """Decisions that each client with short texts sends in W4."""
    long_tokens: int
    """Length of the long texts of W4."""
    states: tuple[int, ...] = STATE_TOKENS
    counts: tuple[int, ...] = QUESTION_COUNTS
    gpu_layers: int = 0
    """Of everybody's model."""

    def cases(self, workloads: Workloads, number: int) -> list[Case]:
        """Those of round `number`."""
        return [
            workloads.one_schema(number, self.tasks_a_round),
            *(workloads.one_state(number, tokens, count) for tokens in self.states for count in self.counts),
            workloads.all_distinct(number, self.distinct),
        ]


def find_gguf(name: str) -> Path:
    """The GGUF of a preset, of a random model, or at a path."""
    if name.endswith(".gguf"):
        return Path(name).expanduser().resolve()
    return random_model(name) if name in SHAPES else fetch(load_preset(name))


def run(name: str, tasks: Sequence[LabelledTask], plan: Plan, output: Path, scratch: Path) -> str:
    """Measure on the model `name`, write everything to `output`; the report in Markdown.

    Raises SemifError, StartupError or OSError where something cannot be started.
    """
    gguf, library_dir = find_gguf(name), library_folder()
    began = time.monotonic()
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
        joined = opened.enter_context(closing(Engine.load(settings.model_copy(update={"mode": "joined"}))))
        machine = describe(engine.info)
        library = open_library(library_dir.resolve())
        model = opened.enter_context(closing(Model(library, gguf, plan.gpu_layers)))
        limit, threads = engine.info.context_tokens, engine.info.threads
        context = opened.enter_context(
            closing(
                Context(
                    model,
                    streams=1,
                    context_tokens=limit,
                    threads=threads,
                    batch_tokens=BASELINE_BATCH_TOKENS,
                )
            )
        )
        servers = start_servers(opened, gguf, engine, model, scratch)
        contenders: list[Contender] = [
            InProcessEngine(engine),
            JoinedEngine(joined),
            FullPrompt(context),
            StateRestore(context),
            SchemaRestore(context),
            Limit(context),
            *servers.contenders,
        ]
        workloads = Workloads(model, tasks)
        run_ = _EngineRun(engine, contenders, servers, workloads, plan)
        run_.warm_up()
        longest = 0.0
        while not run_.rounds or (
            run_.rounds < plan.rounds and time.monotonic() - began + longest < plan.most_seconds
        ):
            round_began = time.monotonic()
            run_.round()
            taken = time.monotonic() - round_began
            longest = max(longest, taken)
            print(f"bench.engine: round {run_.rounds} took {taken:.0f} s", file=sys.stderr)
        hybrid = model.has_recurrent_layers
    machine |= {"rounds": run_.rounds, "seconds": time.monotonic() - began}
    return run_.write(output, machine, hybrid=hybrid)


class _EngineRun:
    """What has been measured so far."""

    def __init__(
        self,
        engine: Engine,
        contenders: Sequence[Contender],
        servers: Servers,
        workloads: Workloads,
        plan: Plan,
    ) -> None:
        self._engine, self._contenders, self._servers = engine, contenders, servers
        self._workloads, self._plan = workloads, plan
        self.rounds = 0
        self._results: Results = {}
        self._decisions: dict[str, int] = {}
        self._loads: dict[str, dict[str, list[Any]]] = {}
        self._labelled, self._right = 0, 0

    def warm_up(self) -> None:
        """Let everybody touch its weights once, with texts that no round has."""
        prepared = prepare_case(self._engine, self._workloads.one_state(-1, STATE_TOKENS[0], 2))
        run_round(0, [prepared], self._contenders, {}, lambda _: None)

    def round(self) -> None:
        """Every case and the load, once."""
        number = self.rounds
        cases = self._plan.cases(self._workloads, number)
        for case in cases:
            self._decisions[case.name] = case.decisions
        prepared_cases = [prepare_case(self._engine, case) for case in cases]
        run_round(number, prepared_cases, self._contenders, self._results, self._count_right)
        make_scripts = load.scripts(
            self._workloads, number, short=self._plan.short, long_tokens=self._plan.long_tokens
        )
        for name, figures in load.run_loads(self._servers.targets, make_scripts, first=number).items():
            kept = self._loads.setdefault(name, {})
            for figure, value in figures.items():
                kept.setdefault(figure, []).append(value)
        self.rounds += 1

    def _count_right(self, prepared: PreparedCase) -> None:
        results = self._servers.semif.last
        for expected, result in zip(prepared.case.expected, results, strict=False):
            chosen = max(range(len(result["option_ids"])), key=result["probabilities"].__getitem__)
            self._labelled += 1
            self._right += result["option_ids"][chosen] == expected

    def write(self, output: Path, machine: dict[str, Any], *, hybrid: bool) -> str:
        """The report's files; its text."""
        rows = bars.check(self._results, hybrid=hybrid) + load.check(self._loads)
        right = (
            f"right answers in W1: {self._right} of {self._labelled} (letters, no claim beyond this model)."
        )
        whole = {
            "machine": machine,
            "bars": rows,
            "decisions": self._decisions,
            "load": self._loads,
            "notes": [*NOTES, *load.NOTES, *self._servers.notes, right],
        }
        samples = {
            case: {who: asdict(taken) for who, taken in by.items()} for case, by in self._results.items()
        }
        text = tables.whole(whole, self._results)
        (output / "report.json").write_text(json.dumps(whole | {"samples": samples}, indent=1) + "\n")
        (output / "report.md").write_text(text + "\n")
        plots.draw_times(self._results, self._decisions, output / "times.png")
        plots.draw_ratios(self._results, rows, output / "ratios.png")
        return text
