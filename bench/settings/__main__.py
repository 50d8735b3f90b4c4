"""`python -m bench.settings`: what other settings of llama.cpp would cost or save, beside the adapter's own.

Each setting gets a process of its own, with the model and a context of two streams, one of which holds
another prompt; in every round all of them compute the same prompts in turn, so that a busy machine slows each
alike. Times are shares of those of the adapter's own setting: less is faster.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict

from bench.children import Child
from bench.engine.report.keep import check_section, keep_section
from bench.engine.rounds.measure import Quartiles, Samples, ratio
from bench.engine.run import find_gguf
from bench.llama_builds.kernels import INSTALLED, KERNELS_HELP, kernels_folder
from bench.models.random_models import SHAPES
from bench.settings.child import SUFFIX_TOKENS
from bench.settings.variants import OWN, SETTINGS, Setting
from semif.errors import SemifError

MODELS = ("embedded", *SHAPES)
SHORT_TOKENS = 512
PARTS = ("prompt", "suffixes")

DURATION = """\
how long it takes:
  A round computes the prompt once with every setting: 4,000 tokens take the embedded model half a minute of
  one core and qwen3-0.6b a minute and more, 512 tokens a tenth of it. With all settings and 5 rounds on two
  quiet cores embedded takes 2 minutes at 512 tokens and 20 at 4,000, qwen3-0.6b 6 and 60; --only takes less.
  All settings stay loaded: at 4,000 tokens embedded takes 0.5 GB each, qwen3-0.6b 1.5 GB (f32: 2.5 GB).

examples:
  python -m bench.settings --model embedded --tokens 4000 --only passes --only keys --only flash
  python -m bench.settings --model qwen3.5-4b --tokens 4000 --kernels best --only passes --only half
    (on a machine like the instance: which micro-batch and how many threads are right for a long prompt there)
"""


def main() -> int:
    """Measure the models, print a table each; the exit status."""
    arguments = _parser().parse_args()
    wanted = [OWN, *(arguments.only or [""])]
    chosen = [setting for setting in SETTINGS if any(words in setting.name for words in wanted)]
    section = "settings" if arguments.tokens == SHORT_TOKENS else "settings-long"
    try:
        if arguments.keep:
            check_section(section)
        tables = [
            measure(name, chosen, arguments.rounds, arguments.tokens, arguments.kernels)
            for name in arguments.model or MODELS
        ]
    except (SemifError, RuntimeError, OSError, ValueError) as error:
        print(f"bench.settings: {error}", file=sys.stderr)
        return 1
    text = "\n\n".join(tables)
    print(text)
    if arguments.keep:
        command = " ".join(["python -m bench.settings", *sys.argv[1:]])
        keep_section(section, f"Measured with `{command}`.\n\n{text}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench.settings",
        description=__doc__,
        epilog=DURATION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--model", action="append", help=f"may be repeated; unset: {', '.join(MODELS)}, one after another")
    add("--tokens", type=int, default=SHORT_TOKENS, help="of the prompt; default %(default)s")
    add("--rounds", type=int, default=5, help="default %(default)s")
    add(
        "--only",
        action="append",
        metavar="WORDS",
        help="settings whose name holds these, beside the adapter's; may be repeated. "
        + "; ".join(setting.name for setting in SETTINGS),
    )
    add("--kernels", default=INSTALLED, metavar="NAME", help=KERNELS_HELP + "default %(default)s")
    add(
        "--keep",
        action="store_true",
        help="put the tables into docs/measured/performance-settings.md, those of other --tokens than "
        f"{SHORT_TOKENS} as the long prompt's",
    )
    return parser


def measure(model: str, settings: Sequence[Setting], rounds: int, tokens: int, kernels: str) -> str:
    """A table of `settings`, the adapter's own first, on `model`."""
    places = [str(kernels_folder(kernels)), str(find_gguf(model)), str(tokens)]
    with ExitStack() as opened:
        runs = []
        for setting in settings:
            command = ["bench.settings.child", *places, json.dumps(asdict(setting))]
            runs.append(SettingRun(opened.enter_context(Child(setting.name, command))))
        load = os.getloadavg()[0]
        for number in range(rounds):
            start = number % len(runs)
            for run in (*runs[start:], *runs[:start]):
                run.measure()
            print(f"bench.settings: {model}: round {number + 1} of {rounds}", file=sys.stderr)
    own = runs[0].samples["prompt"]
    rate = Quartiles.of([tokens / seconds for seconds in own.cpu])
    lines = [
        (
            f"{model}, kernels `{kernels}`, {rounds} rounds, load average {load:.1f} to "
            f"{os.getloadavg()[0]:.1f}; the adapter's own setting computes {rate.shown(0)} tokens for each "
            "second of CPU time:"
        ),
        "",
        (
            f"| setting | {tokens} tokens | by CPU time | {SUFFIX_TOKENS} behind them | by CPU time "
            "| load, s | first, s | own memory, MB |"
        ),
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *(run.row(runs[0].samples) for run in runs),
    ]
    return "\n".join(lines)


class SettingRun:
    """What has been measured of one setting."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self.samples = {part: Samples() for part in PARTS}
        self._own_bytes = 0

    def measure(self) -> None:
        """Once more."""
        figures = self._child.measure()
        self._own_bytes = figures["own_bytes"]
        for part, samples in self.samples.items():
            wall, cpu = figures[part]
            samples.wall.append(wall)
            samples.cpu.append(cpu)

    def row(self, own: Mapping[str, Samples]) -> str:
        """A line of the table: times as shares of `own`, less is faster."""
        cells = [self._child.name]
        for part, samples in self.samples.items():
            cells += [
                ratio(getattr(samples, clock), getattr(own[part], clock)).shown() for clock in ("wall", "cpu")
            ]
        start = self._child.start
        cells += [f"{start['load']:.2f}", f"{start['first']:.2f}", f"{self._own_bytes / 1e6:.0f}"]
        return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
