"""Bytes to a typed request, strictly: what is not certainly what the caller meant is refused.

JSON in UTF-8 without a byte order mark; no key twice in an object, no NaN, no number that no float holds, no
unpaired surrogate, no nesting beyond MAX_DEPTH.

Problems are found in three stages (JSON text, shape, meaning); all problems of the first stage that has any
are reported together. A problem names path and type, never the caller's text: a key that is not one of ours
is named by its position in its object, counted from 0 (`decision.state.#2`).
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from semif_adapter.contract import Decision, DecisionRequest, DecisionsRequest, Option
from semif_adapter.errors import InvalidRequestError

MAX_DEPTH = 64
"""Deepest nesting of objects and arrays; the request's own levels count too."""
MAX_REPORTED = 20
"""Most problems spelt out in one reply."""

FORMS = ("decision", "decisions", "questions", "messages")
OUR_KEYS = frozenset(FORMS) | set(Decision.model_fields) | set(Option.model_fields)

SHAPE_PROBLEMS = {
    "missing": "is missing",
    "extra_forbidden": "is not a key of this object, allowed are {allowed}",
    "model_type": "must be an object, got {got}",
    "tuple_type": "must be an array, got {got}",
    "string_type": "must be a string, got {got}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {limit[max_length]} characters, got {size}",
    "too_short": "must hold at least {limit[min_length]}, got {size}",
    "too_long": "must hold at most {limit[max_length]}, got {size}",
}
"""pydantic's error types that our models can give, in our words."""

Location = tuple[str | int, ...]
Problem = tuple[Location, str]


def parse_request(body: bytes, *, max_decisions: int) -> DecisionRequest | DecisionsRequest:
    """Parse one request body, already bounded in bytes.

    Raises InvalidRequestError that names every problem found.
    """
    document = _read_json(body)
    _refuse(document, _text_problems(document))
    if not isinstance(document, dict):
        raise InvalidRequestError(f"the body must be a JSON object, got {_type_name(document)}")
    form = _form(document)
    try:
        request = form.model_validate(document, strict=False)  # JSON has no tuples: let arrays become them
    except ValidationError as error:
        _refuse(document, _shape_problems(document, form, error))
        raise
    _refuse(document, _meaning_problems(request, max_decisions))
    return request


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its keys came twice, by position in the text."""

    repeated: tuple[tuple[int, str], ...] = ()


class _NotFinite:
    """Stands for NaN, Infinity or a number that no float holds, until its path is known."""


def _read_json(body: bytes) -> object:
    if body.startswith(b"\xef\xbb\xbf"):
        raise InvalidRequestError("the body begins with a byte order mark, send UTF-8 without one")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"the body is not UTF-8, see byte {error.start}") from None
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_float=_float, parse_constant=lambda _: _NotFinite()
        )
    except RecursionError:
        raise InvalidRequestError(f"the body is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise InvalidRequestError(
            f"the body is not JSON, see line {error.lineno} column {error.colno}"
        ) from None
    except ValueError:
        # Python's limit on the digits of an integer.
        raise InvalidRequestError("the body holds a number of too many digits") from None


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    result = _Object(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        repeated = []
        for position, (key, _) in enumerate(pairs):
            if key in seen:
                repeated.append((position, key))
            seen.add(key)
        result.repeated = tuple(repeated)
    return result


def _float(literal: str) -> float | _NotFinite:
    value = float(literal)
    return value if math.isfinite(value) else _NotFinite()


def _text_problems(document: object) -> Iterator[Problem]:
    """What JSON's grammar allows and we do not: repeated keys, lone surrogates, deep nesting (and NaN)."""
    waiting: list[tuple[Location, object]] = [((), document)]
    while waiting:
        location, node = waiting.pop()
        if len(location) > MAX_DEPTH:
            yield (), f"is nested deeper than {MAX_DEPTH} levels"
            return
        children: Iterator[tuple[str | int, object]] = iter(())
        if isinstance(node, _Object):
            for position, key in node.repeated:
                known = key in OUR_KEYS and "state" not in location
                yield (
                    (*location, key if known else f"#{position}"),
                    "is a key that came before in this object",
                )
            if not all(_is_text(key) for key in node):
                yield location, "has a key that holds an unpaired surrogate"
            children = iter(node.items())
        elif isinstance(node, list):
            children = iter(enumerate(node))
        elif isinstance(node, _NotFinite):
            yield location, "is not a finite number"
        elif isinstance(node, str) and not _is_text(node):
            yield location, "holds an unpaired surrogate"
        inner = [((*location, key), child) for key, child in children if not _is_harmless(child)]
        waiting.extend(reversed(inner))


def _is_harmless(node: object) -> bool:
    """Numbers and ASCII strings need no step of the walk; a body may hold a million of them."""
    return isinstance(node, int | float) or (isinstance(node, str) and node.isascii())


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _form(document: dict[str, Any]) -> type[DecisionRequest] | type[DecisionsRequest]:
    """The request's form: the one of FORMS that it has."""
    given = [form for form in FORMS if form in document]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        raise InvalidRequestError(f"the body must have exactly one of the keys {', '.join(FORMS)}, got {got}")
    match given[0]:
        case "decision":
            return DecisionRequest
        case "decisions":
            return DecisionsRequest
        case "questions":
            raise InvalidRequestError(
                "this endpoint does not serve System One requests yet", path="questions"
            )
        case _:
            raise InvalidRequestError(
                "this endpoint answers decisions and writes no text, send messages to a text deployment",
                path="messages",
            )


def _shape_problems(document: object, form: type[BaseModel], error: ValidationError) -> Iterator[Problem]:
    """pydantic's findings in our words; its own show the caller's keys and a line per type of a union."""
    states: set[Location] = set()
    for detail in error.errors(include_url=False, include_context=True):
        location = detail["loc"]
        if "state" in location and detail["type"] != "missing":
            location = location[: location.index("state") + 1]
            if location in states:
                continue
            states.add(location)
            state = _at(document, location)
            got = "an empty string" if state == "" else _type_name(state)
            yield location, f"must be a non-empty string, an object or an array, got {got}"
        elif detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]:
            continue  # pydantic counts only the valid items, and the others have their own problem
        else:
            yield location, _shape_problem(form, detail)


def _shape_problem(form: type[BaseModel], detail: ErrorDetails) -> str:
    value = detail["input"]
    template = SHAPE_PROBLEMS.get(detail["type"], "is not allowed ({type}), got {got}")
    return template.format(
        type=detail["type"],
        got=_type_name(value),
        size=len(value) if isinstance(value, str | list) else None,
        allowed=", ".join(_allowed_keys(form, detail["loc"])),
        limit=detail.get("ctx", {}),
    )


def _allowed_keys(form: type[BaseModel], location: Location) -> list[str]:
    if len(location) == 1:
        return list(form.model_fields)
    return list((Option if "options" in location else Decision).model_fields)


def _meaning_problems(request: DecisionRequest | DecisionsRequest, max_decisions: int) -> Iterator[Problem]:
    if isinstance(request, DecisionRequest):
        yield from _repeated_options(("decision",), request.decision)
        return
    decisions = request.decisions
    if len(decisions) > max_decisions:
        yield ("decisions",), f"must hold at most {max_decisions}, got {len(decisions)}"
        return
    state = _exact(decisions[0])
    for index, decision in enumerate(decisions):
        if _exact(decision) != state:
            yield ("decisions", index, "state"), "must equal decisions[0].state exactly, key order included"
    yield from _repeated_ids(("decisions",), decisions)
    for index, decision in enumerate(decisions):
        yield from _repeated_options(("decisions", index), decision)


def _exact(decision: Decision) -> str:
    # Python holds 1, 1.0 and true for equal; their JSON texts differ.
    return json.dumps(decision.state)


def _repeated_options(location: Location, decision: Decision) -> Iterator[Problem]:
    return _repeated_ids((*location, "options"), decision.options)


def _repeated_ids(location: Location, items: Sequence[Decision | Option]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        earlier = first.setdefault(item.id, index)
        if earlier != index:
            yield (
                (*location, index, "id"),
                f"must be unique, {_path(None, location)}[{earlier}].id is the same",
            )


def _refuse(document: object, problems: Iterator[Problem]) -> None:
    """Raise InvalidRequestError if there is any problem."""
    found = [(_path(document, location), problem) for location, problem in problems]
    if not found:
        return
    told = [f"{path or 'the body'} {problem}" for path, problem in found[:MAX_REPORTED]]
    if len(found) > MAX_REPORTED:
        told.append(f"and {len(found) - MAX_REPORTED} more")
    raise InvalidRequestError("; ".join(told), path=found[0][0] or None)


def _path(document: object, location: Location) -> str:
    """`decisions[0].options[2].id`; keys that are not ours become their position."""
    path = ""
    node = document
    for depth, step in enumerate(location):
        if isinstance(step, int):
            path += f"[{step}]"
        elif step in OUR_KEYS and "state" not in location[:depth]:
            path += f".{step}"
        elif isinstance(node, dict) and step in node:
            path += f".#{list(node).index(step)}"
        else:
            path += f".{step}"
        node = _at(node, (step,))
    return path.removeprefix(".")


def _at(node: object, location: Location) -> object:
    """The value at a location, None where there is none."""
    for step in location:
        if isinstance(node, dict) and isinstance(step, str):
            node = node.get(step)
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        else:
            return None
    return node


def _type_name(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case dict():
            return "an object"
        case _:
            return "an array"
