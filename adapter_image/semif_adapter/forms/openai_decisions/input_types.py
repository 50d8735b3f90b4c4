"""What the input of `POST /v1/decisions` is made of: turns, calls of tools, and the parts of both.

Read from the types of the PyPI package `openai` 3.57.0 (`client.decisions.create`) on 2026-11-30.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag

from semif_adapter.contract.wire import NonEmptyText, WireModel

ROLES = ("user", "developer", "system", "assistant")
ITEM_TYPES = (
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
)
PART_TYPES = ("input_text", "input_json", "output_text", "refusal")
STRING, SEQUENCE = "<string>", "<array>"
"""Which member of a union a value is of; pydantic puts these into an error's location, where no key of a
document can be taken for them."""


def shape_of(value: object) -> str | None:
    """Whether a value is text or an array; None for anything else."""
    if isinstance(value, str):
        return STRING
    return SEQUENCE if isinstance(value, list | tuple) else None


def type_of(value: Any) -> str | None:
    """What a value says that it is, in the form of a location."""
    kind = value.get("type") if isinstance(value, Mapping) else getattr(value, "type", None)
    return f"<{kind}>" if isinstance(kind, str) else None


def _item_type_of(value: Any) -> str | None:
    """A message may leave its type out."""
    return "<message>" if isinstance(value, Mapping) and "type" not in value else type_of(value)


class _InputModel(WireModel):
    """What the input is made of; further keys of OpenAI's (ids, statuses, cache breakpoints) are ignored."""

    model_config = ConfigDict(extra="ignore")


class OpenAIText(_InputModel):
    """Text: of a user or a tool, or what an assistant wrote."""

    type: Literal["input_text", "output_text"]
    text: str


class OpenAIJson(_InputModel):
    """Data, shown to the model as compact JSON."""

    type: Literal["input_json"]
    data: dict[str, JsonValue] | list[dict[str, JsonValue]]


class OpenAIRefusal(_InputModel):
    """What an assistant wrote when it declined."""

    type: Literal["refusal"]
    refusal: str


Part = Annotated[
    Annotated[OpenAIText, Tag("<input_text>")]
    | Annotated[OpenAIText, Tag("<output_text>")]
    | Annotated[OpenAIJson, Tag("<input_json>")]
    | Annotated[OpenAIRefusal, Tag("<refusal>")],
    Discriminator(type_of),
]
Parts = Annotated[tuple[Part, ...], Field(strict=False)]  # JSON has no tuples: let arrays become them
Content = Annotated[
    Annotated[str, Tag(STRING)] | Annotated[Parts, Tag(SEQUENCE)],
    Discriminator(shape_of),
]


class OpenAIMessage(_InputModel):
    """A turn of a conversation."""

    type: Literal["message"] = "message"
    role: Literal["user", "developer", "system", "assistant"]
    content: Content


class OpenAIFunctionCall(_InputModel):
    """A tool that the assistant called; `arguments` is JSON text."""

    type: Literal["function_call"]
    call_id: str
    name: str
    namespace: str | None = None
    arguments: str


class OpenAICustomToolCall(_InputModel):
    """A tool that the assistant called with free text."""

    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    namespace: str | None = None
    input: str


class OpenAIToolOutput(_InputModel):
    """What the call of that id, earlier in the input, gave back."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: str
    output: Content


Item = Annotated[
    Annotated[OpenAIMessage, Tag("<message>")]
    | Annotated[OpenAIFunctionCall, Tag("<function_call>")]
    | Annotated[OpenAIToolOutput, Tag("<function_call_output>")]
    | Annotated[OpenAICustomToolCall, Tag("<custom_tool_call>")]
    | Annotated[OpenAIToolOutput, Tag("<custom_tool_call_output>")],
    Discriminator(_item_type_of),
]
Items = Annotated[tuple[Item, ...], Field(strict=False, min_length=1)]
Instructions = Annotated[
    Annotated[NonEmptyText, Tag(STRING)]
    | Annotated[tuple[Part, ...], Field(strict=False, min_length=1), Tag(SEQUENCE)],
    Discriminator(shape_of),
]
