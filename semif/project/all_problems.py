"""What is wrong across the keys of a file, told with what is wrong with a key alone: in one round."""

from collections.abc import Iterable
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ModelWrapValidatorHandler, ValidationError
from pydantic_core import InitErrorDetails

Checked = TypeVar("Checked", bound=BaseModel)
KeyPath = tuple[str | int, ...]


def with_all_problems(
    model: type[Checked],
    content: Any,
    handler: ModelWrapValidatorHandler[Checked],
    across: Iterable[tuple[KeyPath, str]],
) -> Checked:
    """What `handler` makes of `content`, for a validator of the mode `wrap`.

    `across` are the place and the wording of each problem across keys, found in `content` itself, where
    single keys may be wrong. Raises ValidationError with all of them.
    """
    problems: list[InitErrorDetails] = []
    try:
        checked = handler(content)
    except ValidationError as error:
        problems += [cast(InitErrorDetails, details) for details in error.errors(include_url=False)]
    problems += [
        {"type": "value_error", "loc": place, "input": None, "ctx": {"error": ValueError(problem)}}
        for place, problem in across
    ]
    if problems:
        raise ValidationError.from_exception_data(model.__name__, problems)
    return checked
