"""What makes the decisions of a case, and the case with its prompts: all get the same ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench.engine.measuring.workloads import Case, DecisionBody
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import DecisionRequest, DecisionsRequest
from semif_adapter.decoding.tiles import Tiles
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.decisions import to_questions
from semif_adapter.llama.model import Tokens


@dataclass(frozen=True)
class PreparedCase:
    """A case with its prompts, cut as the adapter cuts them: one tuple of segments a decision."""

    case: Case
    questions: tuple[Sequence[Question], ...]
    prompts: tuple[tuple[tuple[Tokens, ...], ...], ...]
    follow_up: "PreparedCase | None"


def prepare_case(engine: Engine, case: Case) -> PreparedCase:
    """Write and tokenise the prompts of `case` with the adapter's own writer."""
    questions = [to_questions(_request(case, decisions))[0] for decisions in case.requests]
    prompts = []
    for asked in questions:
        tasks = [task for group in engine.prepare(asked, case.layout).groups for task in group]
        prompts.append(tuple(task.prompts[0].segments for task in tasks))
    follow_up = prepare_case(engine, case.follow_up) if case.follow_up else None
    return PreparedCase(case, tuple(questions), tuple(prompts), follow_up)


def padded_decisions(prepared: PreparedCase, tiles: Tiles | None) -> int:
    """How many decisions of the case the adapter reads off a padded pass."""
    if tiles is None:
        return 0
    prompts = [segments for request in prepared.prompts for segments in request]
    return sum(
        tiles.padding(sum(map(len, segments[:2])), sum(map(len, segments[2:]))) > 0 for segments in prompts
    )


def document(case: Case, decisions: Sequence[DecisionBody]) -> dict[str, Any]:
    """The body of one request to the adapter."""
    return {"decision": decisions[0]} if case.layout == "schema-first" else {"decisions": list(decisions)}


def _request(case: Case, decisions: Sequence[DecisionBody]) -> DecisionRequest | DecisionsRequest:
    body = document(case, decisions)
    kind = DecisionRequest if "decision" in body else DecisionsRequest
    return kind.model_validate(body, strict=False)


class Contender(Protocol):
    """One way to make the decisions of a job."""

    name: str
    pid: int
    """The process that does the work."""

    def covers(self, _case: Case, /) -> bool:
        """Whether the case says anything about this one."""
        ...

    def run(self, prepared: PreparedCase) -> float:
        """Make the decisions; by how much to multiply the time, where only a part of them was made."""
        ...
