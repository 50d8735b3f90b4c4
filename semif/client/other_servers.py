"""Replies of servers of System One that are not ours: Strands Decider's, and whoever else speaks it.

What they say beyond the API (`latency_ms`) is left in the reply's bytes; what our adapter adds (`x_…`) is not
asked of them.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Other(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Noul(_Other):
    type: Literal["noul"]
    noul: Share


class _Choice(_Other):
    type: Literal["choice"]
    choice: str
    probabilities: dict[str, Share]


class _Score(_Other):
    type: Literal["score"]
    score: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    probabilities: dict[str, Share]


class OtherResponse(_Other):
    """Answers under the questions' ids."""

    model: str
    answers: Annotated[
        dict[str, Annotated[_Noul | _Choice | _Score, Field(discriminator="type")]], Field(min_length=1)
    ]
    latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """The server's own time; Strands Decider tells it."""


class _Place(_Other):
    loc: tuple[str | int, ...] = ()
    msg: str
    type: str | None = None


class _Detail(_Other):
    detail: str | tuple[_Place, ...]


def read_other(raw: bytes) -> OtherResponse | None:
    """The reply in `raw`; None where it is none of System One's."""
    try:
        return OtherResponse.model_validate_json(raw)
    except ValidationError:
        return None


def read_detail(raw: bytes) -> tuple[str, str | None, str | None] | None:
    """Message, code and path of FastAPI's error bodies; None for another body.

    What was wrong in the request stands there too (`input`), and is left out: it is the caller's text.
    """
    try:
        detail = _Detail.model_validate_json(raw).detail
    except ValidationError:
        return None
    if isinstance(detail, str):
        return detail, None, None
    if not detail:
        return None
    return detail[0].msg, detail[0].type, ".".join(map(str, detail[0].loc)) or None
