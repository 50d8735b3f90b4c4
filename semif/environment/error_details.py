"""The problems of an environment file as pydantic carries them, of single keys and across them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import ModelWrapValidatorHandler, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails

from semif.environment.problems import problems_aside, problems_together
from semif.environment.unknown_keys import unknown_key, value_of_another
from semif.errors import MAX_LISTED
from semif.project.all_problems import Checked

_READ_AS_A_WHOLE = {
    *("kind", "endpoint", "model", "adapter", "text", "decider"),
    *("scaling", "async", "deployment"),
}
"""Keys and tables without which nothing can be said of memory, time and files."""


def problems_across(tables: Any) -> tuple[list[str], list[str]]:
    """What is wrong across keys: of container, model and instances, and of all else."""
    if not isinstance(tables, Mapping):
        return [], []
    return [*problems_together(tables)], [*problems_aside(tables)]


def without_wrong_tables(
    handler: ModelWrapValidatorHandler[Checked], tables: Any, wrong: Sequence[ErrorDetails]
) -> Checked | None:
    """The environment without its wrong tables; None where one of them is needed to say more of it.

    A table that nobody knows may be such a one, misspelt.
    """
    names = {str(details["loc"][0]) if details["loc"] else "kind" for details in wrong}
    unknown = any(details["type"] == "extra_forbidden" and len(details["loc"]) == 1 for details in wrong)
    if not isinstance(tables, Mapping) or unknown or names & _READ_AS_A_WHOLE:
        return None
    mended = {key: value for key, value in tables.items() if key not in names}
    try:
        return handler({"removal": "retain", "name": "wrong", **mended})
    except ValidationError:
        return None


def as_errors(problems: Iterable[str]) -> list[InitErrorDetails]:
    """Lines that name their keys themselves."""
    return [
        {"type": "value_error", "loc": (), "input": None, "ctx": {"error": ValueError(problem)}}
        for problem in problems
    ]


def as_meant(errors: Sequence[ErrorDetails]) -> list[InitErrorDetails]:
    """The same errors; of what is none where it stands one that says what was meant, where that shows."""
    told = [_as_meant(details) for details in errors[:MAX_LISTED]]  # no more are read by anybody
    return [*told, *cast(list[InitErrorDetails], errors[MAX_LISTED:])]


def _as_meant(details: ErrorDetails) -> InitErrorDetails:
    meant = None
    if details["type"] == "extra_forbidden":
        meant = unknown_key(details["loc"])
    elif details["type"] == "literal_error":
        meant = value_of_another(details["loc"], details["input"], details["ctx"]["expected"])
    if meant is None:
        return cast(InitErrorDetails, details)
    return {"type": meant, "loc": details["loc"], "input": details["input"]}
