"""The process that measures one setting: `python -m bench.settings.child FOLDER GGUF TOKENS SETTING`.

It prints how long the start took, then for each line on its standard input one with what the prompts took.
The fields that the adapter does not write are found by their defaults, as the adapter finds its own.
"""

import json
import os
import struct
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from bench.children import say
from bench.engine.measuring.cpu_time import cpu_seconds
from bench.settings.variants import Setting
from semif_adapter.decoding.steps import decode
from semif_adapter.llama.context import Context
from semif_adapter.llama.libllama import Library, open_library
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.llama.struct_layouts import ParamsBlob
from semif_adapter.machine.cpu import usable_cpus

SUFFIX_TOKENS, SUFFIXES = 32, 4
RESIDENT_TOKENS = 512
"""Of the other prompt, at most."""
STREAMS = 2

_TEXT = "The parcel came on Tuesday, opened, and one of the two cups in it was broken. "


def main(folder: Path, gguf: Path, count: int, setting: Setting) -> None:
    """Load, then measure prompts of `count` tokens as often as standard input has lines."""
    if setting.spin_count is not None:
        os.environ["GOMP_SPINCOUNT"] = str(setting.spin_count)
    library = open_library(folder)
    change(library, setting)
    began = time.perf_counter()
    with closing(Model(library, gguf, 0)) as model, closing(make_context(model, count, setting)) as context:
        loaded = time.perf_counter()
        tokens = np.resize(model.tokenize(_TEXT * 20, parse_special=False), count)
        # In a stream of its own: a prompt that is resident while the others are computed.
        decode(context, STREAMS - 1, 0, tokens[:SUFFIX_TOKENS], 1)
        first = time.perf_counter()
        decode(context, STREAMS - 1, SUFFIX_TOKENS, tokens[SUFFIX_TOKENS:RESIDENT_TOKENS])
        say({"load": loaded - began, "first": first - loaded})
        for _ in sys.stdin:
            prompt = timed(lambda: compute_prompt(context, tokens))
            suffixes = timed(lambda: compute_suffixes(context, tokens, cuts=not model.has_recurrent_layers))
            say({"prompt": prompt, "suffixes": suffixes, "own_bytes": own_bytes()})


def make_context(model: Model, count: int, setting: Setting) -> Context:
    """The adapter's context, but for `setting`, with room for `count` tokens in each stream."""
    return Context(
        model,
        streams=STREAMS,
        context_tokens=count + SUFFIX_TOKENS,
        threads=setting.threads or usable_cpus(),
        sequences=STREAMS if setting.is_unified else None,
        batch_tokens=setting.batch_tokens,
    )


def compute_prompt(context: Context, tokens: Tokens) -> None:
    """A prompt from scratch."""
    context.cut(0, 0)
    decode(context, 0, 0, tokens)


def compute_suffixes(context: Context, tokens: Tokens, *, cuts: bool) -> None:
    """Short continuations of the prompt, each taken back as the adapter does."""
    state = None if cuts else context.save(0)
    for _ in range(SUFFIXES):
        decode(context, 0, len(tokens), tokens[:SUFFIX_TOKENS], 1)
        if state is None:
            context.cut(0, len(tokens))
        else:
            context.restore(0, state)


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds of wall and of CPU."""
    cpu, wall = cpu_seconds(os.getpid()), time.perf_counter()
    work()
    return time.perf_counter() - wall, cpu_seconds(os.getpid()) - cpu


def own_bytes() -> int:
    """Resident memory that is the process's own; mapped weights do not count."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def change(library: Library, setting: Setting) -> None:
    """Let `library` make models and contexts with `setting`."""
    make_model, init = library.llama_model_load_from_file, library.llama_init_from_model

    def load(path: bytes, params: ParamsBlob) -> int | None:
        if not setting.is_mapped:
            params.write(find_load_mode(bytes(params.raw)), "<i", 0)
        model: int | None = make_model(path, params)
        return model

    def start(model: int, params: ParamsBlob) -> int | None:
        raw = bytes(params.raw)
        if setting.flash is not None:
            params.write(find_flash(raw), "<i", setting.flash)
        if setting.kv_type is not None:
            params.write(find_kv_types(raw), "<i", setting.kv_type)
            params.write(find_kv_types(raw) + 4, "<i", setting.kv_type)
        context: int | None = init(model, params)
        return context

    # Its functions are attributes that it gives itself when it is opened.
    vars(library).update(llama_model_load_from_file=load, llama_init_from_model=start)


def find_flash(raw: bytes) -> int:
    """`flash_attn_type`, the last of four enums that are -1 (automatic) by default."""
    return find(raw, struct.pack("<4i", -1, -1, -1, -1), "flash_attn_type") + 12


def find_kv_types(raw: bytes) -> int:
    """`type_k`, `type_v` after it: both 1 (f16) by default, between null pointers."""
    return find(raw, struct.pack("<2q2i2q", 0, 0, 1, 1, 0, 0), "type_k and type_v") + 16


def find_load_mode(raw: bytes) -> int:
    """`load_mode` of `llama_model_params`: -1 (automatic, mapped on CPUs) behind `split_mode`, 1."""
    return find(raw[:32], struct.pack("<2i", 1, -1), "load_mode") + 4


def find(raw: bytes, pattern: bytes, name: str) -> int:
    """Where `pattern` is, once, at a multiple of four; RuntimeError where this build has it otherwise."""
    places = [place for place in range(0, 160, 4) if raw[place : place + len(pattern)] == pattern]
    if len(places) != 1:
        raise RuntimeError(f"{name} was found {len(places)} times in this build's defaults, not once")
    return places[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), Setting(**json.loads(sys.argv[4])))
