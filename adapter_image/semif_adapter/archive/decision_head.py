"""A decision head: what a GGUF's own metadata says of how decisions are asked of it and read.

llama.cpp's converters write `<architecture>.decision.type`, temperatures beside it, and a chat template named
`systemone` (conversion/lev.py and tools/server/server-decision.cpp, read at 711ecf36 and 3cafcc83 on
2026-11-30). A model that was trained so and is asked in any other way answers nonsense with status 200.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the child processes of a start do without pydantic
    from semif_adapter.contract.wire import QuestionKind

Metadata = Callable[[str], str | None]
"""A GGUF's scalar under a key, as llama.cpp puts it into text (`true`, `0.000001`); None for none."""

ENCODER_HEADS = frozenset(("laya",))
"""Those of encoders, which answer nothing without."""
SERVED = frozenset(("kev", "laya", "lev", "nimble", "openjev", "pplx-decider"))
"""The values of `decision.type` that are asked as they want to be."""

IN_LIBRARY = frozenset(("kev", "laya"))
"""Those whose head is a part of llama.cpp's graph; the others need nothing of a build."""
FIRST_BUILD = 11361
"""The first llama.cpp build with such heads (its pull request 29818, merged on 2026-10-02)."""
FIRST_RELEASE = f"v0.6.0 (b{FIRST_BUILD})"
_FIRST_VERSION = (0, 6, 0)

_SERVED_BY = {
    **dict.fromkeys(
        ("clef", "lfm2-d1", "lfm2-d1-omni"),
        f"llama-server serves it (POST /v1/systemone, llama.cpp {FIRST_RELEASE} or newer)",
    ),
    "strands": "Strands Decider's own container serves it",
}
_KINDS = ("choice", "score", "noul")
_BUCKETS = ("", ".2", ".3_5", ".6_10", ".11", ".small", ".mid", ".large")
"""Of numbers of options; the last three are lev's."""
_BUCKET_ENDS = ((2, "2"), (5, "3_5"), (10, "6_10"), (math.inf, "11"))
_LEV_BUCKET_ENDS = ((8, "small"), (26, "mid"), (math.inf, "large"))
TEMPLATE = "systemone"
"""The name of the chat template that asks a decision."""


@dataclass(frozen=True)
class DecisionHead:
    """What a model's metadata says of its head."""

    kind: str
    """`decision.type`, one of SERVED."""
    temperatures: dict[str, float]
    """By kind of question, and by kind and number of options: `choice`, `choice.3_5`."""

    max_head_tokens: int
    """Tokens of question and options that an encoder was trained with; 0 for others."""

    def temperature(self, kind: "QuestionKind", options: int) -> float:
        """What divides the scores of a question of this kind with so many options; 1 where none is told."""
        ends = _LEV_BUCKET_ENDS if self.kind == "lev" else _BUCKET_ENDS
        bucket = next(name for end, name in ends if options <= end)
        return self.temperatures.get(f"{kind}.{bucket}", self.temperatures.get(kind, 1.0))


def too_old(kind: str, build: str) -> str:
    """What to say where the library called `build` knows no head of this kind."""
    return (
        f"the library knows no decision head of the type {kind!r}: llama.cpp {FIRST_RELEASE} or newer does, "
        f"this is {build}; use a newer base image (semif image pin)"
    )


def knows_heads(build: str | None) -> bool:
    """Whether the llama.cpp of this name, a build (`b11361`) or a release (`v0.6.0`), has the heads of
    IN_LIBRARY; None, a library that names none, is not known to.
    """
    if build is None:
        return False
    numbers = tuple(map(int, build[1:].split(".")))
    return (*numbers, 0, 0) >= ((FIRST_BUILD,) if build[0] == "b" else _FIRST_VERSION)


def read_head(metadata: Metadata) -> DecisionHead | None:
    """The head of a model with this metadata, in which `head_problems` found nothing; None for none."""
    prefix = f"{metadata('general.architecture') or ''}.decision"
    kind = metadata(f"{prefix}.type")
    if kind is None:
        return None
    start = len(f"{prefix}.temperature.")
    temperatures = {key[start:]: float(text) for key, text in _temperatures(metadata, prefix)}
    return DecisionHead(kind, temperatures, int(metadata(f"{prefix}.max_head_tokens") or 0))


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
    if kind in ENCODER_HEADS and not (metadata(f"{prefix}.max_head_tokens") or "").strip("0").isdecimal():
        yield f"its {prefix}.type is {kind!r} and it has no {prefix}.max_head_tokens above 0"
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
