"""Labelled tasks: decisions of which the right option is known, read from JSON Lines.

Two forms of a line are read, told apart by what `question` is:

- text: a decision (`state`, `question`, `options` and maybe `id`, as the wire has them) beside `expected`,
  the id of the right option, and maybe `family`, `kind` and `group`;
- an object: a question of System One (`type`, `instructions`, `criteria`) about `state`, as JevBench's rows
  have it. `expected` is a choice's option, a noul's "yes" or "no", a score's level; `labels` orders them.

Messages name line and place, never what stands there.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from semif.client.values.wording import Wording, wording_of
from semif.errors import SemifError
from semif.evaluation.tasks.asked_table import AskedTable
from semif.evaluation.tasks.lines_error import LinesError
from semif.evaluation.tasks.near_labels import near_option
from semif.project.whole_files import read_whole, utf8
from semif_adapter.contract.errors import InvalidRequestError, Location, Problem
from semif_adapter.contract.question import Content, content_text
from semif_adapter.contract.request_problems import path_text, refuse, type_name
from semif_adapter.contract.strict_json import read_json
from semif_adapter.contract.wire import MAX_BODY_BYTES, Decision, Option, QuestionKind
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

MAX_FILE_BYTES = 1 << 28
"""Of labelled tasks: a hundred thousand of them with long states."""

_LABEL_KEYS = ("expected", "family", "kind", "group", "captured")
_ADVICE = (
    f"allowed keys: {', '.join((*Decision.model_fields, *_LABEL_KEYS))}; a table's own columns: --state",
    '{"state": "My card…", "question": "Team?", "options": [{"id": "bank"}, {"id": "it"}], "expected": "it"}',
)
"""What a file of tasks looks like, for whoever has another one."""
_SIDES = {"yes": TRUE, "no": FALSE}
_NO_INSTRUCTIONS = {"noul": NOUL_TEXT, "choice": CHOICE_TEXT, "score": SCORE_TEXT}
_SHOWN_KEYS = {
    "id", "state", "question", "options", "description", "labels", "split", *_LABEL_KEYS,
    "type", "instructions", "criteria",
}  # fmt: skip


@dataclass(frozen=True)
class LabelledTask:
    """One decision and the id of its right option, which is one of `options`.

    A `noul` has the options "true" and "false", a `score` the levels "0", "1" and so on.
    """

    id: str
    family: str | None
    kind: QuestionKind | None
    group: str | None
    state: Content
    question: str
    options: tuple[Option, ...]
    expected: str
    published: dict[str, Any] | None = None
    """The question as the row has it, where that is one of System One: a description may be an object."""
    captured: object = None
    """What `semif evaluate captured` wrote beside the task, as the row has it."""
    slices: Mapping[str, str] = field(default_factory=dict)
    """What a report breaks its figures down by beside family and kind: a language, say. By its name."""

    def decision(self, options: Sequence[Option] | None = None) -> dict[str, Any]:
        """The wire's `decision`, with its options in the order of `options` if that is given."""
        return {
            "id": self.id,
            "state": self.state,
            "question": self.question,
            "options": [self._asked(option) for option in options or self.options],
        }

    @property
    def wording(self) -> Wording:
        """The hashes of what is asked in the decision form."""
        return wording_of(self.question, [self._asked(option) for option in self.options])

    def _asked(self, option: Option) -> dict[str, str]:
        # "true" answers no question; System One's own mapping says yes and no as well.
        plain = {TRUE: "Yes", FALSE: "No"}.get(option.id) if self.kind == "noul" else None
        description = option.description or plain
        return {"id": option.id} | ({"description": description} if description else {})

    def system_one(self, options: Sequence[Option] | None = None) -> dict[str, Any]:
        """The question in System One's form; `options` reorders a choice, the others have one order only.

        A row that is one already is asked as it was published: a model with a prompt of its own may see the
        difference.
        """
        if self.published is not None:
            return self._as_published(options or self.options)
        texts = {option.id: option.description for option in options or self.options}
        match self.kind:
            case "noul":
                described = any(texts.values())
                criteria: Any = {"true": texts[TRUE], "false": texts[FALSE]} if described else None
            case "score":
                criteria = [texts[str(level)] or str(level) for level in range(len(texts))]
            case _:
                criteria = texts
        return {"type": self.kind or "choice", "instructions": self.question, "criteria": criteria}

    def _as_published(self, options: Sequence[Option]) -> dict[str, Any]:
        assert self.published is not None
        criteria, instructions = self.published.get("criteria"), self.published.get("instructions")
        if self.kind == "choice":
            criteria = {option.id: self.published["criteria"][option.id] for option in options}
        return {
            "type": self.kind,
            "instructions": self.question if instructions is None else instructions,
            "criteria": criteria,
        }


@dataclass(frozen=True)
class TaskSet:
    """The tasks of one file, in its order, and the SHA-256 of the file."""

    path: Path
    sha256: str
    tasks: tuple[LabelledTask, ...]
    table: AskedTable | None = None
    """How a table was asked; None of a file of tasks."""


def read_tasks(path: Path) -> tuple[LabelledTask, ...]:
    """The tasks of a file, in its order. Raises as `read_task_set` does."""
    return read_task_set(path).tasks


def read_task_set(path: Path) -> TaskSet:
    """A file of tasks. A line without an id is named after its number.

    Raises SemifError where the file cannot be read or holds no task, ProblemsError with all that is wrong.
    """
    content = read_whole(path, MAX_FILE_BYTES)
    lines = enumerate(utf8(content, path).split(b"\n"), 1)
    reading = ((number, partial(_read_line, line, number)) for number, line in lines if line.strip())
    return TaskSet(path, hashlib.sha256(content).hexdigest(), read_each(path, reading, _ADVICE))


def read_each(
    path: Path, reading: Iterable[tuple[int, Callable[[], LabelledTask]]], advice: Sequence[str]
) -> tuple[LabelledTask, ...]:
    """The task that each line makes, by its number; a call raises InvalidRequestError for what is wrong.

    Raises LinesError, which ends with `advice`, with all that is wrong, SemifError where there is no line.
    """
    tasks: list[LabelledTask] = []
    problems: list[tuple[int, str]] = []
    lines: dict[str, int] = {}
    for number, read in reading:
        try:
            task = read()
        except InvalidRequestError as error:
            problems += ((number, text) for text in _wordings(error))
            continue
        first = lines.setdefault(task.id, number)
        if first != number:
            problems.append((number, f"id must be unique, line {first} has the same"))
        tasks.append(task)
    if problems:
        raise LinesError(path, problems, advice)
    if not tasks:
        raise SemifError(f"{path} holds no task; {advice[0]}")
    return tuple(tasks)


def _read_line(line: bytes, number: int) -> LabelledTask:
    """Raises InvalidRequestError with what is wrong."""
    if len(line) > MAX_BODY_BYTES:  # no endpoint takes a longer request
        raise _wrong_line(f"has {len(line)} bytes, allowed are {MAX_BODY_BYTES}")
    row = read_json(line, _is_ours, one_line=True)
    if not isinstance(row, dict):
        raise _wrong_line(f"must be an object, got {type_name(row)}")
    row.setdefault("id", f"line-{number}")
    return _published(row) if isinstance(row.get("question"), dict) else plain_task(row)


def plain_task(row: dict[str, Any]) -> LabelledTask:
    """The task of a decision with its labels beside it. Raises InvalidRequestError with all that is wrong."""
    inner = {key: value for key, value in row.items() if key not in _LABEL_KEYS}
    return _task(row, row.get("kind"), parse_decision(inner), row.get("expected"))


def _published(row: dict[str, Any]) -> LabelledTask:
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
    refuse(row, problems, _is_ours)
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


def _wrong_line(message: str) -> InvalidRequestError:
    return InvalidRequestError(message, problems=[Problem((), message, "line")])


def _is_ours(location: Location) -> bool:
    """Whether the key at the end of a place is one of the two forms', and no text of the file's."""
    return location[-1] in _SHOWN_KEYS and "state" not in location[:-1]


def _wordings(error: InvalidRequestError) -> Iterator[str]:
    """What is wrong with a line, place by place, as the file's own keys have it."""
    for problem in error.problems:
        location = problem.location
        if location[:2] == ("questions", "#0"):
            location = ("question", *location[2:])
        yield f"{path_text(location) or 'it'} {problem.message}"
