"""`python -m bench.settings`: what other settings of llama.cpp would cost or save, beside the adapter's own.

Each setting gets a process of its own, with the model and a context of four streams, one of which holds
another prompt; in every round all of them compute the same prompts in turn. `--keep` puts the tables into
`docs/performance.md`.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.engine.report.keep import keep_section
from bench.engine.rounds.measure import Quartiles, Samples, ratio
from bench.engine.run import find_gguf
from bench.models.random_models import SHAPES
from bench.settings.child import PROMPT_TOKENS, SUFFIX_TOKENS
from bench.settings.variants import OWN, SETTINGS, Setting
from semif.errors import SemifError

MODELS = ("embedded", *SHAPES)


def main() -> int:
    """Measure the models, print a table each."""
    parser = argparse.ArgumentParser(prog="bench.settings", description=__doc__)
    parser.add_argument(
        "--model", action="append", help=f"may be repeated; unset: {', '.join(MODELS)}, one after another"
    )
    parser.add_argument("--rounds", type=int, default=5, help="default %(default)s")
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORDS",
        help="settings whose name holds these, beside the adapter's; may be repeated",
    )
    parser.add_argument("--keep", action="store_true", help="put the tables into docs/")
    arguments = parser.parse_args()
    wanted = [OWN, *(arguments.only or [""])]
    chosen = [setting for setting in SETTINGS if any(words in setting.name for words in wanted)]
    try:
        tables = [measure(name, chosen, arguments.rounds) for name in arguments.model or MODELS]
    except (SemifError, OSError) as error:
        print(f"bench.settings: {error}", file=sys.stderr)
        return 1
    text = "\n\n".join(tables)
    print(text)
    if arguments.keep:
        command = " ".join(["python -m bench.settings", *sys.argv[1:]])
        keep_section("settings", f"Measured with `{command}`.\n\n{text}")
    return 0


def measure(model: str, settings: Sequence[Setting], rounds: int) -> str:
    """A table of `settings`, the adapter's own first, on `model`."""
    gguf = find_gguf(model)
    with ExitStack() as opened:
        children = [opened.enter_context(Child(gguf, setting)) for setting in settings]
        load = os.getloadavg()[0]
        for number in range(rounds):
            start = number % len(children)
            for child in (*children[start:], *children[:start]):
                child.measure()
            print(f"bench.settings: {model}: round {number + 1} of {rounds}", file=sys.stderr)
    lines = [
        f"{model}, {rounds} rounds, load average {load:.1f} to {os.getloadavg()[0]:.1f}:",
        "",
        (
            f"| setting | {PROMPT_TOKENS} tokens | by CPU time | {SUFFIX_TOKENS} behind them | by CPU time "
            "| load, s | first, s | own memory, MB |"
        ),
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *(child.row(children[0]) for child in children),
    ]
    return "\n".join(lines)


class Child:
    """A process with one setting; `with` it."""

    def __init__(self, gguf: Path, setting: Setting) -> None:
        self._setting = setting
        self._samples = {"prompt": Samples(), "suffixes": Samples()}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.settings.child", str(gguf), json.dumps(asdict(setting))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Child":
        self._start = self._read()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # closes its input, which ends it

    def measure(self) -> None:
        """Once more."""
        assert self._process.stdin is not None
        print("go", file=self._process.stdin, flush=True)
        figures = self._read()
        self._own_bytes: int = figures["own_bytes"]
        for part, samples in self._samples.items():
            wall, cpu = figures[part]
            samples.wall.append(wall)
            samples.cpu.append(cpu)

    def row(self, own: "Child") -> str:
        """A line of the table: times as shares of those of `own`, less is faster."""
        cells = [self._setting.name]
        for part, samples in self._samples.items():
            baseline = own._samples[part]
            cells += [_shown(ratio(samples.wall, baseline.wall)), _shown(ratio(samples.cpu, baseline.cpu))]
        cells += [f"{self._start['load']:.2f}", f"{self._start['first']:.2f}", f"{self._own_bytes / 1e6:.0f}"]
        return f"| {' | '.join(cells)} |"

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SemifError(f"{self._setting.name}: its process ended with status {self._process.wait()}")
        return json.loads(line)


def _shown(spread: Quartiles) -> str:
    return f"{spread.median:.2f} ({spread.low:.2f}-{spread.high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
