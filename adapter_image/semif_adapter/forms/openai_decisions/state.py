"""The input of a request as the state that every question is about."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from semif_adapter.contract.question import Content as State
from semif_adapter.contract.question import content_text
from semif_adapter.forms.openai_decisions.input_types import (
    Content,
    Item,
    OpenAICustomToolCall,
    OpenAIFunctionCall,
    OpenAIJson,
    OpenAIMessage,
    OpenAIRefusal,
    OpenAIText,
    Part,
)
from semif_adapter.forms.openai_decisions.types import OpenAIDecisionInvocation

_Calls = Mapping[tuple[str, str], int]
"""The numbers of calls, by type and id."""


def state_of(request: OpenAIDecisionInvocation) -> State:
    """Text as it is, a conversation as a JSON array of its turns, one object each.

    A single message of a user is what it says: clients send documents so. In JSON nothing that a turn says
    can be taken for another turn.
    """
    match request.input:
        case str(text):
            return text
        case (OpenAIMessage(role="user", content=content),):
            return said(content)
        case items:
            calls = _numbered(items)
            return [_turn(item, calls) for item in items]


def said(content: Content) -> State:
    """A string, the data of a content that is nothing else, or the parts as lines."""
    match content:
        case str(text):
            return text
        case (OpenAIJson(data=data),):
            return _json(data)
        case parts:
            return "\n".join(map(_part_text, parts))


def _part_text(part: Part) -> str:
    match part:
        case OpenAIText(text=text) | OpenAIRefusal(refusal=text):
            return text
        case OpenAIJson(data=data):
            return content_text(_json(data))


def _json(data: dict[str, JsonValue] | list[dict[str, JsonValue]]) -> State:
    return data if isinstance(data, dict) else [*data]


def _numbered(items: Sequence[Item]) -> _Calls:
    """Calls counted from 1: their ids are random, and would make two equal conversations two prompts."""
    calls = [item for item in items if isinstance(item, OpenAIFunctionCall | OpenAICustomToolCall)]
    return {(call.type, call.call_id): number for number, call in enumerate(calls, 1)}


def _turn(item: Item, calls: _Calls) -> JsonValue:
    match item:
        case OpenAIMessage():
            return {"role": item.role, "content": said(item.content)}
        case OpenAIFunctionCall(arguments=given) | OpenAICustomToolCall(input=given):
            name = item.name if item.namespace is None else f"{item.namespace}.{item.name}"
            return {
                "role": "assistant",
                "call": calls[item.type, item.call_id],
                "tool": name,
                "content": given,
            }
        case _:
            call = calls[item.type.removesuffix("_output"), item.call_id]
            return {"role": "tool", "call": call, "content": said(item.output)}
