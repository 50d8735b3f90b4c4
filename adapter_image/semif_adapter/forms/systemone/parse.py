"""A JSON document to a System One request; problems are named by location, as FastAPI does.

A key that the caller chose (a question's id, an option's name) is named by its position, `#0`: neither is
ever shown back in an error.
"""

from collections.abc import Iterator
from functools import partial

from pydantic_core import ErrorDetails

from semif_adapter.contract.errors import Location, Problem
from semif_adapter.contract.request_problems import (
    object_problem,
    one_for_each_place,
    refuse,
    shape_message,
    shaped,
    state_problem,
    type_name,
    value_at,
)
from semif_adapter.forms.systemone.types import (
    NoulCriteria,
    NoulQuestion,
    SystemOneInvocation,
    SystemOneRequest,
)

TYPES = ("noul", "choice", "score")
QUESTION_KEYS = frozenset(NoulQuestion.model_fields)  # the three types have the same
TEXT_KEYS = ("instructions", "criteria")


def is_ours(location: Location) -> bool:
    """Whether the key at the end of `location` is the wire's and not the caller's."""
    match location:
        case (key,):
            return key in SystemOneRequest.model_fields or key == "assets"
        case ("questions", _, key):
            return key in QUESTION_KEYS
        case ("questions", _, "criteria", key):
            return key in NoulCriteria.model_fields
        case _:
            return False


def parse_system_one(
    document: object, form: type[SystemOneInvocation], *, max_questions: int
) -> SystemOneInvocation:
    """The request in `document`, strict JSON already.

    Raises InvalidRequestError with every problem in it.
    """
    if not isinstance(document, dict):
        refuse(document, [object_problem(document)], is_ours)
    request = shaped(
        document, form, lambda error: one_for_each_place(error, partial(_shape_problem, document)), is_ours
    )
    refuse(document, _meaning_problems(document, request, max_questions), is_ours)
    return request


def _shape_problem(document: object, detail: ErrorDetails) -> Problem:
    location = _real_location(document, detail)
    value = value_at(document, location)
    if detail["loc"][-1] == "[key]":
        return Problem(location, "must have a name that is not empty", detail["type"])
    if detail["type"] in ("union_tag_not_found", "union_tag_invalid"):
        return _type_problem((*location, "type"), value)
    if detail["type"] == "missing":
        return Problem(location, "is missing", "missing")
    if location == ("state",):
        return state_problem(location, value)
    if _is_text(location):
        return Problem(
            location, f"must be a string, an object or an array, got {type_name(value)}", "text_type"
        )
    return Problem(location, shape_message(detail, sorted(QUESTION_KEYS)), detail["type"])


def _real_location(document: object, detail: ErrorDetails) -> Location:
    """Where in the document pydantic means: its own locations also name the members of unions."""
    location: Location = ()
    for depth, step in enumerate(detail["loc"]):
        if depth == 2 and detail["loc"][0] == "questions" and step in TYPES:
            continue
        holder = value_at(document, location)
        there = step in holder if isinstance(holder, dict) else isinstance(step, int)
        if not there and detail["type"] != "missing":
            break
        location += (step,)
    return location


def _is_text(location: Location) -> bool:
    """Whether instructions or a description stand at `location`; `criteria` itself holds descriptions."""
    return len(location) > 2 and location[2] in TEXT_KEYS and location[2:] != ("criteria",)


def _type_problem(location: Location, question: object) -> Problem:
    kind = question.get("type") if isinstance(question, dict) else None
    if kind is None:
        return Problem(location, f"is missing, allowed are {', '.join(TYPES)}", "missing")
    if kind == "box":
        return Problem(
            location,
            f"box needs an image, and this model reads text; allowed are {', '.join(TYPES)}",
            "box_type",
        )
    got = "another string" if isinstance(kind, str) else type_name(kind)
    return Problem(location, f"must be one of {', '.join(TYPES)}, got {got}", "question_type")


def _meaning_problems(
    document: object, request: SystemOneInvocation, max_questions: int
) -> Iterator[Problem]:
    if value_at(document, ("assets",)) is not None:
        yield Problem(
            ("assets",), "are not supported, this model reads text; describe the image in the state", "assets"
        )
    count = len(request.questions)
    if count > max_questions:
        yield Problem(("questions",), f"must hold at most {max_questions}, got {count}", "too_long")
    for name, question in request.questions.items():
        if isinstance(question, NoulQuestion) and not says_something(question):
            yield Problem(
                ("questions", name),
                "must have instructions or criteria, there is nothing to judge",
                "noul_empty",
            )


def says_something(question: NoulQuestion) -> bool:
    """Whether there is a question or a description of an answer in it."""
    criteria = question.criteria or NoulCriteria()
    return any(text not in (None, "") for text in (question.instructions, criteria.true, criteria.false))
