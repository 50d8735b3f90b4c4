"""A question and its options, as applications have them and as the wire has them."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, get_args, get_origin, overload

from semif.client.errors import RequestRefusedError
from semif.client.results import Choice_co
from semif.client.values.options import option_id, own_description

if TYPE_CHECKING:
    from typing_extensions import TypeForm

Choice = TypeVar("Choice", bound=str | Enum | bool)
FirstChoice = TypeVar("FirstChoice")
SecondChoice = TypeVar("SecondChoice")
ThirdChoice = TypeVar("ThirdChoice")
"""Of two or three questions asked together, each with a type of its own."""

ListedOptions: TypeAlias = Mapping[Choice, str | None] | Sequence[Choice]
"""Ids in the order that the model shall see them, or ids with their descriptions (None for none). A member of
an Enum may stand for an id: its value, a string, is the id then, or an id with its description. True and
False stand for `yes` and `no`."""

_ALLOWED = (
    "options are a list of ids, a mapping from ids to descriptions, an Enum whose values are strings (or a "
    "string and its description), a Literal of strings, or bool"
)


class Question(Generic[Choice_co]):
    """One question for `decide_many`, with the options to choose from.

    The answer's `choice` is one of the options as they were given: a string for a list of ids or a mapping, a
    member for an Enum class or members of one, one of the strings for a Literal type, True or False for bool.
    """

    @overload
    def __init__(
        self: "Question[Choice]", text: str, options: ListedOptions[Choice], *, id: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: "Question[Choice]", text: str, options: "TypeForm[Choice]", *, id: str | None = None
    ) -> None: ...
    def __init__(self, text: str, options: Any, *, id: str | None = None) -> None:  # noqa: A002 - the wire's
        """Raises RequestRefusedError for options of no such kind. `id` names the answer in the reply."""
        pairs = tuple(_pairs(options))
        self.text = text
        self.id = id
        self.choices: tuple[Choice_co, ...] = tuple(choice for choice, _ in pairs)
        """What `options` holds, in its order: the answer is one of them."""
        self.wire_options = tuple(_option(choice, description) for choice, description in pairs)
        """The same as the wire has them."""


def _pairs(options: Any) -> Iterator[tuple[Any, Any]]:
    """Each option, as it was given, with its description."""
    options = getattr(options, "__value__", options)  # of a `type` statement
    if get_origin(options) is Literal:
        return ((option, None) for option in get_args(options))
    if isinstance(options, Mapping):
        return iter(options.items())
    if isinstance(options, Sequence) and not isinstance(options, str | bytes):
        return ((option, None) for option in options)
    if options is bool:
        return ((answer, None) for answer in (True, False))
    if isinstance(options, type) and issubclass(options, Enum):
        return ((member, None) for member in options)
    got = options.__name__ if isinstance(options, type) else f"a {type(options).__name__}"
    raise RequestRefusedError(f"{got} is no set of options: {_ALLOWED}", code="invalid_request")


def _option(choice: Any, description: Any) -> dict[str, Any]:
    identifier = option_id(choice)
    description = own_description(choice) if description is None else description
    if not isinstance(identifier, str):
        what = f"a member of {type(choice).__name__}" if isinstance(choice, Enum) else "an option"
        raise RequestRefusedError(
            f"{what} is of type {type(identifier).__name__}, an id is a string: {_ALLOWED}",
            code="invalid_request",
        )
    return {"id": identifier} | ({} if description is None else {"description": description})
