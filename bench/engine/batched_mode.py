"""`python -m bench.engine.batched_mode`: how far its numbers are from invariant mode's, and how fast it is.

Both modes get the same requests, all at once, in every round in turn: single decisions over short states and
requests of eight questions over one state, as in W1 and W2 of `bench.engine`. `--keep` puts the table into
`docs/measured/`.
"""

import argparse
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.engine.contenders.contender import PreparedCase, prepare_case
from bench.engine.measuring.workloads import ROUTING, Workloads
from bench.engine.report.keep import keep_section
from bench.engine.rounds.measure import Quartiles, Samples, ratio
from bench.engine.run import find_gguf
from bench.models.tiny_models import write_tiny_gguf
from semif.errors import SemifError
from semif.evaluation.tasks.task_lines import read_tasks
from semif.serve.local_adapter import library_folder
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.probabilities import Numbers, softmax
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Mode, Readout
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.libllama import open_library
from semif_adapter.llama.model import Model

TINY_HYBRID = "tiny-qwen35"
MODELS = ("embedded", "gemma-270m", TINY_HYBRID)
MODES: tuple[Mode, ...] = ("invariant", "batched")
READOUTS: tuple[Readout, ...] = ("letters", "text")
SINGLE = 16
STATES, QUESTIONS, STATE_TOKENS = 2, 8, 50
COLUMNS = (
    "model, readout",
    "decisions",
    "largest difference of a logit",
    "of a probability",
    "choices changed",
    "invariant, decisions/s",
    "batched, decisions/s",
    "batched / invariant",
    "of CPU time",
)

Logits = list[Numbers]


@dataclass
class ModesCompared:
    """What the rounds on one model, read in one way, found."""

    decisions: int = 0
    changed: int = 0
    logit: float = 0.0
    probability: float = 0.0
    samples: dict[Mode, Samples] = field(default_factory=lambda: {mode: Samples() for mode in MODES})

    def add(self, invariant: Logits, batched: Logits) -> None:
        """Compare the option logits of a round's decisions."""
        for one, other in zip(invariant, batched, strict=True):
            self.decisions += 1
            self.changed += int(one.argmax() != other.argmax())
            self.logit = max(self.logit, float(np.abs(one - other).max()))
            self.probability = max(self.probability, float(np.abs(softmax(one) - softmax(other)).max()))

    def row(self, name: str) -> str:
        """A line of the table."""
        invariant, batched = (self.samples[mode] for mode in MODES)
        a_round = self.decisions / len(batched.wall)
        wall, cpu = ratio(invariant.wall, batched.wall), ratio(invariant.cpu, batched.cpu)
        cells = [
            name,
            f"{self.decisions}",
            f"{self.logit:.2g}",
            f"{self.probability:.2g}",
            f"{self.changed}",
            *(f"{a_round / Quartiles.of(samples.wall).median:.2f}" for samples in (invariant, batched)),
            wall.shown(),
            f"{cpu.median:.2f}",
        ]
        return f"| {' | '.join(cells)} |"


def main() -> int:
    """Compare the modes on the models, print a table."""
    parser = argparse.ArgumentParser(prog="bench.engine.batched_mode", description=__doc__)
    parser.add_argument(
        "--model", action="append", help=f"may be repeated; unset: {', '.join(MODELS)}, one after another"
    )
    parser.add_argument("--rounds", type=int, default=3, help="default %(default)s")
    parser.add_argument("--gpu-layers", type=int, default=0, help="layers on GPUs; -1: all")
    parser.add_argument("--keep", action="store_true", help="put the table into docs/")
    arguments = parser.parse_args()
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    print("\n".join(lines), flush=True)
    try:
        for model in arguments.model or MODELS:
            for readout in READOUTS:
                compared = compare(model, readout, arguments.rounds, arguments.gpu_layers)
                lines.append(compared.row(f"{model}, {readout}"))
                print(lines[-1], flush=True)
    except (SemifError, StartupError, OSError) as error:
        print(f"bench.engine.batched_mode: {error}", file=sys.stderr)
        return 1
    if arguments.keep:
        table = "\n".join(lines)
        command = " ".join(["python -m bench.engine.batched_mode", *sys.argv[1:]])
        keep_section("batched", f"Measured with `{command}`.\n\n{table}")
    return 0


def compare(model: str, readout: Readout, rounds: int, gpu_layers: int) -> ModesCompared:
    """Ask both modes in turn, beginning with another in each round."""
    compared = ModesCompared()
    with ExitStack() as opened:
        gguf = _path(model, Path(opened.enter_context(TemporaryDirectory())))
        engines = {
            mode: opened.enter_context(closing(_load(gguf, readout, mode, gpu_layers))) for mode in MODES
        }
        weights = opened.enter_context(closing(Model(open_library(library_folder()), gguf, 0)))
        workloads = Workloads(weights, read_tasks(ROUTING))
        for number in range(rounds):
            cases = [
                workloads.one_schema(number, SINGLE),
                *(workloads.one_state(number * STATES + k, STATE_TOKENS, QUESTIONS) for k in range(STATES)),
            ]
            prepared_cases = [prepare_case(engines["invariant"], case) for case in cases]
            logits: dict[Mode, Logits] = {}
            for mode in MODES if number % 2 else MODES[::-1]:
                cpu, wall = time.process_time(), time.perf_counter()
                logits[mode] = _ask(engines[mode], prepared_cases)
                compared.samples[mode].wall.append(time.perf_counter() - wall)
                compared.samples[mode].cpu.append(time.process_time() - cpu)
            compared.add(logits["invariant"], logits["batched"])
    return compared


def _path(model: str, folder: Path) -> Path:
    if model != TINY_HYBRID:
        return find_gguf(model)
    path = folder / f"{model}.gguf"
    write_tiny_gguf(path, architecture="qwen35")
    return path


def _load(gguf: Path, readout: Readout, mode: Mode, gpu_layers: int) -> Engine:
    return Engine.load(
        Settings(gguf=gguf, library_dir=library_folder(), readout=readout, mode=mode, gpu_layers=gpu_layers)
    )


def _ask(engine: Engine, prepared_cases: list[PreparedCase]) -> Logits:
    """The option logits of every decision of `prepared_cases`, all requests at once."""
    requests = [
        engine.prepare(questions, prepared.case.layout)
        for prepared in prepared_cases
        for questions in prepared.questions
    ]
    for request in requests:
        engine.begin(request)
    while not all(request.ended for request in requests):
        engine.scheduler.advance()
    logits = []
    for request in requests:
        if request.result is None:
            raise RuntimeError(f"a request failed: {request.failure}")
        logits += [np.array(result.option_logits) for result in request.result.results]
    return logits


if __name__ == "__main__":
    sys.exit(main())
