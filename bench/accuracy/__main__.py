"""`python -m bench.accuracy`: how many labelled tasks a model gets right, by readout, layout, rotation.

Every task is asked through the System One mapping, one at a time, in process: with letters once for each
rotation of its options; with the text readout, which lists no options, in the order received and one other.
`order_debiasing` averages the rotations, so its figures follow from the same prompts (a test holds that these
are the adapter's own). Prints a table in Markdown and writes it, with every answer as JSON, to
`.semif/bench/accuracy/`. Nothing is asserted, whatever is right.
"""

import argparse
import json
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from rich.progress import Progress

from bench.accuracy.asking import ask, questions_of, turns_to_ask
from bench.accuracy.table import Row, rows, table
from bench.engine.measuring.workloads import ROUTING
from bench.engine.run import find_gguf
from semif.errors import SemifError
from semif.project.root import project_root
from semif.serve.local_adapter import library_folder
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Layout, Readout
from semif_adapter.engine.engine import Engine

CONTEXT_TOKENS = 4096
READOUTS: tuple[Readout, ...] = ("letters", "text")
"""Those that a model is free to be read with; a decision head has its own."""
LAYOUTS: tuple[Layout, ...] = get_args(Layout)


def main() -> int:
    """Parse, ask, report."""
    parser = argparse.ArgumentParser(prog="bench.accuracy", description=__doc__)
    parser.add_argument(
        "--model", default="embedded", help="a preset, a GGUF's path, or a name of bench.models.random_models"
    )
    parser.add_argument(
        "--tasks",
        type=Path,
        nargs="+",
        default=[ROUTING],
        help="files of labelled tasks, as JSON Lines; each gets lines of its own in the table",
    )
    parser.add_argument("--readout", nargs="+", choices=READOUTS, default=READOUTS)
    parser.add_argument("--layout", nargs="+", choices=LAYOUTS, default=LAYOUTS)
    parser.add_argument(
        "--output",
        type=Path,
        default=project_root() / ".semif" / "bench" / "accuracy",
        help="folder to write to",
    )
    try:
        print(measure(parser.parse_args()))
    except (SemifError, StartupError, OSError) as error:
        print(f"bench.accuracy: {error}", file=sys.stderr)
        return 1
    return 0


def measure(arguments: argparse.Namespace) -> str:
    """Ask everything, write the answers; the table. Raises SemifError, StartupError, OSError."""
    questions = [labelled for path in arguments.tasks for labelled in questions_of(path)]
    gguf, library_dir = find_gguf(arguments.model), library_folder()
    lines: list[Row] = []
    kept = []
    with Progress(transient=True) as progress:
        for readout in arguments.readout:
            settings = Settings.model_validate(
                {
                    "gguf": gguf,
                    "library_dir": library_dir,
                    "readout": readout,
                    "context_tokens": CONTEXT_TOKENS,
                }
            )
            with closing(Engine.load(settings)) as engine:
                for layout in arguments.layout:
                    turns = turns_to_ask(questions, readout, layout)
                    asked = progress.track(turns, description=f"{readout}, {layout}")
                    answers = [ask(engine, questions, index, turn, layout) for index, turn in asked]
                    lines += rows(questions, answers, readout, layout)
                    kept.append({"readout": readout, "layout": layout, "answers": list(map(asdict, answers))})
    text = table(questions, lines)
    arguments.output.mkdir(parents=True, exist_ok=True)
    name = Path(arguments.model).stem
    report = {"model": name, "rows": list(map(asdict, lines)), "runs": kept}
    (arguments.output / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    (arguments.output / f"{name}.md").write_text(text + "\n")
    return text


if __name__ == "__main__":
    sys.exit(main())
