"""From a task and what came back to a line of a run file."""

from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from semif.evaluation.runs.run_file import AnswerFault, Record, Status
from semif.evaluation.tasks.option_orders import OrderedTask


@dataclass(frozen=True, kw_only=True)
class ReplyContent:
    """What a reply says, in the terms of a `Record`, which documents the fields."""

    status: Status = "answered"
    choice: str | None = None
    probabilities: tuple[float, ...] | None = None
    confidence: float | None = None
    option_logits: tuple[float, ...] | None = None
    allowed_token_mass: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    server_seconds: float | None = None
    error: AnswerFault | None = None


def record_of(
    ordered: OrderedTask,
    content: ReplyContent,
    *,
    asked: datetime,
    client_seconds: float,
    queue_seconds: float | None = None,
    attempts: int = 1,
    refusals: int = 0,
    raw: JsonValue = None,
) -> Record:
    """The record of a task in the order asked; `Record` documents the fields."""
    task, wording = ordered.task, ordered.task.wording
    return Record(
        task=task.id,
        family=task.family,
        kind=task.kind,
        group=task.group,
        order=ordered.order,
        option_ids=ordered.option_ids,
        expected=task.expected,
        question_sha256=wording.question_sha256,
        options_sha256=wording.options_sha256,
        slices=dict(task.slices) or None,
        asked=asked,
        client_seconds=client_seconds,
        queue_seconds=queue_seconds,
        attempts=attempts,
        refusals=refusals,
        raw=raw,
        **vars(content),
    )
