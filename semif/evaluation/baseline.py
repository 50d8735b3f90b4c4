"""What a classifier gets that is trained on the labels themselves: a model that costs more has to beat it.

TF-IDF of words and pairs of words, and logistic regression, by cross-validation: each task is answered by a
classifier that has seen the others, and none of its own group.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline

from semif.errors import SemifError
from semif.evaluation.runs.new_run import new_header
from semif.evaluation.runs.run_file import Asking, Pins, Record, TargetName
from semif.evaluation.runs.run_writer import open_run
from semif.evaluation.runs.task_record import ReplyContent, record_of
from semif.evaluation.tasks.labelled_tasks import LabelledTask, TaskSet
from semif.evaluation.tasks.option_orders import OrderedTask
from semif_adapter.contract.question import content_text

FOLDS = 5
"""Most parts of the tasks; each is answered by a classifier that learned from the others."""
MIN_TASKS = 10
"""Fewest tasks of a question from which anything is learned."""
_WORD = r"(?u)\b\w+\b"
"""One letter is a word, too: scikit-learn's own pattern wants two."""


def run_baseline(sets: Sequence[TaskSet], seed: int, output: Path) -> int:
    """Let the baseline answer, as a run file; returns how many tasks it learned too little for.

    Questions and options tell it nothing, it learns from states and labels.

    Tasks are learned from together where they have the same question and options. Left out are those of a
    question that has fewer than MIN_TASKS groups, or a single right option. `seed` divides the tasks. A
    record's time is its share of what its fold took, learning included. Raises SemifError where nothing is
    left, and as `open_run`.
    """
    header = new_header(
        sets,
        TargetName(kind="baseline", name=f"trained on the labels, {FOLDS} folds, seed {seed}"),
        Pins(model_name="TF-IDF and logistic regression"),
        Asking(seed=seed),
    )
    alike: dict[tuple[str, frozenset[str]], list[LabelledTask]] = {}
    for task in (task for file in sets for task in file.tasks):
        alike.setdefault((task.question, frozenset(option.id for option in task.options)), []).append(task)
    records = list(chain.from_iterable(_answers(same, seed) for same in alike.values() if _is_enough(same)))
    if not records:
        raise SemifError(
            f"nothing to learn from: no question has {MIN_TASKS} tasks, of as many groups, with words in "
            "them and two right options"
        )
    with open_run(output, header) as run:
        answered = {record.task for record in run.earlier}
        for record in records:
            if record.task not in answered:
                run.append(record)
    return sum(len(file.tasks) for file in sets) - len(records)


def _is_enough(tasks: Sequence[LabelledTask]) -> bool:
    several = len({task.expected for task in tasks}) > 1
    worded = sum(any(map(str.isalnum, content_text(task.state))) for task in tasks)
    return several and worded > len(tasks) / 2 and len(set(map(_group, tasks))) >= MIN_TASKS


def _group(task: LabelledTask) -> str:
    return f"task {task.id}" if task.group is None else f"group {task.group}"


def _answers(tasks: Sequence[LabelledTask], seed: int) -> Iterator[Record]:
    texts, labels = (
        np.array([content_text(task.state) for task in tasks]),
        np.array([task.expected for task in tasks]),
    )
    most = int(np.unique(labels, return_counts=True)[1].max())
    folds = StratifiedGroupKFold(min(FOLDS, most), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # it is missing in some folds
        divided = list(folds.split(texts, labels, [_group(task) for task in tasks]))
    for learned, asked in divided:
        began, day = time.perf_counter(), datetime.now(UTC)
        names, probabilities = _predicted(texts[learned], labels[learned], texts[asked])
        seconds = (time.perf_counter() - began) / max(1, len(asked))
        for place, row in zip(asked, probabilities, strict=True):
            yield _record(tasks[place], dict(zip(names, row.tolist(), strict=True)), day, seconds)


def _predicted(
    texts: NDArray[np.str_], labels: NDArray[np.str_], asked: NDArray[np.str_]
) -> tuple[list[str], NDArray[np.float64]]:
    """The options seen, and for each text asked a probability for each of them."""
    names = sorted(set(labels.tolist()))
    if len(names) == 1:
        return names, np.ones((len(asked), 1))
    learner = make_pipeline(
        TfidfVectorizer(token_pattern=_WORD, ngram_range=(1, 2), sublinear_tf=True),
        LogisticRegression(C=10, max_iter=1000),
    ).fit(texts, labels)
    return learner.classes_.tolist(), learner.predict_proba(asked)


def _record(task: LabelledTask, found: dict[str, float], asked: datetime, seconds: float) -> Record:
    ids = tuple(option.id for option in task.options)
    probabilities = tuple(min(1.0, found.get(name, 0.0)) for name in ids)
    return record_of(
        OrderedTask(task, 0, task.options),
        ReplyContent(choice=ids[int(np.argmax(probabilities))], probabilities=probabilities),
        asked=asked,
        client_seconds=seconds,
    )
