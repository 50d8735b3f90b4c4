"""What decides beside the model: rules before it, vetoes after it, and what is done without a good answer."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetPydanticSchema, field_validator
from pydantic_core import CoreSchema, core_schema

from semif.errors import SemifError, shown
from semif.policy.conditions import Condition, Unjudged
from semif_adapter.contract.wire import Identifier, WireModel

PERSON = "person"
"""What stands in `then` where no option is taken, but a person asked; no option may have this name."""
MAX_NAME = 100
MAX_RULES = 100
MAX_CONDITIONS = 20
MAX_ENDPOINTS = 10
"""Of a fallback."""

StateTest = Callable[[Any], bool]
"""Takes the state, returns whether it holds. It must return True or False: a forgotten return is an error."""


def _condition_or_function(_type: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """A function stands as it is, all else must be a condition."""
    return core_schema.no_info_wrap_validator_function(
        lambda value, condition: value if callable(value) else condition(value), handler(Condition)
    )


def _one_line(text: str) -> str:
    if not text.strip() or not text.isprintable() or len(text) > MAX_NAME:
        raise ValueError(f"{shown(text)} is no name: one line of 1 to {MAX_NAME} characters")
    return text


ShortName = Annotated[str, AfterValidator(_one_line)]
When = Annotated[Condition | StateTest, GetPydanticSchema(_condition_or_function)]
Conditions = Annotated[tuple[When, ...], Field(strict=False, max_length=MAX_CONDITIONS)]


class Rule(WireModel):
    """Decides before the model, which then is not asked: the first rule that holds."""

    name: ShortName
    """What the outcome calls it."""
    when: Conditions
    """All of them must hold. In code a function of the state may stand in place of a condition."""
    then: Identifier
    """An option, or `person`."""

    @field_validator("when")
    @classmethod
    def _not_always(cls, when: tuple[When, ...]) -> tuple[When, ...]:
        if not when:
            raise ValueError("has no condition: the model would never be asked; say when the rule holds")
        return when


class Veto(WireModel):
    """Forbids an option, whoever gave it: the model, a rule, or the fallback."""

    name: ShortName
    """What the outcome calls it."""
    option: Identifier
    """What is forbidden."""
    when: Conditions = ()
    """All of them must hold; without any the option is never taken."""
    then: Identifier = PERSON
    """What is done instead: another option, or `person`."""


class Fallback(WireModel):
    """What is done without an answer that passes."""

    endpoints: Annotated[tuple[Identifier, ...], Field(strict=False, max_length=MAX_ENDPOINTS)] = ()
    """Names of other endpoints, asked in this order until one's answer passes."""
    then: Identifier = PERSON
    """What is done when none did: an option, or `person`."""


def judge_all(when: Sequence[When], state: object, rule: str) -> bool | Unjudged:
    """Whether all conditions of the rule named `rule` hold. One that does not hold settles it, and only then
    one that cannot be judged: what comes first makes no difference.

    Raises SemifError where a function returns something else than True or False.
    """
    unjudged: Unjudged | None = None
    for condition in when:
        if isinstance(condition, Condition):
            verdict = condition.judge(state)
        else:
            verdict = condition(state)
            if not isinstance(verdict, bool):
                raise SemifError(
                    f"{rule!r}: {condition_text(condition)} returned a {type(verdict).__name__}, "
                    "not True or False"
                )
        if verdict is False:
            return False
        if isinstance(verdict, Unjudged):
            unjudged = unjudged or verdict
    return unjudged or True


def condition_text(when: When) -> str:
    """A condition as a person would write it, a function by its name."""
    return str(when) if isinstance(when, Condition) else f"{getattr(when, '__name__', 'a function')}()"
