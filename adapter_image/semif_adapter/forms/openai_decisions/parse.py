"""A JSON document to a request of the Decisions API; a place is named by its path, `questions[1].levels`."""

from collections.abc import Iterator
from functools import partial

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from semif_adapter.contract.errors import Location, Problem
from semif_adapter.contract.request_problems import (
    object_problem,
    one_for_each_place,
    path_text,
    refuse,
    shape_message,
    shaped,
    type_name,
    value_at,
)
from semif_adapter.forms.openai_decisions.input_types import (
    ITEM_TYPES,
    PART_TYPES,
    ROLES,
    OpenAICustomToolCall,
    OpenAIFunctionCall,
    OpenAIJson,
    OpenAIMessage,
    OpenAIRefusal,
    OpenAIText,
    OpenAIToolOutput,
)
from semif_adapter.forms.openai_decisions.state import state_of
from semif_adapter.forms.openai_decisions.types import (
    QUESTION_TYPES,
    OpenAIChoice,
    OpenAIDecisionInvocation,
    OpenAIDecisionRequest,
    OpenAILevel,
    OpenAIOption,
    OpenAIPredicate,
    OpenAIScore,
)

_QUESTIONS: dict[str, type[BaseModel]] = {
    "predicate": OpenAIPredicate,
    "choice": OpenAIChoice,
    "score": OpenAIScore,
}
_MODELS: tuple[type[BaseModel], ...] = (
    OpenAIDecisionRequest,
    OpenAIMessage,
    OpenAIFunctionCall,
    OpenAICustomToolCall,
    OpenAIToolOutput,
    OpenAIText,
    OpenAIJson,
    OpenAIRefusal,
    OpenAIOption,
    OpenAILevel,
    *_QUESTIONS.values(),
)
_OUR_KEYS = frozenset(key for model in _MODELS for key in model.model_fields)


def is_ours(location: Location) -> bool:
    """Whether the key at the end of `location` is the wire's and not the caller's."""
    return location[-1] in _OUR_KEYS and not {"data", "prompt_cache_options"} & set(location[:-1])


def parse_request(
    document: object, form: type[OpenAIDecisionInvocation], *, max_questions: int
) -> OpenAIDecisionInvocation:
    """The request in `document`, strict JSON already.

    Raises InvalidRequestError with every problem in it.
    """
    if not isinstance(document, dict):
        refuse(document, [object_problem(document)], is_ours)
    request = shaped(
        document, form, lambda error: one_for_each_place(error, partial(_shape_problem, document)), is_ours
    )
    refuse(document, _meaning_problems(request, max_questions), is_ours)
    return request


def _shape_problem(document: object, detail: ErrorDetails) -> Problem:
    location = _real_location(document, detail)
    value = value_at(document, location)
    if detail["type"] in ("union_tag_not_found", "union_tag_invalid"):
        return _union_problem(location, value)
    if "data" in location and detail["type"] != "missing":
        location = location[: location.index("data") + 1]
        return Problem(location, "must be an object, or an array of objects", "data_type")
    return Problem(location, shape_message(detail, _allowed_keys(document, location)), detail["type"])


def _real_location(document: object, detail: ErrorDetails) -> Location:
    """Where in the document pydantic means: its own locations also name the members of unions."""
    location: Location = ()
    for step in detail["loc"]:
        holder = value_at(document, location)
        there = step in holder if isinstance(holder, dict) else isinstance(step, int)
        if there:
            location += (step,)
    return (*location, detail["loc"][-1]) if detail["type"] == "missing" else location


def _union_problem(location: Location, value: object) -> Problem:
    """What is wrong where none of several shapes fits."""
    match location:
        case ("input",):
            return _shape(location, value, "a string or an array of messages and tool calls")
        case ("input", int()):
            return _type_problem(location, value, ITEM_TYPES)
        case ("questions", int()):
            return _type_problem(location, value, QUESTION_TYPES)
        case (*_, "value"):
            return _shape(location, value, "a string or a boolean")
        case (*_, int()):
            return _part_problem(location, value)
        case _:
            return _shape(location, value, "a string or an array of parts")


def _shape(location: Location, value: object, allowed: str) -> Problem:
    return Problem(location, f"must be {allowed}, got {type_name(value)}", "type")


def _part_problem(location: Location, value: object) -> Problem:
    if isinstance(value, dict) and value.get("type") == "input_image":
        return Problem(
            location, "is an image, and this model reads text; describe it in an input_text", "image"
        )
    return _type_problem(location, value, PART_TYPES)


def _type_problem(location: Location, value: object, allowed: tuple[str, ...]) -> Problem:
    if not isinstance(value, dict):
        return _shape(location, value, "an object")
    kind = value.get("type")
    got = "nothing" if "type" not in value else "another string" if isinstance(kind, str) else type_name(kind)
    return Problem((*location, "type"), f"must be one of {', '.join(allowed)}, got {got}", "type")


def _allowed_keys(document: object, location: Location) -> list[str]:
    """The keys of the object that holds the last step of `location`, where unknown ones are refused."""
    match location:
        case ("questions", int(), "choices", int(), _):
            return list(OpenAIOption.model_fields)
        case ("questions", int(), "levels", int(), _):
            return list(OpenAILevel.model_fields)
        case ("questions", int(index), _):
            kind = value_at(document, ("questions", index, "type"))
            return list(_QUESTIONS[kind].model_fields) if isinstance(kind, str) else []
        case (*_, "role"):
            return list(ROLES)
        case _:
            return []


def _meaning_problems(request: OpenAIDecisionInvocation, max_questions: int) -> Iterator[Problem]:
    count = len(request.questions)
    if count > max_questions:
        yield Problem(("questions",), f"must hold at most {max_questions}, got {count}", "too_long")
    unmatched = False
    for problem in _call_problems(request):
        unmatched = True
        yield problem
    if not unmatched and state_of(request) in ("", {}, []):
        yield Problem(("input",), "must not be empty, there is nothing to judge", "empty")
    for index, question in enumerate(request.questions):
        if isinstance(question, OpenAIChoice):
            yield from _repeated_values(("questions", index, "choices"), question.choices)


def _call_problems(request: OpenAIDecisionInvocation) -> Iterator[Problem]:
    """Calls of one id, and outputs of no call before them."""
    if isinstance(request.input, str):
        return
    calls: dict[tuple[str, str], int] = {}
    for index, item in enumerate(request.input):
        location: Location = ("input", index, "call_id")
        if isinstance(item, OpenAIFunctionCall | OpenAICustomToolCall):
            earlier = calls.setdefault((item.type, item.call_id), index)
            if earlier != index:
                yield Problem(location, f"must be unique, input[{earlier}].call_id is the same", "repeated")
        elif isinstance(item, OpenAIToolOutput):
            called = item.type.removesuffix("_output")
            if (called, item.call_id) not in calls:
                yield Problem(location, f"must be that of a {called} before it, there is none", "no_call")


def _repeated_values(location: Location, choices: tuple[OpenAIOption, ...]) -> Iterator[Problem]:
    first: dict[tuple[bool, str | bool], int] = {}
    for index, choice in enumerate(choices):
        # Python holds True for 1, and neither for a string: the type is part of the value here.
        earlier = first.setdefault((isinstance(choice.value, bool), choice.value), index)
        if earlier != index:
            yield Problem(
                (*location, index, "value"),
                f"must be unique, {path_text(location)}[{earlier}].value is the same",
                "repeated",
            )
