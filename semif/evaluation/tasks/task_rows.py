"""A row of a file of tasks as a task: both forms of it, and what is wrong with its labels."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast, get_args

from semif.evaluation.tasks.labelled_tasks import LabelledTask
from semif.evaluation.tasks.near_labels import near_option
from semif_adapter.contract.errors import InvalidRequestError, Location, Problem
from semif_adapter.contract.question import Content, content_text
from semif_adapter.contract.request_problems import refuse, type_name
from semif_adapter.contract.wire import Decision, QuestionKind
from semif_adapter.forms.invocations import parse_decision
from semif_adapter.forms.systemone.parse import parse_system_one
from semif_adapter.forms.systemone.questions import CHOICE_TEXT, FALSE, NOUL_TEXT, SCORE_TEXT, TRUE
from semif_adapter.forms.systemone.types import (
    AnyQuestion,
    ChoiceQuestion,
    NoulCriteria,
    NoulQuestion,
    ScoreQuestion,
    SystemOneInvocation,
)

KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
LABEL_KEYS = ("expected", "family", "kind", "group", "captured")
"""What stands beside a decision."""
_SIDES = {"yes": TRUE, "no": FALSE}
_NO_INSTRUCTIONS = {"noul": NOUL_TEXT, "choice": CHOICE_TEXT, "score": SCORE_TEXT}
_SHOWN_KEYS = {
    "id", "state", "question", "options", "description", "labels", "split", *LABEL_KEYS,
    "type", "instructions", "criteria",
}  # fmt: skip


def plain_task(row: dict[str, Any]) -> LabelledTask:
    """The task of a decision with its labels beside it. Raises InvalidRequestError with all that is wrong."""
    inner = {key: value for key, value in row.items() if key not in LABEL_KEYS}
    return _task(row, row.get("kind"), parse_decision(inner), row.get("expected"))


def published_task(row: dict[str, Any]) -> LabelledTask:
    """The task of a question of System One about a state. Raises as `plain_task`."""
    body = {"questions": {"q": row["question"]}} | ({"state": row["state"]} if "state" in row else {})
    request = parse_system_one(body, SystemOneInvocation, max_questions=1)
    (question,) = request.questions.values()
    texts = _descriptions(question)
    order = _order(row.get("labels"), list(texts))
    decision = parse_decision(
        {
            "id": row["id"],
            "state": request.state,
            "question": _words(question.instructions) or _NO_INSTRUCTIONS[question.type],
            "options": [
                {"id": name} | ({"description": texts[name]} if texts[name] else {}) for name in order
            ],
        }
    )
    expected = row.get("expected")
    if isinstance(question, NoulQuestion) and isinstance(expected, str):
        expected = _SIDES.get(expected, expected)
    elif isinstance(question, ScoreQuestion) and type(expected) is int:
        expected = str(expected)
    return replace(_task(row, question.type, decision, expected), published=row["question"])


def _descriptions(question: AnyQuestion) -> dict[str, str]:
    """The names of a question's answers and what describes them, empty where nothing does."""
    match question:
        case NoulQuestion():
            sides = question.criteria or NoulCriteria()
            return {TRUE: _words(sides.true), FALSE: _words(sides.false)}
        case ChoiceQuestion():
            return {name: _words(text) for name, text in question.criteria.items()}
        case ScoreQuestion():
            return {str(level): _words(text) for level, text in enumerate(question.criteria)}


def _words(text: Content | None) -> str:
    return "" if text is None else content_text(text)


def _order(labels: object, names: list[str]) -> list[str]:
    """The names in the order of `labels`, which has each of them once; as they stand where there are none."""
    if labels is None:
        return names
    ordered = labels if isinstance(labels, list) and all(isinstance(label, str) for label in labels) else []
    if set(names) == set(_SIDES.values()):
        ordered = [_SIDES.get(label, label) for label in ordered]
    if sorted(ordered) != sorted(names):
        message = "must be the names of the question's answers, each once"
        raise InvalidRequestError(message, problems=[Problem(("labels",), message, "labels")])
    return ordered


def _task(row: dict[str, Any], kind: object, decision: Decision, expected: object) -> LabelledTask:
    """The task of a line whose decision is right. Raises InvalidRequestError for labels that do not fit."""
    problems = list(_label_problems(row, kind, [option.id for option in decision.options], expected))
    refuse(row, problems, is_ours)
    return LabelledTask(
        id=decision.id,
        family=row.get("family"),
        kind=cast("QuestionKind | None", kind),
        group=row.get("group"),
        state=decision.state,
        question=decision.question,
        options=decision.options,
        expected=cast("str", expected),
        captured=row.get("captured"),
    )


def _label_problems(
    row: dict[str, Any], kind: object, options: list[str], expected: object
) -> Iterator[Problem]:
    for key in ("family", "group"):
        if not isinstance(row.get(key), str | None):
            yield Problem((key,), f"must be a string or null, got {type_name(row[key])}", "string_type")
    allowed = {"noul": {TRUE, FALSE}, "score": {str(level) for level in range(len(options))}}
    if kind not in (None, *KINDS):
        yield Problem(("kind",), f"must be one of {', '.join(KINDS)}", "kind")
    elif set(options) != allowed.get(str(kind), set(options)):
        names = '"true" and "false"' if kind == "noul" else 'the levels "0", "1" and so on'
        yield Problem(("kind",), f"is {kind}, whose options are {names}", "kind")
    if "expected" not in row:
        yield Problem(("expected",), "is missing, it names the right option", "missing")
    elif expected not in options:
        yield Problem(
            ("expected",), f"must be one of the options{near_option(expected, options)}", "expected"
        )


def is_ours(location: Location) -> bool:
    """Whether the key at the end of a place is one of the two forms', and no text of the file's."""
    return location[-1] in _SHOWN_KEYS and "state" not in location[:-1]
