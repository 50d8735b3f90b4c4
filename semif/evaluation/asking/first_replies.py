"""Stopping a run whose first replies hold no answer: a wrong place to look at would cost all tasks."""

import json
import re
from collections.abc import Iterator, Mapping

from semif.errors import SemifError, printable
from semif.evaluation.asking.forms import RequestForm
from semif.evaluation.asking.forms.named_option import named_option
from semif.evaluation.runs.run_file import Record
from semif_adapter.contract.request_problems import type_name
from semif_adapter.contract.wire import Option

WITHOUT_ANSWER = 5
"""So many first replies without anything where the answer is looked for end a run: the place is wrong."""
WITHOUT_OPTION = 20
"""So many first replies that name no option do: it may be the model that answers in sentences."""
_MAX_VALUES = 12
"""Most values of a reply that a message names."""
_MAX_KEY = 40
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w{0,39}", re.ASCII)


class NoAnswersError(SemifError):
    """The first replies hold no answer. They are kept, and the run may go on all the same."""


class FirstReplies:
    """The first replies of a new run."""

    def __init__(self, form: RequestForm) -> None:
        self._form = form
        self._replies = self._lacking = 0
        self._answered = False

    def check(self, record: Record, left: int) -> None:
        """Count an answer, behind which `left` are still to come.

        Raises NoAnswersError where no reply so far holds an answer and enough have come. A server that fails
        or refuses has not replied.
        """
        self._answered = self._answered or record.status == "answered"
        lacks = record.error is not None and record.error.code == "invalid_answer"
        if self._answered or not left or not (lacks or record.status == "unparsable"):
            return
        self._replies += 1
        self._lacking += lacks
        if lacks and self._lacking == self._replies == WITHOUT_ANSWER:
            assert record.error is not None
            raise self._error(f"hold no answer: {record.error.message}", record, left)
        if self._replies == WITHOUT_OPTION:
            raise self._error("name no option of their tasks", record, left)

    def _error(self, what: str, record: Record, left: int) -> NoAnswersError:
        lines = [
            f"the first {self._replies} replies {what}; {left:,} more were not asked for. The last one has:",
            *_shape(record.raw),
            f"{self._form.sought}{_instead(record)}; a change needs another --output",
        ]
        return NoAnswersError("\n  ".join(lines))


def _shape(reply: object) -> list[str]:
    """A reply's places and what is there, by type and size: values may be secrets, or customers' texts."""
    values = [f"{path or 'the reply itself'}: {_kind(value)}" for path, value in _values(reply)]
    rest = len(values) - _MAX_VALUES
    return [*values[:_MAX_VALUES], *([f"and {rest} more"] if rest > 0 else [])]


def _instead(record: Record) -> str:
    """The places whose words name an option, for whom that is a hint."""
    options = [Option(id=name) for name in record.option_ids]
    found = [
        path
        for path, value in _values(record.raw)
        if path and isinstance(value, str) and named_option(value, options, labelled=False) is not None
    ]
    return f". An option is named at {' and '.join(found[:2])}" if found else ""


def _kind(value: object) -> str:
    if isinstance(value, str):
        return f"a string of {len(value)} characters"
    return f"an empty {type_name(value).split()[1]}" if isinstance(value, dict | list) else type_name(value)


def _values(node: object, path: str = "") -> Iterator[tuple[str, object]]:
    """All that holds nothing further, by its place as JMESPath has it."""
    match node:
        case Mapping() if node:
            for key, child in node.items():
                yield from _values(child, f"{path}{'.' if path else ''}{_step(key)}")
        case list() if node:
            for place, child in enumerate(node):
                yield from _values(child, f"{path}[{place}]")
        case _:
            yield path, node


def _step(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else json.dumps(printable(key[:_MAX_KEY]), ensure_ascii=False)
