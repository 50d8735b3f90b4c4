"""What padding short passes gains: `python -m bench.settings.tiles GGUF [--rounds N]`.

A Markdown table of CPU time, in which every pass is taken in turn, as it is and by the rule of `tiles.py`.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

import numpy as np

from semif.serve.local_adapter import library_folder
from semif_adapter.decoding.steps import complete
from semif_adapter.decoding.streams import Stream
from semif_adapter.decoding.tiles import TILE, choose_tiles
from semif_adapter.llama.context import Context
from semif_adapter.llama.libllama import open_library
from semif_adapter.llama.model import Model, Tokens

DEPTHS = (300, 800, 1800)
LENGTHS = (35, 42, 48, 56, 63)

_TEXT = "The parcel came on Tuesday, opened, and one of the two cups in it was broken. "


def main() -> None:
    """Measure, and print a row for each depth and length."""
    parser = argparse.ArgumentParser(prog="bench.settings.tiles", description=__doc__)
    parser.add_argument("gguf", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--depths", type=int, nargs="+", default=DEPTHS, metavar="TOKENS")
    arguments = parser.parse_args()
    depths = sorted(arguments.depths)
    library = open_library(library_folder().resolve())
    with (
        closing(Model(library, arguments.gguf, 0)) as model,
        closing(
            Context(model, streams=2, context_tokens=depths[-1] + TILE, threads=arguments.threads)
        ) as context,
    ):
        print(f"{model.description}, llama.cpp {library.build}, {arguments.threads} threads")
        print("| tokens before | tokens | as it is, ms of CPU | by the rule, ms of CPU | times as fast |")
        print("|---:|---:|---:|---:|---:|")
        for row in rows(model, context, depths, arguments.rounds):
            print(row, flush=True)


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
    main()
