"""The replies of AWS's sample, for programs that read its fields; its requests have our own forms.

Its names were read on 2026-11-30 in TheoLeeCJ/SemIf (`semif_phase1/llamacpp_backend.py`) and in the sample
(`server.py` of 03-features/semif-decision-model in aws-samples/sagemaker-genai-hosting-examples).
"""

from collections.abc import Sequence
from typing import Literal

from semif_adapter.contract.errors import AdapterError, OverloadedError, Refusal
from semif_adapter.contract.wire import ModelInfo, Result, SharedTiming, WireModel
from semif_adapter.forms.decisions import DecisionForm, DecisionsForm


class SampleGguf(WireModel):
    """The file that answered."""

    file: str
    sha256: str


class SampleModel(WireModel):
    """What answered."""

    source: str
    revision: str | None
    backend: Literal["llamacpp"] = "llamacpp"
    gguf: SampleGguf
    threads: int
    context_tokens: int


class SampleResult(WireModel):
    """The answer to one decision. The two token ids are null where options were read by their words."""

    id: str
    option_ids: tuple[str, ...]
    probabilities: tuple[float, ...]
    option_logits: tuple[float, ...]
    answer_token_ids: tuple[int, ...] | None
    input_tokens: int
    allowed_token_mass: float | None
    full_vocab_argmax_id: int | None
    prompt_sha256: str
    prompt_version: str
    model: SampleModel
    readout: str
    forward_seconds: float
    total_seconds: float


class SampleResponse(WireModel):
    """Reply to one decision."""

    result: SampleResult


class SampleResponses(WireModel):
    """Reply to several decisions about one state."""

    results: tuple[SampleResult, ...]
    timing: SharedTiming


class SampleErrorBody(WireModel):
    """Body of every refusal."""

    error: str


class SampleOverloadBody(SampleErrorBody):
    """Body of a refusal that may pass later."""

    retryable: Literal[True] = True
    retry_after_seconds: float


class SampleDecisionForm(DecisionForm):
    """One decision, answered as the sample does."""

    def to_response(self, results: Sequence[Result], timing: SharedTiming) -> WireModel:
        """The one result; its forward pass is all of the request's."""
        forward = timing.prefill_seconds + timing.suffix_forward_seconds
        return SampleResponse(result=_result(results[0], forward))

    @classmethod
    def refusal(cls, error: AdapterError) -> Refusal:
        """The error as one string."""
        return _refusal(super().refusal(error), error)


class SampleDecisionsForm(DecisionsForm):
    """Several decisions about one state, answered as the sample does."""

    def to_response(self, results: Sequence[Result], timing: SharedTiming) -> WireModel:
        """The results in request order, and what they share."""
        answered = tuple(_result(result, result.timing.suffix_forward_seconds) for result in results)
        return SampleResponses(results=answered, timing=timing)

    @classmethod
    def refusal(cls, error: AdapterError) -> Refusal:
        """The error as one string."""
        return _refusal(super().refusal(error), error)


def _refusal(ours: Refusal, error: AdapterError) -> Refusal:
    if isinstance(error, OverloadedError):
        body = SampleOverloadBody(error=error.message, retry_after_seconds=error.retry_after_seconds)
        return ours._replace(body=body)
    return ours._replace(body=SampleErrorBody(error=error.message))


def _result(result: Result, forward_seconds: float) -> SampleResult:
    return SampleResult(
        id=result.id,
        option_ids=result.option_ids,
        probabilities=result.probabilities,
        option_logits=result.option_logits,
        answer_token_ids=result.answer_token_ids,
        input_tokens=result.input_tokens,
        allowed_token_mass=result.allowed_token_mass,
        full_vocab_argmax_id=result.full_vocab_argmax_id,
        prompt_sha256=result.prompt_sha256,
        prompt_version=result.prompt_version,
        model=_model(result.model),
        readout=result.readout,
        forward_seconds=forward_seconds,
        total_seconds=result.timing.total_seconds,
    )


def _model(model: ModelInfo) -> SampleModel:
    return SampleModel(
        source=model.name,
        revision=model.revision,
        gguf=SampleGguf(file=model.file, sha256=model.sha256),
        threads=model.threads,
        context_tokens=model.context_tokens,
    )
