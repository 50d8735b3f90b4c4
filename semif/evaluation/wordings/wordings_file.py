"""Wordings: several ways to ask the same labelled tasks, from a TOML file."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, StringConstraints, model_validator

from semif.errors import SemifError, shown
from semif.evaluation.tasks.labelled_tasks import LabelledTask, TaskSet
from semif.project.all_problems import KeyPath, with_all_problems
from semif.project.toml_file import read_toml
from semif_adapter.contract.wire import MAX_OPTIONS, Identifier, Option, WireModel, Words

MAX_WORDINGS = 50
"""Of a file: each costs a question a task, and each pair a test."""


class TaskWording(WireModel):
    """One way to ask: a question, and what each option is called."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    """Of its run file, too."""
    question: Words
    options: Annotated[dict[Identifier, str], Field(min_length=2, max_length=MAX_OPTIONS)]
    """The tasks' ids with their descriptions; empty where the id says it all."""


class WordingsFile(WireModel):
    """The content of a file of wordings."""

    wordings: Annotated[tuple[TaskWording, ...], Field(strict=False, min_length=2, max_length=MAX_WORDINGS)]

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, content: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Compare the wordings as well, even where one is wrong by itself."""
        return with_all_problems(cls, content, handler, _problems_together(content))


def _problems_together(content: object) -> Iterator[tuple[KeyPath, str]]:
    """Names that are given twice."""
    listed = content.get("wordings") if isinstance(content, Mapping) else None
    wordings = [one if isinstance(one, Mapping) else {} for one in listed] if isinstance(listed, list) else []
    names = [one["name"] for one in wordings if isinstance(one.get("name"), str)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield (), f"several wordings are called {shown(name)}; give each its own name"


def read_wordings(path: Path) -> tuple[TaskWording, ...]:
    """The wordings of a file. Raises SemifError where it cannot be read, ProblemsError with its problems."""
    return read_toml(path, WordingsFile).wordings


def reworded(tasks: TaskSet, wording: TaskWording) -> TaskSet:
    """The same tasks, asked in other words; the order of each task's options stays.

    The set's SHA-256 is of both, so that a run does not go on with another wording's answers. Raises
    SemifError where a task has other options.
    """
    told = f"{tasks.sha256} {wording.model_dump_json()}"
    return TaskSet(
        path=tasks.path,
        sha256=hashlib.sha256(told.encode()).hexdigest(),
        tasks=tuple(_reworded(tasks.path, task, wording.question, wording.options) for task in tasks.tasks),
    )


def _reworded(path: Path, task: LabelledTask, question: str, descriptions: Mapping[str, str]) -> LabelledTask:
    ids = [option.id for option in task.options]
    if set(ids) != descriptions.keys():
        raise SemifError(
            f"{path}: a task has the options {', '.join(ids)}, the wordings have {', '.join(descriptions)}; "
            "label one question to a file, and name its options"
        )
    options = tuple(Option(id=name, description=descriptions[name] or None) for name in ids)
    # Without a kind: a noul without descriptions would be asked with "Yes" and "No" of its own.
    return replace(task, question=question, options=options, kind=None)
