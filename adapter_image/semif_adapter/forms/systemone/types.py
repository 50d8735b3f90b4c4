"""The wire of System One, as its official SDK sends and reads it. Our own fields begin with `x_`."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from semif_adapter.contract.question import Content
from semif_adapter.contract.wire import (
    MAX_OPTIONS,
    AppliedCalibration,
    NonEmptyText,
    Readout,
    SharedTiming,
    State,
    WireModel,
)

MAX_LEVELS = 10
"""Most levels of a score."""


class NoulCriteria(WireModel):
    """What counts as true, and what as false."""

    true: Content | None = None
    false: Content | None = None


class NoulQuestion(WireModel):
    """A question of yes or no, or a statement to judge."""

    type: Literal["noul"]
    instructions: Content | None = None
    criteria: NoulCriteria | None = None


class ChoiceQuestion(WireModel):
    """A choice among named options; one without a description is understood by its name."""

    type: Literal["choice"]
    instructions: Content | None = None
    criteria: Annotated[dict[NonEmptyText, Content | None], Field(min_length=2, max_length=MAX_OPTIONS)]


class ScoreQuestion(WireModel):
    """A rating on a scale; a level's position is its score."""

    type: Literal["score"]
    instructions: Content | None = None
    criteria: Annotated[tuple[Content, ...], Field(min_length=2, max_length=MAX_LEVELS)]


AnyQuestion = Annotated[NoulQuestion | ChoiceQuestion | ScoreQuestion, Field(discriminator="type")]


class SystemOneInvocation(WireModel):
    """Body of `POST /invocations` in this form: the endpoint is the model, so `model` may be missing.

    How many questions are allowed is the adapter's setting `max_decisions`.
    """

    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    state: State
    questions: Annotated[dict[NonEmptyText, AnyQuestion], Field(min_length=1)]


class SystemOneRequest(SystemOneInvocation):
    """Body of `POST /v1/systemone`. Unknown fields beside these are ignored."""

    model: str


class NoulAnswer(WireModel):
    """`noul` is the probability of true."""

    type: Literal["noul"] = "noul"
    noul: float
    x_readout: Readout
    x_allowed_token_mass: float | None
    x_calibration: AppliedCalibration | None


class ChoiceAnswer(WireModel):
    """The most probable option, and the probability of each, in the question's order."""

    type: Literal["choice"] = "choice"
    choice: str
    probabilities: dict[str, float]
    confidence: float
    x_readout: Readout
    x_allowed_token_mass: float | None
    x_calibration: AppliedCalibration | None


class ScoreAnswer(WireModel):
    """The expected level, between 0 and the number of levels less one, and the probability of each level."""

    type: Literal["score"] = "score"
    score: float
    legend: dict[str, str]
    probabilities: dict[str, float]
    confidence: float
    x_readout: Readout
    x_allowed_token_mass: float | None
    x_calibration: AppliedCalibration | None


AnyAnswer = Annotated[NoulAnswer | ChoiceAnswer | ScoreAnswer, Field(discriminator="type")]


class Usage(WireModel):
    """Tokens. The state counts with every question, and nothing is ever written."""

    input_tokens: int
    output_tokens: Literal[0] = 0


class SystemOneResponse(WireModel):
    """Answers under the questions' ids, in their order. `model` is what really answered."""

    model: str
    answers: dict[str, AnyAnswer]
    usage: Usage
    x_timing: SharedTiming


class ModelMetadata(WireModel):
    """One model of `GET /v1/models`; `release_date` is the day from which this server offers it."""

    name: str
    description: str
    release_date: str


class ModelList(WireModel):
    """Reply to `GET /v1/models`."""

    models: tuple[ModelMetadata, ...]


class InvalidField(WireModel):
    """One thing wrong with a request: where, in words, and a code for programs."""

    loc: tuple[str | int, ...]
    msg: str
    type: str


class InvalidRequestBody(WireModel):
    """Body of a 422."""

    detail: tuple[InvalidField, ...]


class FaultBody(WireModel):
    """Body of every other error."""

    class Fault(WireModel):
        """A code for programs and a message for people."""

        error_type: str
        message: str

    detail: Fault
