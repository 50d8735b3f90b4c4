"""The wire of `POST /v1/decisions`, as OpenAI's own clients send and read it. Our own fields begin with `x_`.

Read from the types of the PyPI package `openai` 3.57.0 (`client.decisions.create`) on 2026-11-30.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag

from semif_adapter.contract.wire import (
    MAX_OPTIONS,
    AppliedCalibration,
    NonEmptyText,
    Readout,
    SharedTiming,
    WireModel,
)
from semif_adapter.forms.openai_decisions.input_types import (
    SEQUENCE,
    STRING,
    Instructions,
    Items,
    shape_of,
    type_of,
)

QUESTION_TYPES = ("predicate", "choice", "score")
BOOLEAN = "<boolean>"
"""As `STRING`, of a value to choose."""


def _scalar_of(value: object) -> str | None:
    return BOOLEAN if isinstance(value, bool) else STRING if isinstance(value, str) else None


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
    Discriminator(type_of),
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
        Discriminator(shape_of),
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
