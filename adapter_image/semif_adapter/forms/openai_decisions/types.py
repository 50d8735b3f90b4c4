"""The wire of `POST /v1/decisions`, as OpenAI's own clients send and read it. Our own fields begin with `x_`.

Read from the types of the PyPI package `openai` 3.57.0 (`client.decisions.create`) on 2026-11-30.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag

from semif_adapter.contract.wire import (
    MAX_OPTIONS,
    AppliedCalibration,
    NonEmptyText,
    Readout,
    SharedTiming,
    WireModel,
)

ROLES = ("user", "developer", "system", "assistant")
ITEM_TYPES = (
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
)
PART_TYPES = ("input_text", "input_json", "output_text", "refusal")
QUESTION_TYPES = ("predicate", "choice", "score")
STRING, SEQUENCE, BOOLEAN = "<string>", "<array>", "<boolean>"
"""Which member of a union a value is of; pydantic puts these into an error's location, where no key of a
document can be taken for them."""


def _shape_of(value: object) -> str | None:
    if isinstance(value, str):
        return STRING
    return SEQUENCE if isinstance(value, list | tuple) else None


def _scalar_of(value: object) -> str | None:
    return BOOLEAN if isinstance(value, bool) else STRING if isinstance(value, str) else None


def _type_of(value: Any) -> str | None:
    kind = value.get("type") if isinstance(value, Mapping) else getattr(value, "type", None)
    return f"<{kind}>" if isinstance(kind, str) else None


def _item_type_of(value: Any) -> str | None:
    """A message may leave its type out."""
    return "<message>" if isinstance(value, Mapping) and "type" not in value else _type_of(value)


class _InputModel(WireModel):
    """What the input is made of; further keys of OpenAI's (ids, statuses, cache breakpoints) are ignored."""

    model_config = ConfigDict(extra="ignore")


class OpenAIText(_InputModel):
    """Text: of a user or a tool, or what an assistant wrote."""

    type: Literal["input_text", "output_text"]
    text: str


class OpenAIJson(_InputModel):
    """Data, shown to the model as compact JSON."""

    type: Literal["input_json"]
    data: dict[str, JsonValue] | list[dict[str, JsonValue]]


class OpenAIRefusal(_InputModel):
    """What an assistant wrote when it declined."""

    type: Literal["refusal"]
    refusal: str


Part = Annotated[
    Annotated[OpenAIText, Tag("<input_text>")]
    | Annotated[OpenAIText, Tag("<output_text>")]
    | Annotated[OpenAIJson, Tag("<input_json>")]
    | Annotated[OpenAIRefusal, Tag("<refusal>")],
    Discriminator(_type_of),
]
Parts = Annotated[tuple[Part, ...], Field(strict=False)]  # JSON has no tuples: let arrays become them
Content = Annotated[
    Annotated[str, Tag(STRING)] | Annotated[Parts, Tag(SEQUENCE)],
    Discriminator(_shape_of),
]


class OpenAIMessage(_InputModel):
    """A turn of a conversation."""

    type: Literal["message"] = "message"
    role: Literal["user", "developer", "system", "assistant"]
    content: Content


class OpenAIFunctionCall(_InputModel):
    """A tool that the assistant called; `arguments` is JSON text."""

    type: Literal["function_call"]
    call_id: str
    name: str
    namespace: str | None = None
    arguments: str


class OpenAICustomToolCall(_InputModel):
    """A tool that the assistant called with free text."""

    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    namespace: str | None = None
    input: str


class OpenAIToolOutput(_InputModel):
    """What the call of that id, earlier in the input, gave back."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: str
    output: Content


Item = Annotated[
    Annotated[OpenAIMessage, Tag("<message>")]
    | Annotated[OpenAIFunctionCall, Tag("<function_call>")]
    | Annotated[OpenAIToolOutput, Tag("<function_call_output>")]
    | Annotated[OpenAICustomToolCall, Tag("<custom_tool_call>")]
    | Annotated[OpenAIToolOutput, Tag("<custom_tool_call_output>")],
    Discriminator(_item_type_of),
]
Items = Annotated[tuple[Item, ...], Field(strict=False, min_length=1)]
Instructions = Annotated[
    Annotated[NonEmptyText, Tag(STRING)]
    | Annotated[tuple[Part, ...], Field(strict=False, min_length=1), Tag(SEQUENCE)],
    Discriminator(_shape_of),
]
ChoiceValue = Annotated[
    Annotated[NonEmptyText, Tag(STRING)] | Annotated[bool, Tag(BOOLEAN)],
    Discriminator(_scalar_of),
]


class OpenAIPredicate(WireModel):
    """How likely is the statement true?"""

    type: Literal["predicate"]
    name: str | None = None
    instructions: Instructions


class OpenAIOption(WireModel):
    """One of the values to choose from; `"true"` and `true` are two of them."""

    value: ChoiceValue
    description: str | None = None


class OpenAIChoice(WireModel):
    """Which of the values, each there once, fits best?"""

    type: Literal["choice"]
    name: str | None = None
    instructions: Instructions
    choices: Annotated[tuple[OpenAIOption, ...], Field(strict=False, min_length=2, max_length=MAX_OPTIONS)]


class OpenAILevel(WireModel):
    """One level of a scale; its position is its value."""

    label: NonEmptyText
    description: str | None = None


class OpenAIScore(WireModel):
    """Which level of the scale fits best?"""

    type: Literal["score"]
    name: str | None = None
    instructions: Instructions
    levels: Annotated[tuple[OpenAILevel, ...], Field(strict=False, min_length=2, max_length=MAX_OPTIONS)]


Question = Annotated[
    Annotated[OpenAIPredicate, Tag("<predicate>")]
    | Annotated[OpenAIChoice, Tag("<choice>")]
    | Annotated[OpenAIScore, Tag("<score>")],
    Discriminator(_type_of),
]


class OpenAIDecisionInvocation(WireModel):
    """Body of `POST /invocations` in this form: the endpoint is the model, so `model` may be missing.

    How many questions are allowed is the adapter's setting `max_decisions`. The three last fields are taken
    and have no effect; unknown fields beside these are ignored.
    """

    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    input: Annotated[
        Annotated[NonEmptyText, Tag(STRING)] | Annotated[Items, Tag(SEQUENCE)],
        Discriminator(_shape_of),
    ]
    questions: Annotated[tuple[Question, ...], Field(strict=False, min_length=1)]
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, JsonValue] | None = None
    safety_identifier: str | None = None


class OpenAIDecisionRequest(OpenAIDecisionInvocation):
    """Body of `POST /v1/decisions`."""

    model: str


class _Answer(WireModel):
    """What every answer has: its question's name, and our own fields."""

    name: str | None
    x_readout: Readout
    x_allowed_token_mass: float | None
    x_calibration: AppliedCalibration | None


class OpenAIPredicateAnswer(_Answer):
    """How likely the statement is true."""

    type: Literal["predicate"] = "predicate"
    probability: float


class OpenAIValueProbability(WireModel):
    """A value as it was sent, and its probability."""

    value: str | bool
    probability: float


class OpenAIChoiceAnswer(_Answer):
    """The most probable value, and the probability of each, in the question's order."""

    type: Literal["choice"] = "choice"
    choice: str | bool
    confidence: float
    probabilities: tuple[OpenAIValueProbability, ...]


class OpenAILevelProbability(WireModel):
    """A level's label and position, and its probability."""

    label: str
    value: int
    probability: float


class OpenAIScoreAnswer(_Answer):
    """The expected level, between 0 and the number of levels less one, and the probability of each level."""

    type: Literal["score"] = "score"
    score: float
    confidence: float
    probabilities: tuple[OpenAILevelProbability, ...]


AnyAnswer = Annotated[
    OpenAIPredicateAnswer | OpenAIChoiceAnswer | OpenAIScoreAnswer, Field(discriminator="type")
]


class OpenAIInputTokens(WireModel):
    """How many input tokens were not computed for this request; nothing is ever charged for keeping them."""

    cached_tokens: int
    cache_write_tokens: Literal[0] = 0


class OpenAIOutputTokens(WireModel):
    """Nothing is ever written."""

    reasoning_tokens: Literal[0] = 0


class OpenAIUsage(WireModel):
    """Tokens. The input counts with every question."""

    input_tokens: int
    input_tokens_details: OpenAIInputTokens
    output_tokens: Literal[0] = 0
    output_tokens_details: OpenAIOutputTokens = OpenAIOutputTokens()
    total_tokens: int


class OpenAIDecisionResponse(WireModel):
    """Answers in the questions' order. `model` is what really answered."""

    model: str
    answers: tuple[AnyAnswer, ...]
    usage: OpenAIUsage
    x_timing: SharedTiming


class OpenAIErrorBody(WireModel):
    """Body of every reply that is not 200."""

    class OpenAIError(WireModel):
        """A message for people, the place that is wrong, and a kind and a code for programs."""

        message: str
        type: str
        param: str | None
        code: str

    error: OpenAIError
