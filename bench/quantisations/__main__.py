"""`python -m bench.quantisations`: how fast this processor reads a prompt, by the type of the weights.

One model in several types (random weights of a published shape, which read as fast as trained ones; or a GGUF
of yours, rounded to each type), each in a process of its own. In every round all of them read the same prompt
in turn, so that a busy machine slows each alike. CPU time comes first; the ratio to Q4_K_M is that of each
round, its median and quartiles are shown.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.children import Child
from bench.engine.report.keep import check_section, keep_section
from bench.engine.run import find_gguf
from bench.llama_builds.kernels import INSTALLED, KERNELS_HELP, kernels_folder
from bench.models.quantised import TYPES, quantised
from bench.models.random_models import SHAPES, random_model
from bench.quantisations.processor import processor_features
from bench.quantisations.rates import keep_rates
from bench.quantisations.table import Measured, whole
from semif.errors import SemifError
from semif.evaluation.runs.machine import describe_machine

RATED = "qwen3-0.6b"
"""The model whose rates `semif size --estimate` scales to others."""

DURATION = """\
how long it takes:
  The models are written once, some ten seconds each; all seven of qwen3-0.6b are 3.9 GB in the user's cache.
  Then a round reads the prompt once with each: 256 tokens take qwen3-0.6b 2 to 6 seconds of one core. Seven
  types and 10 rounds are 4 minutes on a quiet machine, each further --kernels as much again. All models stay
  loaded: 7 GB, and 3 GB more for each further --kernels.

examples:
  python -m bench.quantisations --types Q4_K_M Q8_0 --rounds 5
  python -m bench.quantisations --kernels best --threads 8     (on an instance of your own)
  python -m bench.quantisations --model qwen35-0.8b
"""


def main() -> int:
    """Measure, print the tables; the exit status."""
    arguments = _parser().parse_args()
    try:
        if arguments.keep:
            check_section("quantisations")
        measured = prepare(arguments.model, arguments.types, arguments.kernels)
        load = os.getloadavg()[0]
        measure(measured, arguments.rounds, arguments.threads, arguments.tokens)
    except (SemifError, RuntimeError, OSError, ValueError) as error:
        print(f"bench.quantisations: {error}", file=sys.stderr)
        return 1
    machine, features = describe_machine(), processor_features()
    has = ", ".join(features) or "nothing that llama.cpp looks for"
    if arguments.json:
        documents = [one.document(arguments.tokens) for one in measured]
        asked = {name: getattr(arguments, name) for name in ("model", "rounds", "threads", "tokens")}
        about = {"machine": machine.model_dump(), "processor_features": features}
        print(json.dumps(asked | about | {"measured": documents}, indent=1))
    text = (
        f"{machine.cpu}, {machine.cpus} CPUs, with {has}; {arguments.model}, {arguments.tokens} tokens, "
        f"threads: {arguments.threads}, {arguments.rounds} rounds, load average {load:.1f} to "
        f"{os.getloadavg()[0]:.1f}.\n\n{whole(measured, arguments.tokens)}"
    )
    if not arguments.json:
        print(text)
    if arguments.keep:
        command = " ".join(["python -m bench.quantisations", *sys.argv[1:]])
        keep_section("quantisations", f"Measured with `{command}` on {machine.commit}.\n\n{text}")
        if arguments.model == RATED and arguments.threads == 1:
            keep_rates(measured, arguments.tokens, machine.cpu)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench.quantisations",
        description=__doc__,
        epilog=DURATION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--model",
        default=RATED,
        help=f"{', '.join(SHAPES)} (random weights), a preset's name or a GGUF's path; default %(default)s",
    )
    add("--types", nargs="+", choices=TYPES, default=list(TYPES), help="default: all")
    add(
        "--kernels", nargs="+", default=[INSTALLED], metavar="NAME", help=f"{KERNELS_HELP}default {INSTALLED}"
    )
    add("--rounds", type=int, default=10, help="default %(default)s")
    add("--tokens", type=int, default=256, help="of the prompt; default %(default)s, one pass of the adapter")
    add("--threads", type=int, default=1, help="default %(default)s: the rate of one core")
    add("--json", action="store_true", help="every sample as one document, in place of the tables")
    add(
        "--keep",
        action="store_true",
        help="put the tables into docs/measured/performance-quantisations.md, and the rates of one thread "
        f"with {RATED} where `semif size --estimate` finds them",
    )
    return parser


def prepare(model: str, types: Sequence[str], kernels: Sequence[str]) -> list[Measured]:
    """What is to be measured: every type on all of the kernels. Writes the models that are missing."""
    for name in kernels:
        kernels_folder(name)
    ggufs: dict[str, Path] = {}
    for type_name in types:
        print(f"bench.quantisations: {model} in {type_name}", file=sys.stderr)
        ggufs[type_name] = (
            random_model(model, type_name=type_name)
            if model in SHAPES
            else quantised(find_gguf(model), type_name)
        )
    return [Measured(name, type_name, gguf) for name in kernels for type_name, gguf in ggufs.items()]


def measure(measured: Sequence[Measured], rounds: int, threads: int, tokens: int) -> None:
    """Fill in the samples: `rounds` of each, all in turn, another one first in every round."""
    with ExitStack() as opened:
        children = []
        for one in measured:
            arguments = [kernels_folder(one.kernels), one.gguf, threads, tokens]
            child = Child(
                f"{one.kernels}, {one.type_name}", ["bench.quantisations.child", *map(str, arguments)]
            )
            children.append(opened.enter_context(child))
            one.start = child.start
        pairs = list(zip(measured, children, strict=True))
        for number in range(rounds):
            start = number % len(pairs)
            for one, child in (*pairs[start:], *pairs[:start]):
                figures = child.measure()
                one.samples.wall.append(figures["wall"])
                one.samples.cpu.append(figures["cpu"])
            print(f"bench.quantisations: round {number + 1} of {rounds}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
