"""`python -m bench.engine.decision_head`: Kev's head in the adapter beside llama-server's `/v1/systemone`.

Both get the same requests, each in a process of its own on one thread: a state of its own with several
questions, sent twice, the second time with other questions, as an application asks that looks again. What is
compared is the processor's time, which a busy machine disturbs least. The model has Kev's architecture and
random weights in few and narrow layers: its ratios are of work done, not of a published model's speed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.models.random_gguf import byte_vocabulary, write_model
from bench.models.tiny_heads import KEV_TEMPLATE, KEV_TOKENS, head_metadata
from bench.models.tiny_models import SHAPES, Plain
from semif.serve.local_adapter import library_folder
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.systemone.form import SystemOneForm

LAYERS, HEAD_WIDTH, CONTEXT = 8, 64, 4096
REQUESTS = 4
SHAPES_ASKED = ((200, 1), (200, 8), (1500, 1), (1500, 8))
"""Bytes of the state, which are its tokens, and questions about it."""
REPLY = "reply: "

Document = dict[str, Any]
Answer = Callable[[Document], Document]


def main() -> int:
    """Measure, and print the table."""
    if len(sys.argv) > 2:
        _serve(sys.argv[1], Path(sys.argv[2]))
        return 0
    argparse.ArgumentParser(prog="bench.engine.decision_head", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        gguf = Path(folder) / "kev.gguf"
        _write(gguf)
        told = {name: list(_measure(name, gguf)) for name in ("adapter", "llama-server")}
    print("| state, questions | adapter | llama-server | ratio | again: adapter | llama-server | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for shape, ours, theirs in zip(SHAPES_ASKED, told["adapter"], told["llama-server"], strict=True):
        cells = [f"{shape[0]} tokens, {shape[1]}"]
        for one, other in zip(ours, theirs, strict=True):
            cells += [f"{one:.1f}", f"{other:.1f}", f"{other / one:.2f}"]
        print(f"| {' | '.join(cells)} |")
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return 0


def _write(path: Path) -> None:
    random = np.random.default_rng(11)
    shape = replace(SHAPES["qwen35"], layers=LAYERS)
    width = shape.width
    write_model(
        path,
        shape,
        byte_vocabulary().with_control(*KEV_TOKENS),
        Plain(),
        name="kev-shape",
        template=None,
        metadata=(
            *head_metadata("qwen35", "kev", KEV_TEMPLATE),
            ("qwen35.embedding_length_out", 2 * HEAD_WIDTH),
        ),
        head={
            "cls.output.weight": random.standard_normal((2 * HEAD_WIDTH, width), dtype=np.float32) * 0.2,
            "cls.output.bias": random.standard_normal(2 * HEAD_WIDTH, dtype=np.float32) * 0.1,
        },
    )


def _request(state: str, first: int, count: int) -> Document:
    criteria = {name: f"option {name}" for name in ("billing", "technical", "shipping", "other")}
    asked = {number: f"Question {number}: which team?" for number in range(first, first + count)}
    questions = {
        f"q{number}": {"type": "choice", "instructions": text, "criteria": criteria}
        for number, text in asked.items()
    }
    return {"model": "jev-latest", "state": state, "questions": questions}


def _measure(name: str, gguf: Path) -> Iterator[tuple[float, float]]:
    """CPU milliseconds a decision for each shape: of a new state, and of one that was asked about before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.engine.decision_head", name, str(gguf)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        ask = _asker(process)
        ask(_request("warm up", 0, 2))
        for length, count in SHAPES_ASKED:
            new = again = 0.0
            for number in range(REQUESTS):
                state = f"{name} {length} {count} {number} ".ljust(length, "x")
                new += ask(_request(state, 0, count))
                again += ask(_request(state, 100, count))
            yield 1000 * new / (REQUESTS * count), 1000 * again / (REQUESTS * count)
        process.stdin.close()


def _asker(process: "subprocess.Popen[str]") -> Callable[[Document], float]:
    """Sends a request; the processor's seconds that its process took for the answer."""

    def ask(request: Document) -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith(REPLY):
                told: Document = json.loads(line.removeprefix(REPLY))
                return float(told["seconds"])
        raise RuntimeError("the process ended")

    return ask


def _serve(name: str, gguf: Path) -> None:
    """Answer requests, a line each, until the input ends."""
    answer = {"adapter": _adapter, "llama-server": _llama_server}[name](gguf)
    for line in sys.stdin:
        began = time.process_time()
        reply = answer(json.loads(line))
        seconds = time.process_time() - began
        if "answers" not in reply:
            raise RuntimeError(f"{name} refused: {reply}")
        print(REPLY + json.dumps({"seconds": seconds}), flush=True)


def _adapter(gguf: Path) -> Answer:
    settings = Settings(gguf=gguf, library_dir=library_folder(), threads=1, context_tokens=CONTEXT)
    engine = Engine.load(settings)

    def answer(request: Document) -> Document:
        form = SystemOneForm.parse(request, settings)
        return form.to_response(*engine.score(form.questions, form.layout)).model_dump(mode="json")

    return answer


def _llama_server(gguf: Path) -> Answer:
    # Here alone: it takes over the library's log, which the adapter hears too.
    import xllamacpp  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415 - and has no types

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.n_ctx = params.n_batch = params.n_ubatch = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.verbosity = -1
    server = xllamacpp.Server(params)
    answer: Answer = server.handle_systemone
    return answer


if __name__ == "__main__":
    sys.exit(main())
