"""Bytes to a typed request of one of the forms of `POST /invocations`.

Problems are found in three stages (JSON text, shape, meaning); all problems of the first stage that has any
are reported together.
"""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from semif_adapter.contract.errors import InvalidRequestError, Location, Problem
from semif_adapter.contract.request_problems import (
    findings,
    is_an_echo,
    path_text,
    refuse,
    shape_message,
    shaped,
    state_problem,
    type_name,
    value_at,
)
from semif_adapter.contract.strict_json import read_json
from semif_adapter.contract.wire import (
    MAX_ROTATED_OPTIONS,
    Decision,
    DecisionRequest,
    DecisionsRequest,
    Option,
    Parameters,
)
from semif_adapter.forms.openai_decisions.parse import is_ours as is_openais
from semif_adapter.forms.systemone.parse import is_ours as is_system_ones

FORMS = ("decision", "decisions", "questions", "messages")
OUR_KEYS = frozenset(FORMS).union(
    *(wire.model_fields for wire in (DecisionRequest, Decision, Option, Parameters))
)
FormKey = Literal["decision", "decisions", "questions", "input"]
"""The key of a body that says which form it has; `input` is what OpenAI's `questions` are about, while System
One's are about a `state`."""


def read_document(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`, already bounded in bytes. Raises InvalidRequestError."""
    document = read_json(body, is_ours)
    if not isinstance(document, dict):
        raise InvalidRequestError(f"the body must be a JSON object, got {type_name(document)}")
    return document


def form_of(document: dict[str, Any]) -> FormKey:
    """The request's form: the one of FORMS that it has. Raises InvalidRequestError, also for text."""
    keys = [form for form in FORMS if form in document]
    if "input" in document and "state" not in document and keys in ([], ["questions"]):
        return "input"
    match keys:
        case ["decision" | "decisions" | "questions" as form]:
            return form
        case ["messages"]:
            raise InvalidRequestError(
                "this endpoint answers decisions and writes no text, send messages to a text deployment",
                path="messages",
            )
        case _:
            got = " and ".join(keys) or "none of them"
            raise InvalidRequestError(
                f"the body must have exactly one of the keys {', '.join(FORMS)}, got {got}"
            )


def parse_decisions(
    document: dict[str, Any], form: FormKey, *, max_decisions: int
) -> DecisionRequest | DecisionsRequest:
    """The request in `document`, which has the form `decision` or `decisions`.

    Raises InvalidRequestError that names every problem in it.
    """
    wire: type[DecisionRequest | DecisionsRequest] = (
        DecisionRequest if form == "decision" else DecisionsRequest
    )
    request = shaped(document, wire, partial(_shape_problems, document, wire), is_ours)
    refuse(document, _meaning_problems(request, max_decisions), is_ours)
    return request


def parse_decision(document: dict[str, Any]) -> Decision:
    """A decision that stands by itself, as in a file; places are told from its own top.

    Raises InvalidRequestError that names every problem found.
    """
    decision = shaped(document, Decision, partial(_shape_problems, document, Decision), is_ours)
    refuse(document, _repeated_options((), decision), is_ours)
    return decision


def is_ours(location: Location) -> bool:
    """Whether the key at the end of `location` is the wire's and not the caller's."""
    match location:
        case ("input", *_) | ("questions", int(), *_):
            return is_openais(location)
        case ("questions", *_):
            return is_system_ones(location)
    return location[-1] in OUR_KEYS and "state" not in location[:-1]


def _shape_problems(document: object, form: type[BaseModel], error: ValidationError) -> Iterator[Problem]:
    """pydantic's findings in our words; its own show the caller's keys and a line per type of a union."""
    states: set[Location] = set()
    for detail in findings(error):
        location = detail["loc"]
        if "state" in location and detail["type"] != "missing":
            location = location[: location.index("state") + 1]
            if location in states:
                continue
            states.add(location)
            yield state_problem(location, value_at(document, location))
        elif not is_an_echo(detail):
            yield Problem(location, shape_message(detail, _allowed_keys(form, location)), detail["type"])


def _allowed_keys(form: type[BaseModel], location: Location) -> list[str]:
    """The keys of the object that holds the last step of `location`."""
    if len(location) == 1:
        return list(form.model_fields)
    if location[0] == "parameters":
        return list(Parameters.model_fields)
    return list((Option if "options" in location else Decision).model_fields)


def _meaning_problems(request: DecisionRequest | DecisionsRequest, max_decisions: int) -> Iterator[Problem]:
    if isinstance(request, DecisionRequest):
        yield from _repeated_options(("decision",), request.decision)
        yield from _too_many_rotations(request.parameters, (request.decision,))
        return
    decisions = request.decisions
    if len(decisions) > max_decisions:
        yield Problem(("decisions",), f"must hold at most {max_decisions}, got {len(decisions)}", "too_long")
        return
    state = _exact(decisions[0])
    for index, decision in enumerate(decisions):
        if _exact(decision) != state:
            yield Problem(
                ("decisions", index, "state"),
                "must equal decisions[0].state exactly, key order included",
                "state_differs",
            )
    yield from _repeated_ids(("decisions",), decisions)
    for index, decision in enumerate(decisions):
        yield from _repeated_options(("decisions", index), decision)
    yield from _too_many_rotations(request.parameters, decisions)


def _too_many_rotations(parameters: Parameters, decisions: Sequence[Decision]) -> Iterator[Problem]:
    most = max(len(decision.options) for decision in decisions)
    if parameters.order_debiasing == "rotate" and most > MAX_ROTATED_OPTIONS:
        yield Problem(
            ("parameters", "order_debiasing"),
            f"rotates at most {MAX_ROTATED_OPTIONS} options, got {most}; every order is a prompt of its own",
            "too_many_rotations",
        )


def _exact(decision: Decision) -> str:
    # Python holds 1, 1.0 and true for equal; their JSON texts differ.
    return json.dumps(decision.state)


def _repeated_options(location: Location, decision: Decision) -> Iterator[Problem]:
    location = (*location, "options")
    yield from _repeated_ids(location, decision.options)
    first: dict[str, int] = {}
    for index, option in enumerate(decision.options):
        earlier = first.setdefault((option.description or option.id).strip(), index)
        if decision.options[earlier].id != option.id:
            yield Problem(
                (*location, index, "description" if option.description else "id"),
                f"must not say the same as {path_text(location)}[{earlier}]",
                "repeated_text",
            )


def _repeated_ids(location: Location, items: Sequence[Decision | Option]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        earlier = first.setdefault(item.id, index)
        if earlier != index:
            yield Problem(
                (*location, index, "id"),
                f"must be unique, {path_text(location)}[{earlier}].id is the same",
                "repeated_id",
            )
