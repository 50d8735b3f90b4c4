"""What is sent: a request's bytes, checked before they cost a call, and how its reply is read."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from semif.client.errors import RequestRefusedError, UnknownReplyError
from semif.client.questions import Question
from semif.client.reply import WireAnswer
from semif.client.results import Choice_co, DecisionResult, best_option
from semif.client.values.states import State, as_json_value, json_default
from semif.errors import SemifError
from semif.project.whole_files import utf8
from semif_adapter.contract.errors import InvalidRequestError
from semif_adapter.contract.wire import MAX_BODY_BYTES, MAX_DECISIONS
from semif_adapter.forms.invocations import FORMS, parse_decisions, read_document

Read_co = TypeVar("Read_co", covariant=True)

OrderDebiasing: TypeAlias = Literal["none", "rotate"]
"""See `semif_adapter.contract.wire.Parameters`."""

DECISION_ID = "decision"
"""The id of a decision that was given none; of several, their place follows: `decision-1`."""

_JSON_NAMES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


@dataclass(frozen=True)
class Request(Generic[Read_co]):
    """A body to send, and what makes its reply an answer."""

    body: bytes
    read: Callable[[WireAnswer], Read_co]
    """Raises UnknownReplyError for a reply to something else."""


def one_decision(
    state: State,
    question: Question[Choice_co],
    order_debiasing: OrderDebiasing,
    *,
    default_id: str = DECISION_ID,
) -> Request[DecisionResult[Choice_co]]:
    """The request for one decision. Raises RequestRefusedError for what the adapter would refuse."""
    document = {"decision": _decision(state, question, default_id)}
    body = _checked("decision", document, order_debiasing)
    return Request(body, lambda reply: _results(reply, (question,), [document["decision"]])[0])


def several_decisions(
    state: State, questions: Sequence[Question[Choice_co]], order_debiasing: OrderDebiasing
) -> Request[tuple[DecisionResult[Choice_co], ...]]:
    """The request for several questions about one state. Raises as `one_decision`."""
    asked = tuple(questions)
    for number, question in enumerate(asked, 1):
        if not isinstance(question, Question):
            raise RequestRefusedError(
                f"question {number} is a {type(question).__name__}; give a list of semif.Question",
                code="invalid_request",
            )
    decisions = [
        _decision(state, question, f"{DECISION_ID}-{number}") for number, question in enumerate(asked, 1)
    ]
    body = _checked("decisions", {"decisions": decisions}, order_debiasing)
    return Request(body, lambda reply: _results(reply, asked, decisions))


def as_written(body: bytes) -> Request[WireAnswer]:
    """A request's bytes as they are. Raises RequestRefusedError for more of them than any endpoint takes."""
    _check_size(body)
    return Request(body, lambda reply: reply)


def request_body(text: bytes, *, name: str) -> bytes:
    """The request that `text` is or stands for, as `read_request`."""
    return read_request(text, name=name)[0]


def read_request(text: bytes, *, name: str) -> tuple[bytes, dict[str, Any]]:
    """The request that `text` is or stands for, its bytes and what they say.

    A lone decision object is wrapped as `{"decision": ...}`. The caller's bytes are kept, so that the adapter
    judges what was really written, but for the mark that editors on Windows put before UTF-8. `name` is for
    messages. Raises SemifError for what is not a JSON object and for bodies over SageMaker's limit.
    """
    text = utf8(text, name)
    try:
        document = json.loads(text.decode())
    except UnicodeDecodeError as error:
        raise SemifError(
            f"{name} is not UTF-8: {error.reason} at byte {error.start + 1}; save the file as UTF-8"
        ) from None
    except RecursionError:
        raise SemifError(f"{name} is nested too deeply, a request needs few levels") from None
    except json.JSONDecodeError as error:
        line = "" if b"\n" not in text else f"line {error.lineno} "  # of one, `name` may say which it is
        raise SemifError(f"{name} is not JSON, see {line}column {error.colno}") from None
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        raise SemifError(f"{name} holds a number with thousands of digits; send it as a string") from None
    if not isinstance(document, dict):
        raise SemifError(f"{name} holds {_JSON_NAMES[type(document)]}, a request is an object")
    body = text
    if not any(form in document for form in FORMS):
        body, document = b'{"decision": ' + text + b"}", {"decision": document}
    if len(body) > MAX_BODY_BYTES:
        raise SemifError(f"{name} is {len(body)} bytes, SageMaker takes {MAX_BODY_BYTES}; shorten the state")
    return body, document


def _decision(state: State, question: Question[Any], identifier: str) -> dict[str, Any]:
    return {
        "id": identifier if question.id is None else question.id,
        "state": _plain(state),
        "question": question.text,
        "options": question.wire_options,
    }


def _plain(state: State) -> Any:
    """The state's outermost type as JSON has it. Nothing can be decided about nothing."""
    plain = as_json_value(state)
    if isinstance(plain, dict | list | tuple) and not plain:
        raise RequestRefusedError(
            "the request was not sent, it is invalid: the state must not be empty, got an empty "
            f"{'object' if isinstance(plain, dict) else 'array'}",
            code="invalid_request",
            path="state",
        )
    return plain


def _checked(
    form: Literal["decision", "decisions"], document: dict[str, Any], order_debiasing: OrderDebiasing
) -> bytes:
    """The body of `document`, judged by the adapter's own checks on the bytes that will be sent."""
    if order_debiasing != "none":
        document["parameters"] = {"order_debiasing": order_debiasing}
    body = _json(document)
    _check_size(body)
    try:
        parse_decisions(read_document(body), form, max_decisions=MAX_DECISIONS)
    except InvalidRequestError as error:
        at = f" at {error.path}" if error.path and error.path not in error.message else ""
        raise RequestRefusedError(
            f"the request was not sent, it is invalid{at}: {error.message}", code=error.code, path=error.path
        ) from None
    return body


def _json(document: dict[str, Any]) -> bytes:
    try:
        try:
            return json.dumps(
                document, ensure_ascii=False, separators=(",", ":"), default=json_default
            ).encode()
        except UnicodeEncodeError:  # an unpaired surrogate, whose place the checks will name
            return json.dumps(document, separators=(",", ":"), default=json_default).encode()
    except RecursionError:
        problem = "it is nested too deeply"
    except ValueError as error:  # json's, or Python's for a whole number of thousands of digits
        problem = "it holds itself" if "Circular" in str(error) else "it holds a number of too many digits"
    except TypeError as error:  # "Object of type X is not JSON serializable": no value in it
        problem = str(error)
    raise RequestRefusedError(
        f"the request was not sent, it cannot be written as JSON: {problem}; a state is a string, "
        "a mapping, a list, a dataclass or a pydantic model, of what JSON has, dates, Decimal, UUID",
        code="invalid_request",
    )


def _check_size(body: bytes) -> None:
    if len(body) > MAX_BODY_BYTES:
        raise RequestRefusedError(
            f"the request was not sent, it is {len(body)} bytes and SageMaker takes {MAX_BODY_BYTES}; "
            "shorten the state, or ask fewer questions at once",
            code="body_too_large",
        )


def _results(
    reply: WireAnswer, questions: Sequence[Question[Choice_co]], decisions: Sequence[dict[str, Any]]
) -> tuple[DecisionResult[Choice_co], ...]:
    results = reply.results
    asked = [(one["id"], tuple(option["id"] for option in one["options"])) for one in decisions]
    if asked != [(result.id, result.option_ids) for result in results]:
        raise UnknownReplyError(
            "the reply answers another request than this one; is that address an adapter's?"
        )
    return tuple(
        DecisionResult(question.choices[best_option(result.probabilities)], result, reply.inference_id)
        for question, result in zip(questions, results, strict=True)
    )
