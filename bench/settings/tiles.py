"""`python -m bench.settings.tiles MODEL ...`: what padding short passes to whole tiles gains.

Every pass is taken in turn as it is and by the rule of `semif_adapter/decoding/tiles.py`, on two streams of
one context; the medians of CPU time are shown. `--keep` puts each model's table into
`docs/measured/performance-tiles.md`.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from statistics import median

import numpy as np

from bench.engine.report.keep import check_section, keep_section
from bench.engine.run import find_gguf
from bench.llama_builds.kernels import INSTALLED, KERNELS_HELP, backend_file, kernels_folder
from bench.models.random_models import SHAPES
from semif.errors import SemifError
from semif_adapter.contract.errors import StartupError
from semif_adapter.decoding.steps import complete
from semif_adapter.decoding.streams import Stream
from semif_adapter.decoding.tiles import TILE, choose_tiles
from semif_adapter.llama.context import Context
from semif_adapter.llama.libllama import Library, open_library
from semif_adapter.llama.model import Model, Tokens

DEPTHS = (300, 800, 1800)
LENGTHS = (28, 35, 42, 48, 56, 63)
MODELS = ("embedded", "embedded-q4_0", "qwen3-0.6b")

DURATION = """\
how long it takes:
  A round is 12 passes of 28 to 64 tokens at each depth. With 5 rounds, on one quiet core: embedded half a
  minute at depths 300 and 800 and a minute at 1,800, qwen3-0.6b one minute and three.

example:
  python -m bench.settings.tiles embedded-q4_0 --depths 50 300 800 1800 --keep
"""

_TEXT = "The parcel came on Tuesday, opened, and one of the two cups in it was broken. "


def main() -> int:
    """Measure, and print a row for each depth and length; the exit status."""
    parser = argparse.ArgumentParser(
        prog="bench.settings.tiles",
        description=__doc__,
        epilog=DURATION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "models",
        nargs="*",
        default=MODELS,
        metavar="MODEL",
        help=f"a preset's name, {' or '.join(SHAPES)} (random weights), or a GGUF's path; "
        f"default {' and '.join(MODELS)}",
    )
    add("--rounds", type=int, default=5, help="default %(default)s")
    add("--threads", type=int, default=1, help="default %(default)s")
    depths = " ".join(map(str, DEPTHS))
    add("--depths", type=int, nargs="+", default=DEPTHS, metavar="TOKENS", help=f"default {depths}")
    add("--kernels", default=INSTALLED, metavar="NAME", help=f"{KERNELS_HELP}default {INSTALLED}")
    add("--keep", action="store_true", help="put the tables into docs/")
    arguments = parser.parse_args()
    command = " ".join(["python -m bench.settings.tiles", *sys.argv[1:]])
    try:
        if arguments.keep:
            for name in arguments.models:
                check_section(f"tiles-{name}")
        library = open_library(kernels_folder(arguments.kernels))
        for name in arguments.models:
            text = measure(library, name, arguments.depths, arguments.rounds, arguments.threads)
            print(text)
            if arguments.keep:
                keep_section(f"tiles-{name}", f"Measured with `{command}`.\n\n{text}")
    except (SemifError, StartupError, RuntimeError, OSError, ValueError) as error:
        print(f"bench.settings.tiles: {error}", file=sys.stderr)
        return 1
    return 0


def measure(library: Library, name: str, depths: Sequence[int], rounds: int, threads: int) -> str:
    """The table of the model `name`."""
    depths, load = sorted(depths), os.getloadavg()[0]
    with (
        closing(Model(library, find_gguf(name), 0)) as model,
        closing(Context(model, streams=2, context_tokens=depths[-1] + TILE, threads=threads)) as context,
    ):
        shown = list(rows(model, context, depths, rounds))
        about = f"{model.description}, `{backend_file()}` of llama.cpp {library.build}"
    return "\n".join(
        [
            (
                f"{name}: {about}, threads: {threads}, {rounds} rounds, load average {load:.1f} to "
                f"{os.getloadavg()[0]:.1f}."
            ),
            "",
            "| tokens before | tokens | as it is, ms of CPU | by the rule, ms of CPU | times as fast |",
            "|---:|---:|---:|---:|---:|",
            *shown,
        ]
    )


def rows(model: Model, context: Context, depths: Sequence[int], rounds: int) -> Iterator[str]:
    """Medians of `rounds`, of passes that are read at their last token."""
    tokens: Tokens = np.resize(model.tokenize(_TEXT, parse_special=False), depths[-1] + TILE)
    rule = choose_tiles(context, model, tokens, reads_head=False)
    plain, ruled = (
        Stream(context, index, can_cut=True, tiles=tiles) for index, tiles in ((0, None), (1, rule))
    )
    for depth in depths:
        for stream in (plain, ruled):
            stream.clear()
            complete(stream.extend(tokens[:depth]), context.run)
        taken: dict[int, list[tuple[float, float]]] = {count: [] for count in LENGTHS}
        for _ in range(rounds):
            for count, pairs in taken.items():
                suffix = tokens[depth : depth + count]
                pairs.append((seconds(plain, suffix), seconds(ruled, suffix)))
        for count, pairs in taken.items():
            before, after = (median(values) * 1e3 for values in zip(*pairs, strict=True))
            padded = "padded" if rule and rule.padding(depth, count) else "same"
            yield f"| {depth} | {count} | {before:.0f} | {after:.0f} ({padded}) | {before / after:.2f} |"


def seconds(stream: Stream, suffix: Tokens) -> float:
    """CPU time of one pass, taken back afterwards."""
    mark = stream.mark()
    began = time.process_time()
    complete(stream.extend(suffix, 1), stream.context.run)
    taken = time.process_time() - began
    stream.rewind(mark)
    return taken


if __name__ == "__main__":
    sys.exit(main())
