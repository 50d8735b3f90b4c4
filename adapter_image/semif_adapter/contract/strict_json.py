"""Bytes to a JSON document, strictly: what is not certainly what the caller meant is refused.

JSON in UTF-8 without a byte order mark; no key twice in an object, no NaN, no number that no float holds, no
unpaired surrogate, no nesting beyond MAX_DEPTH.
"""

import json
import math
from collections.abc import Iterator
from typing import Any

from semif_adapter.contract.errors import InvalidRequestError, Location, Problem
from semif_adapter.contract.request_problems import IsOurs, refuse

MAX_DEPTH = 64
"""Deepest nesting of objects and arrays; the request's own levels count too."""

MAX_MARKS = 200_000
"""Most commas and opening brackets of a body, those in its strings included: a bound on the values in it.
Millions of values take Python minutes and stop every other thread, and no prompt has room for them."""

TOO_DEEP = Problem((), f"is nested deeper than {MAX_DEPTH} levels", "nested_too_deep")


def marks_in(body: bytes) -> int:
    """How many commas and opening brackets it has: a bound on the values in it."""
    return sum(map(body.count, (b",", b"[", b"{")))


def read_json(body: bytes, is_ours: IsOurs, *, one_line: bool = False) -> object:
    """The document in `body`, already bounded in bytes; of `one_line` a problem is told by its column alone.

    Raises InvalidRequestError with all problems of its text.
    """
    document = _load(body, one_line=one_line)
    refuse(document, _text_problems(document, is_ours), is_ours)
    return document


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its keys came twice, by position in the text."""

    repeated: tuple[tuple[int, str], ...] = ()


class _NotFinite:
    """Stands for NaN, Infinity or a number that no float holds, until its place is known."""


def _load(body: bytes, *, one_line: bool) -> object:
    if body.startswith(b"\xef\xbb\xbf"):
        raise _no_json(Problem((), "begins with a byte order mark, send UTF-8 without one", "json_invalid"))
    if marks_in(body) > MAX_MARKS:
        raise _no_json(
            Problem((), f"has more than {MAX_MARKS} commas and opening brackets", "too_many_values")
        )
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _no_json(Problem((), f"is not UTF-8, see byte {error.start}", "json_invalid")) from None
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_float=_float, parse_constant=lambda _: _NotFinite()
        )
    except RecursionError:
        raise _no_json(TOO_DEEP) from None
    except json.JSONDecodeError as error:
        line = "" if one_line else f"line {error.lineno} "
        raise _no_json(Problem((), f"is not JSON, see {line}column {error.colno}", "json_invalid")) from None
    except ValueError:
        # Python's limit on the digits of an integer.
        raise _no_json(Problem((), "holds a number of too many digits", "number_too_long")) from None


def _no_json(problem: Problem) -> InvalidRequestError:
    return InvalidRequestError(f"the body {problem.message}", problems=[problem])


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    result = _Object(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        repeated = []
        for position, (key, _) in enumerate(pairs):
            if key in seen:
                repeated.append((position, key))
            seen.add(key)
        result.repeated = tuple(repeated)
    return result


def _float(literal: str) -> float | _NotFinite:
    value = float(literal)
    return value if math.isfinite(value) else _NotFinite()


def _text_problems(document: object, is_ours: IsOurs) -> Iterator[Problem]:
    """What JSON's grammar allows and we do not: repeated keys, lone surrogates, deep nesting (and NaN)."""
    waiting: list[tuple[Location, object]] = [((), document)]
    while waiting:
        location, node = waiting.pop()
        if len(location) > MAX_DEPTH:
            yield TOO_DEEP
            return
        children: Iterator[tuple[str | int, object]] = iter(())
        if isinstance(node, _Object):
            for position, key in node.repeated:
                step = key if is_ours((*location, key)) else f"#{position}"
                yield Problem((*location, step), "is a key that came before in this object", "repeated_key")
            if not all(_is_text(key) for key in node):
                yield Problem(location, "has a key that holds an unpaired surrogate", "not_unicode")
            children = iter(node.items())
        elif isinstance(node, list):
            children = iter(enumerate(node))
        elif isinstance(node, _NotFinite):
            yield Problem(location, "is not a finite number", "finite_number")
        elif isinstance(node, str) and not _is_text(node):
            yield Problem(location, "holds an unpaired surrogate", "not_unicode")
        inner = [((*location, key), child) for key, child in children if not _is_harmless(child)]
        waiting.extend(reversed(inner))


def _is_harmless(node: object) -> bool:
    """Numbers and ASCII strings need no step of the walk; a body may hold very many."""
    return isinstance(node, int | float) or (isinstance(node, str) and node.isascii())


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
