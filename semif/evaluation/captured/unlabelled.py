"""Captured exchanges to tasks that somebody can label: each different question, with its last answer."""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from semif.evaluation.asking.forms.fields import object_of, read_reply
from semif.evaluation.captured.exchange import Exchange, LeftOutError, read_exchange
from semif_adapter.contract.errors import InvalidRequestError
from semif_adapter.contract.wire import MAX_DECISIONS
from semif_adapter.forms.invocations import form_of, parse_decisions, read_document
from semif_adapter.forms.systemone.parse import parse_system_one
from semif_adapter.forms.systemone.types import SystemOneInvocation

Row = dict[str, Any]
"""A line of a file of tasks, with `expected` still null and the endpoint's answer under `captured`."""


@dataclass
class Sample:
    """Tasks drawn at random from all different ones that were captured, and what was seen on the way."""

    size: int
    """The most tasks to keep."""
    chance: random.Random
    rows: list[Row] = field(default_factory=list)
    exchanges: int = 0
    questions: int = 0
    different: int = 0
    """Of the questions: those with another state, question or options than all before."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why, and how often."""
    _places: dict[bytes, int | None] = field(default_factory=dict)
    """By the hash of a question: where it is among the rows; None: it was not drawn."""
    _drawn: list[bytes] = field(default_factory=list)
    """The hashes of the rows."""
    _ids: set[str] = field(default_factory=set)

    def take(self, lines: Iterable[bytes]) -> None:
        """Draw from `lines` too. Of questions that were asked again the last answer counts."""
        for line in lines:
            self.exchanges += 1
            try:
                exchange = read_exchange(line)
                for row in rows_of(exchange):
                    self._take_row(row, exchange)
            except LeftOutError as error:
                self.left_out[str(error)] += 1

    def _take_row(self, row: Row, exchange: Exchange) -> None:
        self.questions += 1
        asked = json.dumps([row["state"], row["question"], row.get("options")]).encode()
        digest = hashlib.sha256(asked).digest()
        if digest in self._places:
            place = self._places[digest]
            if place is not None:
                self.rows[place]["captured"] = row["captured"]
            return
        place = self._draw()
        self._places[digest] = place
        if place is None:
            return
        if row["id"] in self._ids:  # a caller's own, given twice
            row["id"] = f"{exchange.event}-{self.questions}"
        self._ids.add(row["id"])
        if place == len(self.rows):
            self.rows.append(row)
            self._drawn.append(digest)
        else:
            self._places[self._drawn[place]] = None
            self.rows[place], self._drawn[place] = row, digest

    def _draw(self) -> int | None:
        """Where the next different question goes, so that all have the same chance; None: it stays out."""
        self.different += 1
        if len(self.rows) < self.size:
            return len(self.rows)
        place = self.chance.randrange(self.different)
        return place if place < self.size else None


def rows_of(exchange: Exchange) -> Iterator[Row]:
    """A row for each question of a request. Raises LeftOutError for what asks no decision of ours."""
    try:
        document = read_document(exchange.request)
        form = form_of(document)
        if form == "input":
            raise LeftOutError("a request in the form of OpenAI's Decisions API")
        if form == "questions":
            parse_system_one(document, SystemOneInvocation, max_questions=MAX_DECISIONS)
            asked = _system_one(document, _reply(exchange))
        else:
            parse_decisions(document, form, max_decisions=MAX_DECISIONS)
            asked = _decisions(document, form, _reply(exchange))
    except InvalidRequestError:
        raise LeftOutError("a request that asks no decision") from None
    several = len(asked) > 1
    for number, (question, reply) in enumerate(asked, start=1):
        yield {
            "id": f"{exchange.id}-{number}" if several else exchange.id,
            **question,
            "expected": None,
            "captured": {"time": exchange.time.isoformat(), "reply": reply},
        }


def _reply(exchange: Exchange) -> dict[str, Any]:
    try:
        return object_of(read_reply(exchange.reply or b""))
    except ValueError:
        return {}


def _decisions(document: Row, form: str, reply: Row) -> list[tuple[Row, Row | None]]:
    """Each decision with the reply that it would have had alone."""
    alone = form == "decision"
    decisions: list[Row] = [document["decision"]] if alone else document["decisions"]
    results: Any = [reply.get("result")] if alone else reply.get("results")
    if not isinstance(results, list) or len(results) != len(decisions):
        results = [None] * len(decisions)
    return [
        (
            {key: decision[key] for key in ("state", "question", "options")},
            {"result": result} if isinstance(result, dict) else None,
        )
        for decision, result in zip(decisions, results, strict=True)
    ]


def _system_one(document: Row, reply: Row) -> list[tuple[Row, Row | None]]:
    answers = object_of(reply.get("answers"))
    shared = {key: value for key, value in reply.items() if key in ("model", "usage", "x_timing")}
    return [
        (
            {"state": document["state"], "question": question},
            {**shared, "answers": {"task": answers[name]}} if name in answers else None,
        )
        for name, question in document["questions"].items()
    ]
