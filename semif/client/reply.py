"""What comes back: a reply's results, or the container's error as one of the client's."""

import math
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from semif.client.errors import (
    AccessError,
    AnswerTimeoutError,
    ContainerFaultError,
    DecisionError,
    OverloadedError,
    RequestRefusedError,
    UnavailableError,
    UnknownReplyError,
)
from semif.client.other_servers import read_detail, read_other
from semif.errors import printable
from semif_adapter.contract.wire import DecisionResponse, DecisionsResponse, ErrorBody, Result, SharedTiming
from semif_adapter.forms.openai_decisions.types import OpenAIDecisionResponse, OpenAIErrorBody
from semif_adapter.forms.systemone.types import FaultBody, InvalidRequestBody, SystemOneResponse

_SHOWN_CHARACTERS = 200
_LONGEST = 1_000
"""Of a whole message, in characters: the adapter's are shorter."""
_ROUNDING = 1e-6
"""How far a sum of probabilities, or a share, may be beside what it is: the wire has them unrounded."""

_ReplyBody = DecisionResponse | DecisionsResponse | SystemOneResponse | OpenAIDecisionResponse
_REPLY: TypeAdapter[_ReplyBody] = TypeAdapter(_ReplyBody)
_ErrorReply = ErrorBody | FaultBody | InvalidRequestBody | OpenAIErrorBody
_ERROR: TypeAdapter[_ErrorReply] = TypeAdapter(_ErrorReply)


@dataclass(frozen=True)
class WireAnswer:
    """The results in request order, the shared timing of a `decisions` request, and the reply's bytes.

    There are no results where the request had the form of System One or of OpenAI: `raw` holds its answers,
    which may be another server's of System One.
    """

    results: tuple[Result, ...]
    timing: SharedTiming | None
    raw: bytes
    inference_id: str | None = None
    """Of the call, by which the adapter's log tells of it."""


def read_answer(raw: bytes, inference_id: str | None = None) -> WireAnswer:
    """The reply in `raw` to a call. Raises UnknownReplyError for what is none of this version's."""
    try:
        reply = _REPLY.validate_json(raw)
    except ValidationError as error:
        if read_other(raw) is not None:
            return WireAnswer((), None, raw)
        first = error.errors(include_url=False, include_input=False)[0]
        where = printable(".".join(map(str, first["loc"])))[:_SHOWN_CHARACTERS] or "body"
        raise UnknownReplyError(
            f"the reply is not one of this version's: {where}: {first['msg'].lower()}; "
            "deploy the adapter of this checkout, or look at the reply with curl"
        ) from None
    match reply:
        case DecisionResponse():
            return WireAnswer(_checked((reply.result,)), None, raw, inference_id)
        case DecisionsResponse():
            return WireAnswer(_checked(reply.results), reply.timing, raw, inference_id)
        case SystemOneResponse() | OpenAIDecisionResponse():
            return WireAnswer((), None, raw, inference_id)


def _checked(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """The results, whose numbers are some: NaN compares with nothing, and would pass or fail by chance."""
    for number, result in enumerate(results, 1):
        options, probabilities, mass = len(result.option_ids), result.probabilities, result.allowed_token_mass
        whole = (
            len(probabilities) == len(result.option_logits) == options
            and all(0 <= probability <= 1 for probability in probabilities)
            and math.isclose(math.fsum(probabilities), 1, abs_tol=_ROUNDING)
            and all(map(math.isfinite, result.option_logits))
            and (mass is None or 0 <= mass <= 1 + _ROUNDING)
        )
        if not whole:
            raise UnknownReplyError(
                f"the numbers of result {number} are no answer: each option has a finite logit and a "
                "probability, and these add up to 1; deploy the adapter of this checkout, or look at the "
                "reply with curl"
            )
    return results


def container_error(
    who: str, status: int, raw: bytes, *, retry_after_seconds: float | None = None
) -> DecisionError:
    """The error that `who` answered with: HTTP `status`, or SageMaker's 0 where the container took too long.

    `retry_after_seconds` is a header's hint; the one in the body comes first.
    """
    said, code, path, hint = _read_error(raw)
    hint = retry_after_seconds if hint is None else hint
    at = f" at {path}" if path and path not in said else ""
    again = f"; try again in {hint:g} s" if hint is not None else ""
    named = f" {code[:_SHOWN_CHARACTERS]}" if code else ""
    answered = f"answered {status}" if status else "did not answer"
    return _error_type(status)(
        f"{who} {answered}{named}{at}: {said}{again}"[:_LONGEST],
        status=status,
        code=code,
        path=path,
        retry_after_seconds=hint,
    )


def _error_type(status: int) -> type[DecisionError]:
    match status:
        case 401 | 403 | 407:
            return AccessError
        case 429 | 503 | 529:  # 529: of servers that follow the System One API
            return OverloadedError
        case 502:  # a proxy in front that found no container
            return UnavailableError
        case 0 | 504:  # SageMaker, or a proxy in front, that waited long enough
            return AnswerTimeoutError
        case _ if status >= 500:
            return ContainerFaultError
        case _:
            return UnknownReplyError if status < 300 else RequestRefusedError


def _read_error(raw: bytes) -> tuple[str, str | None, str | None, float | None]:
    """Message, code, path and hint of an error's body, in whichever form it is."""
    try:
        body = _ERROR.validate_json(raw)
    except ValidationError:
        body = None
    match body:
        case ErrorBody(error=error, retry_after_seconds=hint):
            usable = hint if hint is not None and math.isfinite(hint) and hint >= 0 else None
            return error.message, error.code, error.path, usable
        case OpenAIErrorBody(error=error):
            return error.message, error.code, error.param, None
        case FaultBody(detail=fault):
            return fault.message, fault.error_type, None, None
        case InvalidRequestBody(detail=(first, *_)):
            return first.msg, first.type, ".".join(map(str, first.loc)), None
        case _ if (detail := read_detail(raw)) is not None:
            said, code, path = detail
            return printable(said)[:_SHOWN_CHARACTERS], code, path, None
        case _:
            text = printable(raw.decode(errors="replace"))[:_SHOWN_CHARACTERS] or "no text"
            return ("a web page" if text.startswith("<") else text), None, None, None
