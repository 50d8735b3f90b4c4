"""Labelled tasks: decisions of which the right option is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from semif.client.values.wording import Wording, wording_of
from semif.evaluation.tasks.asked_table import AskedTable
from semif_adapter.contract.question import Content
from semif_adapter.contract.wire import Option, QuestionKind
from semif_adapter.forms.systemone.questions import FALSE, TRUE


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
