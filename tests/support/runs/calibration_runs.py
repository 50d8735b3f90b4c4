"""Synthetic run files whose answers are right as often as a known temperature says."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from semif.evaluation.runs.run_file import Record
from semif_adapter.contract.probabilities import softmax
from semif_adapter.contract.wire import DecisionResponse, ModelInfo, Result, ResultTiming
from tests.support.models.model_info import model_info
from tests.support.runs.synthetic_runs import record

MODEL = model_info(name="synthetic", sha256="a" * 64)
PROMPT = "chat-text-schema-first-2"


def drawn(
    tasks: int,
    temperature: float,
    *,
    seed: int = 0,
    prompt_version: str = PROMPT,
    model: ModelInfo = MODEL,
    **changes: Any,
) -> Iterator[Record]:
    """Answered tasks whose right option was drawn from the softmax of the logits through `temperature`."""
    chance = np.random.default_rng(seed)
    for place in range(tasks):
        count = int(chance.integers(2, 6))
        logits = chance.normal(0, 3, count)
        right = int(chance.choice(count, p=softmax(logits, temperature)))
        name = f"{changes.get('kind', 'choice')}-{place}"
        yield labelled(name, logits.tolist(), right, prompt_version=prompt_version, model=model, **changes)


def labelled(
    task: str,
    logits: list[float],
    right: int,
    *,
    prompt_version: str = PROMPT,
    model: ModelInfo = MODEL,
    **changes: Any,
) -> Record:
    """A task asked of an adapter, which gave these logits; the option at `right` was expected."""
    ids = tuple("abcdefgh"[: len(logits)])
    probabilities = tuple(softmax(np.array(logits)).tolist())
    result = Result(
        id=task,
        option_ids=ids,
        probabilities=probabilities,
        option_logits=tuple(logits),
        allowed_token_mass=None,
        input_tokens=10,
        cached_tokens=0,
        prompt_version=prompt_version,
        prompt_sha256="0" * 64,
        readout="letters" if "letters" in prompt_version else "text",
        timing=ResultTiming(suffix_forward_seconds=0.01, total_seconds=0.01),
        model=model,
    )
    given = {
        "option_ids": ids,
        "expected": ids[right],
        "choice": ids[int(np.argmax(probabilities))],
        "probabilities": probabilities,
        "option_logits": tuple(logits),
        "raw": json.loads(DecisionResponse(result=result).model_dump_json()),
    }
    return record(task, **given | changes)
