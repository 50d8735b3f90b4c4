"""A decision head: what a GGUF's own metadata says of how decisions are asked of it and read.

llama.cpp's converters write `<architecture>.decision.type`, temperatures beside it, and a chat template named
`systemone` (conversion/lev.py and tools/server/server-decision.cpp, read at 711ecf36 and 3cafcc83 on
2026-11-30). A model that was trained so and is asked in any other way answers nonsense with status 200.
"""

import math
from collections.abc import Callable, Iterator

Metadata = Callable[[str], str | None]
"""A GGUF's scalar under a key, as llama.cpp puts it into text (`true`, `0.000001`); None for none."""

SERVED: frozenset[str] = frozenset()
"""The values of `decision.type` that are asked as they want to be."""

_SERVED_BY = {
    **dict.fromkeys(
        ("openjev", "lev", "nimble", "pplx-decider", "kev", "laya", "clef", "lfm2-d1", "lfm2-d1-omni"),
        "llama-server serves it (POST /v1/systemone, llama.cpp v0.6.0 or newer)",
    ),
    "strands": "Strands Decider's own container serves it",
}
_KINDS = ("choice", "score", "noul")
_BUCKETS = ("", ".2", ".3_5", ".6_10", ".11", ".small", ".mid", ".large")
"""Of numbers of options; the last three are lev's."""
TEMPLATE = "systemone"


def head_problems(metadata: Metadata) -> Iterator[str]:
    """Why the head that `metadata` tells of cannot be asked: `its … is …`, one by one; nothing for none."""
    prefix = f"{metadata('general.architecture') or ''}.decision"
    kind = metadata(f"{prefix}.type")
    has_template = metadata(f"tokenizer.chat_template.{TEMPLATE}") is not None
    temperatures = dict(_temperatures(metadata, prefix))
    if kind is None:
        told = f"a chat template named {TEMPLATE}" if has_template else next(iter(temperatures), None)
        if told is not None:
            yield f"it has {told} and no {prefix}.type, which says how the answer is read"
        return
    if kind not in SERVED:
        served = ", ".join(sorted(SERVED)) or "none"
        by = _SERVED_BY.get(kind, "what serves it is told where it was published")
        yield f"its {prefix}.type is {kind!r}, served here are {served}; {by}"
        return
    if not has_template:
        yield f"its {prefix}.type is {kind!r} and it has no chat template named {TEMPLATE}"
    for key, text in temperatures.items():
        if not 0 < _number(text) < math.inf:
            yield f"its {key} is {text}, allowed are finite numbers above 0"


def _temperatures(metadata: Metadata, prefix: str) -> Iterator[tuple[str, str]]:
    for kind in _KINDS:
        for bucket in _BUCKETS:
            key = f"{prefix}.temperature.{kind}{bucket}"
            if (text := metadata(key)) is not None:
                yield key, text


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
