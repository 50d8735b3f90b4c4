"""What a fake client answers, and the reply of the wire that says it."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

from pydantic import BaseModel

from semif.client.errors import DecisionError
from semif.client.values.options import option_id
from semif.errors import SemifError, shown
from semif_adapter.contract.wire import (
    Decision,
    DecisionRequest,
    DecisionResponse,
    DecisionsRequest,
    DecisionsResponse,
    ModelInfo,
    Result,
    ResultTiming,
    SharedTiming,
)

Said: TypeAlias = "str | bool | Enum | Mapping[Any, float] | DecisionError"
"""An option, which gets nearly all of the probability; probabilities by option; or a failure to raise."""
Answers: TypeAlias = "Said | Mapping[str, Said] | Callable[[Decision], Said]"
"""One answer to everything, answers by the text of the question, or a function of the decision."""

SURE = 0.99
"""Probability of an option that is named without one."""
_MODEL = ModelInfo(
    name="fake",
    file="fake.gguf",
    sha256="0" * 64,
    revision=None,
    quantization="none",
    llama_cpp_build="none",
    backend="none",
    devices=(),
    gpu_layers=0,
    context_tokens=0,
    threads=0,
    mode="invariant",
    invariant=True,
)


def reply_to(body: bytes, answers: Answers) -> bytes:
    """The adapter's reply to a request of the decisions' form.

    Raises the DecisionError that is an answer, SemifError for an answer that is none.
    """
    document = json.loads(body)
    if "decision" in document:
        request = DecisionRequest.model_validate_json(body)
        reply: BaseModel = DecisionResponse(result=_result(request.decision, answers))
    elif "decisions" in document:
        several = DecisionsRequest.model_validate_json(body).decisions
        reply = DecisionsResponse(
            results=tuple(_result(decision, answers) for decision in several),
            timing=SharedTiming(
                batch_size=len(several),
                prefix_tokens=0,
                prefill_seconds=0.0,
                suffix_forward_seconds=0.0,
                total_seconds=0.0,
            ),
        )
    else:
        raise SemifError("a fake client answers decisions; ask other forms of request of a recording")
    return reply.model_dump_json().encode()


def _result(decision: Decision, answers: Answers) -> Result:
    ids = tuple(option.id for option in decision.options)
    probabilities = _probabilities(ids, _said(decision, answers))
    return Result(
        id=decision.id,
        option_ids=ids,
        probabilities=probabilities,
        option_logits=tuple(math.log(max(probability, 1e-9)) for probability in probabilities),
        allowed_token_mass=1.0,
        input_tokens=0,
        cached_tokens=0,
        prompt_version="fake",
        prompt_sha256=hashlib.sha256(decision.model_dump_json().encode()).hexdigest(),
        readout="letters",
        timing=ResultTiming(suffix_forward_seconds=0.0, total_seconds=0.0),
        model=_MODEL,
    )


def _said(decision: Decision, answers: Answers) -> Any:
    if callable(answers):
        return answers(decision)
    if isinstance(answers, Mapping) and not _are_probabilities(answers):
        if decision.question not in answers:
            raise SemifError(f"the fake client has no answer to {shown(decision.question)}; give it one")
        return answers[decision.question]
    return answers


def _are_probabilities(answers: Mapping[Any, Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in answers.values())


def _probabilities(ids: Sequence[str], said: Any) -> tuple[float, ...]:
    if isinstance(said, DecisionError):
        raise said
    if isinstance(said, Mapping):
        given = {option_id(option): float(number) for option, number in said.items()}
        if set(given) != set(ids) or not math.isclose(math.fsum(given.values()), 1, abs_tol=1e-6):
            raise SemifError(
                f"the fake client's probabilities are for {shown(list(given))}; they must be for all of "
                f"{shown(list(ids))}, and add up to 1"
            )
        return tuple(given[name] for name in ids)
    chosen = option_id(said)
    if chosen not in ids:
        raise SemifError(f"the fake client's answer {shown(chosen)} is none of {shown(list(ids))}")
    rest = (1 - SURE) / (len(ids) - 1)
    return tuple(SURE if name == chosen else rest for name in ids)
