"""`python -m bench.engine`: the adapter's speed beside its alternatives', in one run on one model.

Prints tables in Markdown, writes them, the raw samples (JSON) and two pictures to `.semif/bench/engine/`. The
exit status is 0 whatever the figures are: the table says which bars were not reached.
"""

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.engine.measuring.plan import KEPT_ROUNDS, STATES, Plan
from bench.engine.measuring.workloads import ROUTING
from bench.engine.report.keep import check_run, keep_run
from bench.engine.rounds.record import Record
from bench.engine.run import run
from semif.errors import SemifError
from semif.evaluation.tasks.task_lines import read_tasks
from semif.project.root import project_root
from semif_adapter.contract.errors import StartupError

QUICK = Plan(
    tasks=4,
    distinct=2,
    short=1,
    long_tokens=200,
    states=STATES[:2],
    long_question_states=(50,),
)


def main() -> int:
    """Parse, run, report."""
    parser = argparse.ArgumentParser(prog="bench.engine", description=__doc__)
    parser.add_argument(
        "--model",
        default="embedded",
        help="a preset or a name of bench.models.random_models, either with a type of weights behind it "
        "(embedded-q4_0); or a GGUF's path",
    )
    parser.add_argument(
        "--tasks",
        type=Path,
        default=ROUTING,
        help="labelled tasks for W1 and W4, as JSON Lines",
    )
    parser.add_argument("--quick", action="store_true", help="one short round: a try-out, no measurement")
    parser.add_argument(
        "--rounds", type=int, help=f"of each case, interleaved (default {KEPT_ROUNDS}; with --quick 1)"
    )
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="TEXT", help='cases with that in their names, like "W2 1800"'
    )
    parser.add_argument(
        "--add",
        action="store_true",
        help="go on from the samples of the output folder until each case has --rounds; same commit, model, "
        "machine and settings",
    )
    parser.add_argument(
        "--gpu-layers", type=int, default=0, help="of everybody's model; -1: all (default %(default)s)"
    )
    parser.add_argument(
        "--library",
        type=Path,
        metavar="DIR",
        help="llama.cpp's libraries and llama-server, instead of the installed wheel's",
    )
    parser.add_argument("--output", type=Path, help="folder to write to instead of .semif/bench/engine/MODEL")
    parser.add_argument(
        "--keep", action="store_true", help=f"put all into docs/: takes {KEPT_ROUNDS} rounds of every case"
    )
    arguments = parser.parse_args()
    plan = QUICK if arguments.quick else Plan()
    began = time.monotonic()
    try:
        tasks = read_tasks(arguments.tasks)
        plan = replace(
            plan,
            model=arguments.model,
            rounds=arguments.rounds or (1 if arguments.quick else KEPT_ROUNDS),
            tasks=min(plan.tasks, len(tasks)),
            only=tuple(arguments.only),
            gpu_layers=arguments.gpu_layers,
            library=arguments.library,
        )
        whole = replace(Plan(), tasks=min(Plan.tasks, len(tasks)))
        section = _section(arguments.model)
        output = arguments.output or project_root() / ".semif" / "bench" / "engine" / section
        record = Record.read(output) if arguments.add else Record()
        if arguments.keep:
            check_run(section)
            whole.check_kept(record.rounds | dict.fromkeys(plan.with_follow_ups(plan.chosen), plan.rounds))
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            text = run(plan, tasks, record, output, Path(folder))
        print(text)
        print(f"\nbench.engine: {time.monotonic() - began:.0f} s; written to {output}")
        if arguments.keep:
            whole.check_kept(record.rounds)
            keep_run(section, output, " ".join(["python -m bench.engine", *sys.argv[1:]]))
    except (SemifError, StartupError, OSError, ValueError, RuntimeError) as error:
        print(f"bench.engine: {error}", file=sys.stderr)
        return 1
    return 0


def _section(model: str) -> str:
    """What a run is called in the pages: the model, and the mode where it is not the usual one."""
    mode = os.environ.get("SEMIF_MODE", "invariant")
    name = Path(model).stem if model.endswith(".gguf") else model
    return name if mode == "invariant" else f"{name}-{mode}"


if __name__ == "__main__":
    sys.exit(main())
