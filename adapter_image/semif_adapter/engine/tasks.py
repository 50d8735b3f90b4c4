"""From questions to work: which readout asks a question, in which orders of its options, in which tokens."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semif_adapter.contract.errors import PromptTooLongError
from semif_adapter.contract.question import Question
from semif_adapter.contract.wire import Layout, Readout
from semif_adapter.decoding.continuations import count_decoded
from semif_adapter.llama.model import Tokens
from semif_adapter.prompt.labels import Label
from semif_adapter.prompt.writer import Prompt, PromptWriter

ALWAYS_LISTED = 26
"""Up to so many options the list may take what it needs: only a prompt that does not fit is refused."""
_SHARED_SEGMENTS = 2  # system and state, or system and schema


@dataclass(frozen=True)
class Task:
    """One question, ready to run.

    There is a prompt for each order of the options that is asked; the list in prompt r begins with option r.
    `continuations` are the options' words, for the text readout, and `prior_key` names what they follow when
    there is no state: the same for all states.
    """

    index: int
    """Which of the request's questions it is."""
    question: Question
    readout: Readout
    prompts: tuple[Prompt, ...]
    labels: tuple[Label, ...]
    continuations: tuple[Tokens, ...] = ()
    prior_key: bytes | None = None


class TaskMaker:
    """Makes the tasks of one model; safe from any thread.

    A question with more options than the model has labels for, or whose list would take more than half of the
    context, is asked with the text readout instead, which has no limit.
    """

    def __init__(self, writers: dict[Readout, PromptWriter], labels: tuple[Label, ...], limit: int) -> None:
        self._writers = writers
        self._labels = labels
        self._limit = limit

    def make(self, questions: Sequence[Question], layout: Layout) -> list[list[Task]]:
        """The tasks of one request, grouped by readout; those of a group share their first segments.

        Raises InvalidRequestError (a text that is no Unicode) and PromptTooLongError (with counts).
        """
        groups: dict[Readout, list[Task]] = {}
        known: dict[Readout, dict[str, Tokens]] = {"letters": {}, "text": {}}
        for index, question in enumerate(questions):
            task = self._task(index, question, layout, known)
            groups.setdefault(task.readout, []).append(task)
        return list(groups.values())

    def without_state(self, task: Task, layout: Layout) -> Prompt:
        """The task's first prompt with nothing in the state's place: the question alone."""
        return self._writers[task.readout].write_without_state(task.question, layout)

    def _task(
        self,
        index: int,
        question: Question,
        layout: Layout,
        known: dict[Readout, dict[str, Tokens]],
    ) -> Task:
        task = self._listed(index, question, layout, known["letters"])
        if task is None:
            writer = self._writers["text"]
            prompt = writer.write(question, layout, known=known["text"])
            continuations = tuple(writer.continuation(option, question.path) for option in question.options)
            key = _prior_key(question, layout)
            task = Task(index, question, "text", (prompt,), (), continuations, key)
        self._check_length(task)
        return task

    def _listed(
        self, index: int, question: Question, layout: Layout, known: dict[str, Tokens]
    ) -> Task | None:
        """The task with the options in its prompt, behind labels; None where they are too many for that."""
        count = len(question.options)
        if count > len(self._labels):
            return None
        writer, labels = self._writers["letters"], self._labels[:count]
        texts = [label.text for label in labels]
        prompts = [writer.write(question, layout, texts, known=known)]
        if count > ALWAYS_LISTED and prompts[0].schema_tokens > self._limit // 2:
            return None
        if question.rotate and prompts[0].length <= self._limit:
            prompts += [writer.write(question, layout, texts, turn, known) for turn in range(1, count)]
        return Task(index, question, "letters", tuple(prompts), labels)

    def _check_length(self, task: Task) -> None:
        length = max(prompt.length for prompt in task.prompts)
        length += max(map(len, task.continuations), default=0)
        if length > self._limit:
            raise PromptTooLongError(
                f"the prompt{' with its longest option' if task.continuations else ''} has {length} tokens, "
                f"allowed are {self._limit}; shorten the state, the question or the options",
                path=task.question.path,
            )


def _prior_key(question: Question, layout: Layout) -> bytes:
    schema = [layout, question.text, *(option.spoken for option in question.options)]
    return hashlib.sha256(json.dumps(schema).encode()).digest()


def shared_prefix(tasks: Sequence[Task]) -> tuple[Tokens, ...]:
    """The first two segments of `tasks`, which have one readout; nothing where their prompts differ there."""
    prompts = [prompt for task in tasks for prompt in task.prompts]
    first = prompts[0].segments[:_SHARED_SEGMENTS]
    same = all(np.array_equal(first[1], prompt.segments[1]) for prompt in prompts)
    return first if same else ()


def count_tokens(groups: Sequence[Sequence[Task]], *, can_cut: bool) -> int:
    """How many tokens the tasks take to compute, a prefix that they share once, priors left out.

    `can_cut` says whether the model can forget the last tokens only.
    """
    total = 0
    for tasks in groups:
        shared = sum(map(len, shared_prefix(tasks)))
        total += shared
        for task in tasks:
            total += sum(prompt.length - shared for prompt in task.prompts)
            total += count_decoded(task.continuations, can_cut=can_cut)
    return total
