"""What is wrong with a request, in words: place and type, never the caller's text.

A key that the caller chose is named by its position in its object, counted from 0 (`decision.state.#2`).
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import ErrorDetails, ValidationError

from semif_adapter.contract.errors import InvalidRequestError, Location, Problem

MAX_REPORTED = 20
"""Most problems spelt out in one reply."""

MAX_FINDINGS = 5_000
"""Most of pydantic's findings that are looked at: it makes all at once, and no other thread runs meanwhile;
200,000 of them, of a body of 400 kB, take seconds."""

Wire = TypeVar("Wire", bound=BaseModel)
IsOurs = Callable[[Location], bool]
"""Whether the key at the end of a location is one of the wire's, and may be shown."""

SHAPE_MESSAGES = {
    "missing": "is missing",
    "extra_forbidden": "is not a key of this object, allowed are {allowed}",
    "model_type": "must be an object, got {got}",
    "model_attributes_type": "must be an object, got {got}",
    "dict_type": "must be an object, got {got}",
    "tuple_type": "must be an array, got {got}",
    "string_type": "must be a string, got {got}",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must not be blank",
    "string_too_long": "must have at most {limit[max_length]} characters, got {size}",
    "too_short": "must hold at least {limit[min_length]}, got {size}",
    "too_long": "must hold at most {limit[max_length]}, got {size}",
    "literal_error": "must be {limit[expected]}, got {got}",
}
"""pydantic's error types that our models can give, in our words; its own show the caller's keys."""


def findings(error: ValidationError) -> list[ErrorDetails]:
    """What pydantic found. Raises InvalidRequestError with their number alone where that is too many."""
    if (count := error.error_count()) > MAX_FINDINGS:
        said = f"has {count} problems, too many to name; send another body"
        problem = Problem((), said, "too_many_problems")
        raise InvalidRequestError(f"the body {problem.message}", problems=[problem])
    return error.errors(include_url=False, include_context=True)


def shaped(
    document: object,
    wire: type[Wire],
    shape_problems: Callable[[ValidationError], Iterable[Problem]],
    is_ours: IsOurs,
) -> Wire:
    """`document`, strict JSON already, as a `wire`. Raises InvalidRequestError with all `shape_problems`."""
    try:
        return wire.model_validate(document, strict=False)  # JSON has no tuples: let arrays become them
    except ValidationError as error:
        refuse(document, shape_problems(error), is_ours)
        raise


def one_for_each_place(
    error: ValidationError, problem_of: Callable[[ErrorDetails], Problem]
) -> Iterator[Problem]:
    """pydantic's findings in our words, one for each place: a union's are a line per type otherwise."""
    seen: set[Location] = set()
    for detail in findings(error):
        problem = problem_of(detail)
        if problem.location not in seen and not is_an_echo(detail):
            seen.add(problem.location)
            yield problem


def object_problem(document: object) -> Problem:
    """What is wrong with a body that is no object."""
    return Problem((), f"must be an object, got {type_name(document)}", "model_type")


def shape_message(detail: ErrorDetails, allowed: Iterable[str] = ()) -> str:
    """One of pydantic's findings in our words; `allowed` are the keys of the object where one is unknown."""
    value = detail["input"]
    template = SHAPE_MESSAGES.get(detail["type"], "is not allowed ({type}), got {got}")
    return template.format(
        type=detail["type"],
        got=type_name(value),
        size=len(value) if isinstance(value, str | list | dict) else None,
        allowed=", ".join(allowed),
        limit=detail.get("ctx", {}),
    )


def state_problem(location: Location, state: object) -> Problem:
    """What is wrong with a state that is none."""
    got = "an empty one" if state in ("", {}, []) else type_name(state)
    return Problem(location, f"must be a non-empty string, object or array, got {got}", "state_type")


def is_an_echo(detail: ErrorDetails) -> bool:
    """Whether an array is too short only by pydantic's count, which leaves out items with a problem."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def refuse(document: object, problems: Iterable[Problem], is_ours: IsOurs) -> None:
    """Raise InvalidRequestError if there is any problem; it tells the first MAX_REPORTED."""
    waiting = iter(problems)
    reported = [
        problem._replace(location=without_callers_keys(document, problem.location, is_ours))
        for problem in islice(waiting, MAX_REPORTED)
    ]
    if not reported:
        return
    sentences = [f"{path_text(problem.location) or 'the body'} {problem.message}" for problem in reported]
    more = sum(1 for _ in waiting)
    if more:
        sentences.append(f"and {more} more")
    raise InvalidRequestError(
        "; ".join(sentences), path=path_text(reported[0].location) or None, problems=reported
    )


def without_callers_keys(document: object, location: Location, is_ours: IsOurs) -> Location:
    """`location` with every key that is the caller's as its position."""
    shown: Location = ()
    node = document
    for depth, step in enumerate(location, start=1):
        if (
            isinstance(step, str)
            and isinstance(node, dict)
            and step in node
            and not is_ours(location[:depth])
        ):
            shown += (f"#{list(node).index(step)}",)
        else:
            shown += (step,)
        node = value_at(node, (step,))
    return shown


def path_text(location: Location) -> str:
    """`decisions[0].options[2].id`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).removeprefix(".")


def value_at(node: object, location: Location) -> object:
    """The value at a location, None where there is none."""
    for step in location:
        if isinstance(node, dict) and isinstance(step, str):
            node = node.get(step)
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        else:
            return None
    return node


def type_name(value: object) -> str:
    """What JSON calls it, with its article."""
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
