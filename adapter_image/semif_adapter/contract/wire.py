"""The wire: what a caller may send to `POST /invocations` and what comes back, defined once for both sides.

The adapter parses with these types, the client builds and reads with them. Unknown fields are refused
everywhere, so that a misspelt key is an error and not a default.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, StringConstraints

from semif_adapter.contract.described import DescribedModel

MAX_OPTIONS = 255
"""Most options of one question: the limit of the System One API, which both forms share."""
MAX_ROTATED_OPTIONS = 26
"""Most options whose rotations are scored: their prompts grow with the square of their number."""
MAX_BODY_BYTES = 6_291_456
"""Largest body of InvokeEndpoint (botocore's service model of sagemaker-runtime), so the most that an adapter
can be set to take."""
MAX_DECISIONS = 1024
"""Most decisions of one request that an adapter can be set to take."""

NOT_BLANK = r"\S"
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=NOT_BLANK)]
NonEmptyText = Annotated[str, StringConstraints(min_length=1)]
Words = Annotated[str, StringConstraints(min_length=1, pattern=NOT_BLANK)]
State = (
    NonEmptyText
    | Annotated[dict[str, JsonValue], Field(min_length=1)]
    | Annotated[list[JsonValue], Field(min_length=1)]
)
"""What a decision is about; nothing cannot be judged."""
Readout = Literal["letters", "text", "head"]
Layout = Literal["schema-first", "state-first"]
TemplateName = Literal["chat", "plain", "direct-options-v1"]
"""What stands around the words asked: the model's own chat template, our plain one, or SemIf's published
prompt in the model's chat template."""
Mode = Literal["invariant", "joined", "batched"]
"""What a decision's numbers may depend on beside itself: nothing; the other decisions of its request; all
that is computed at the time."""
ReplyStyle = Literal["semif", "sample"]
"""Whose names the reply to our own forms has: ours, or those of AWS's sample."""
QuestionKind = Literal["choice", "noul", "score"]
"""What System One asks: one of several options, whether something is so, or a level of a scale."""


class WireModel(DescribedModel):
    """Base of every wire type: immutable, nothing coerced, nothing unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Option(WireModel):
    """One allowed answer. Without a description the id itself is shown to the model."""

    id: Identifier
    description: Words | None = None


class Decision(WireModel):
    """One question about one state, and the options to choose from, in the caller's order."""

    id: Identifier
    state: State
    question: Words
    options: Annotated[tuple[Option, ...], Field(min_length=2, max_length=MAX_OPTIONS)]


class ModelInfo(WireModel):
    """What really answered: enough to reproduce the numbers."""

    name: str
    file: str
    sha256: str
    revision: str | None
    quantization: str
    llama_cpp_build: str
    backend: str
    devices: tuple[str, ...]
    gpu_layers: int
    context_tokens: int
    threads: int
    mode: Mode
    """Whether the engine keeps each decision's numbers apart from the others (invariant), computes those of
    one request together and apart from other requests (joined), or all that wait together (batched)."""
    invariant: bool
    """Whether the start-up self-test found that the mode keeps its promise: the logits of the same decision
    (joined: of the same request) bit-identical whatever else the engine holds; never in batched mode."""


class ResultTiming(WireModel):
    """Seconds spent on this decision alone; the work it shares with others is in `SharedTiming`."""

    suffix_forward_seconds: float
    total_seconds: float
    rotations: int = 1
    """How many orders of the options were scored and averaged."""


class SharedTiming(WireModel):
    """How the work of one request was shared among its decisions. Tokens are counts, times are seconds."""

    batch_size: int
    prefix_tokens: int
    """Tokens of the prefixes that its decisions share."""
    prefix_cached_tokens: int = 0
    """How many of `prefix_tokens` earlier requests had left computed."""
    prefill_seconds: float
    suffix_forward_seconds: float
    total_seconds: float


class AppliedCalibration(WireModel):
    """The temperature that divided the option logits, and the SHA-256 of the calibration file it is from."""

    sha256: str
    temperature: float


class Result(WireModel):
    """The answer to one decision. `option_ids`, `probabilities` and `option_logits` are in request order."""

    id: str
    option_ids: tuple[str, ...]
    probabilities: tuple[float, ...]
    option_logits: tuple[float, ...]
    """What the softmax takes, before any calibration: raw logits (letters), log-probability minus its
    empty-state prior (text), or log-probability at the model's own temperature (head)."""
    allowed_token_mass: float | None
    """Share of the full-vocabulary probability on the answer letters, 0 to 1; None where none are read."""
    input_tokens: int
    """Prompt tokens of this decision in all its rotations, cached ones included."""
    cached_tokens: int
    """How many of `input_tokens` were not computed for this decision, because an earlier request, another
    decision of this one or another rotation had left the same prefix behind."""
    prompt_version: str
    prompt_sha256: str
    """Over the UTF-8 of the rendered prompt, the one with the options in the order received."""
    readout: Readout
    calibration: AppliedCalibration | None = None
    """None where the model has no calibration, or none for this prompt: the temperature is then 1."""
    timing: ResultTiming
    model: ModelInfo
    answer_token_ids: Annotated[tuple[int, ...] | None, Field(exclude=True)] = None
    """Tokens of the answer letters; not of the wire, but of the sample's replies."""
    full_vocab_argmax_id: Annotated[int | None, Field(exclude=True)] = None
    """The most probable of all tokens; not of the wire, but of the sample's replies."""


class Parameters(WireModel):
    """How to score. `rotate` asks every question once for each rotation of its options and averages.

    It takes away what a model prefers for its place in the list, costs as many prompts as a question has
    options (MAX_ROTATED_OPTIONS at most), and changes nothing with the text readout, which lists none.
    """

    order_debiasing: Literal["none", "rotate"] = "none"
    reply: ReplyStyle | None = None
    """Whose names the reply has; None: as the adapter's setting `reply` says."""


class DecisionRequest(WireModel):
    """Body of a request with one decision.

    Its prompt layout is schema-first; state-first where it rotates, since the rotations then share the state.
    The adapter's setting `layout` overrules the form, here and below.
    """

    decision: Decision
    parameters: Parameters = Parameters()


class DecisionsRequest(WireModel):
    """Body of a request with several questions about one exact state; its prompt layout is state-first.

    How many decisions are allowed is the adapter's setting `max_decisions`.
    """

    decisions: Annotated[tuple[Decision, ...], Field(min_length=1)]
    parameters: Parameters = Parameters()


class DecisionResponse(WireModel):
    """Reply to `DecisionRequest`."""

    result: Result


class DecisionsResponse(WireModel):
    """Reply to `DecisionsRequest`, results in request order."""

    results: tuple[Result, ...]
    timing: SharedTiming


class Ready(WireModel):
    """Reply to `GET /ping` while requests are taken."""

    status: Literal["ready"] = "ready"


def _is_none(value: object) -> bool:
    return value is None


class ErrorDetail(WireModel):
    """What is wrong: a code for programs, a message for people, and where in the request it is."""

    code: str
    message: str
    path: Annotated[str | None, Field(exclude_if=_is_none)] = None


class ErrorBody(WireModel):
    """Body of every reply that is not 200. `retry_after_seconds` is there exactly when `retryable`."""

    error: ErrorDetail
    retryable: bool
    retry_after_seconds: Annotated[float | None, Field(exclude_if=_is_none)] = None
