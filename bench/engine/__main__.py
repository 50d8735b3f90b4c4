"""`python -m bench.engine`: the adapter's speed beside its alternatives', in one run on one model.

Prints tables in Markdown, writes them, the raw samples (JSON) and two pictures to `.semif/bench/engine/`.
`--keep` also puts them into the model's section in `docs/measured/`. The exit status is 0 whatever the
figures are: the table says which bars were not reached.
"""

import argparse
import math
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.engine.measuring.workloads import QUESTION_COUNTS, ROUTING, STATE_TOKENS
from bench.engine.report.keep import check_section, keep_run
from bench.engine.run import Plan, run
from semif.errors import SemifError
from semif.evaluation.tasks.task_lines import read_tasks
from semif.project.root import project_root
from semif_adapter.contract.errors import StartupError

FULL = Plan(rounds=100, most_seconds=14 * 60, tasks_a_round=8, distinct=4, short=2, long_tokens=900)
QUICK = Plan(
    rounds=1,
    most_seconds=math.inf,
    tasks_a_round=4,
    distinct=2,
    short=1,
    long_tokens=200,
    states=STATE_TOKENS[:1],
    counts=QUESTION_COUNTS[:2],
)


def main() -> int:
    """Parse, run, report."""
    parser = argparse.ArgumentParser(prog="bench.engine", description=__doc__)
    parser.add_argument(
        "--model", default="embedded", help="a preset, a GGUF's path, or a name of bench.models.random_models"
    )
    parser.add_argument(
        "--tasks",
        type=Path,
        default=ROUTING,
        help="labelled tasks for W1 and W4, as JSON Lines",
    )
    parser.add_argument("--quick", action="store_true", help="one short round: a try-out, no measurement")
    parser.add_argument(
        "--minutes",
        type=float,
        default=FULL.most_seconds / 60,
        help="rounds are added while they end within these (default %(default).0f); one is always measured",
    )
    parser.add_argument(
        "--gpu-layers", type=int, default=0, help="of everybody's model; -1: all (default %(default)s)"
    )
    parser.add_argument("--output", type=Path, help="folder to write to instead of .semif/bench/engine")
    parser.add_argument("--keep", action="store_true", help="put tables and pictures into docs/")
    arguments = parser.parse_args()
    plan = QUICK if arguments.quick else replace(FULL, most_seconds=arguments.minutes * 60)
    plan = replace(plan, gpu_layers=arguments.gpu_layers)
    output = arguments.output or project_root() / ".semif" / "bench" / "engine"
    output.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        if arguments.keep:
            check_section(arguments.model)
        tasks = read_tasks(arguments.tasks)
        with tempfile.TemporaryDirectory() as folder:
            text = run(arguments.model, tasks, plan, output, Path(folder))
    except (SemifError, StartupError, OSError, ValueError) as error:
        print(f"bench.engine: {error}", file=sys.stderr)
        return 1
    print(text)
    print(f"\nbench.engine: {time.monotonic() - began:.0f} s; written to {output}")
    if arguments.keep:
        keep_run(arguments.model, output, " ".join(["python -m bench.engine", *sys.argv[1:]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
