"""What one build of llama.cpp says and answers: `python -m bench.llama_builds.probe FOLDER READOUT:GGUF...`

A process of its own for each build, since two libraries with the same names cannot live in one. Prints JSON.
"""

import ctypes
import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Decision, DecisionRequest, DecisionsRequest, Option
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.decisions import to_questions
from semif_adapter.llama.libllama import Library, open_library

BLOB = 512
TICKET = "My card was charged twice for the same order, and the parcel has not come either. "


def main(folder: Path, models: list[str]) -> None:
    """Print what was found as one JSON object."""
    library = open_library(folder)
    layouts = {"context": asdict(library.context_layout), "model": asdict(library.model_layout)}
    for name, layout in layouts.items():
        layout["bytes"] = _struct_bytes(library, f"llama_{name}_default_params")
    answers = [_answers(folder, *model.split(":", 1)) for model in models]
    print(json.dumps({"build": library.build, "layouts": layouts, "models": answers}))


def _answers(folder: Path, readout: str, gguf: str) -> dict[str, Any]:
    """What the engine says of itself and the logits of a few decisions, by prompt."""
    settings = Settings.model_validate(
        {
            "gguf": gguf,
            "library_dir": folder,
            "readout": readout,
            "threads": 1,
            "context_tokens": 1024,
            "streams": 2,
        }
    )
    engine = Engine.load(settings)
    logits: dict[str, tuple[float, ...]] = {}
    for request in _requests():
        for result in engine.score(*to_questions(request))[0]:
            logits[f"{result.id} {result.prompt_sha256}"] = result.option_logits
    engine.close()
    return {"info": engine.info.model_dump(), "logits": logits}


def _requests() -> list[DecisionRequest | DecisionsRequest]:
    teams = tuple(map(_option, ("billing", "shipping", "technical")))
    answers = tuple(map(_option, ("yes", "no")))
    single = [
        Decision(id=f"ticket-{length}", state=TICKET * length, question="Which team?", options=teams)
        for length in (1, 2)
    ]
    group = [
        Decision(id=f"group-{index}", state=TICKET, question=question, options=answers)
        for index, question in enumerate(("Was money taken?", "Did the parcel come?"))
    ]
    return [*(DecisionRequest(decision=one) for one in single), DecisionsRequest(decisions=tuple(group))]


def _option(name: str) -> Option:
    return Option(id=name)


def _struct_bytes(library: Library, function: str) -> int | None:
    """The size of the struct that `function` returns, its last padding included; None where unknown.

    On x86-64 such a struct comes through a pointer in the first argument's place (System V ABI, 3.2.3), so
    the bytes that two calls write over different fillings can be told from those they leave.
    """
    if platform.machine() != "x86_64":
        return None
    address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
    assert address is not None
    fill = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
    seen = []
    for filling in (0x00, 0xFF):
        blob = (ctypes.c_uint8 * BLOB)(*([filling] * BLOB))
        fill(ctypes.addressof(blob))
        seen.append(bytes(blob))
    written = max(index for index in range(BLOB) if seen[0][index] == seen[1][index]) + 1
    return -(-written // 8) * 8


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
