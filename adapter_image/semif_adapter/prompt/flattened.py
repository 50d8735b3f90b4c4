"""JSON as Kev was trained to read it: lines of `key: value`, lists with dashes, no brackets."""

import json

from pydantic import JsonValue


def flattened(content: JsonValue, depth: int = 0) -> str:
    """`content` as text; a text stays what it is, null is nothing, truth is Python's.

    As `decision_kev_render` of llama.cpp (tools/server/server-decision.cpp, read at 3cafcc83 on 2026-11-30)
    and Kev's own `render`, which it follows.
    """
    indent = "  " * depth
    match content:
        case None:
            return ""
        case str():
            return content
        case bool():
            return str(content)
        case list():
            items = (flattened(item, depth + 1).lstrip(" \t\n\r") for item in content)
            return "\n".join(f"{indent}- {item}" for item in items)
        case dict():
            return "\n".join(indent + _entry(key, value, depth) for key, value in content.items())
        case _:
            return json.dumps(content)


def _entry(key: str, value: JsonValue, depth: int) -> str:
    if isinstance(value, list | dict):
        return f"{key}:\n{flattened(value, depth + 1)}"
    return f"{key}: {flattened(value)}"
