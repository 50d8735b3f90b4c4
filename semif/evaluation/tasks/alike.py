"""Tasks that look like variants of each other, though nothing ties them together.

Intervals and tests take tasks without a group for independent. Many rewordings of few cases, which is how
labelled sets are often made, would then count as many cases.
"""

import json
from collections.abc import Sequence

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

from semif.evaluation.tasks.labelled_tasks import LabelledTask

MOST_COMPARED = 2000
"""Tasks of a file that are looked at, the first ones: each is compared with each."""
MOST_CHARACTERS = 2000
"""Of a state, from its beginning."""
ALIKE = 0.6
"""Cosine similarity of two states' character 3- to 5-grams, weighted by TF-IDF, from which on they are taken
for variants. On examples/labelled.jsonl three quarters of the pairs of a group are above 0.67, and no pair of
different groups is above 0.41."""


def looking_alike(tasks: Sequence[LabelledTask]) -> int:
    """How many of the first MOST_COMPARED tasks have a variant among them that is not of the same group."""
    compared = tasks[:MOST_COMPARED]
    texts = [_text(task)[:MOST_CHARACTERS] for task in compared]
    if len(compared) < 2 or not any(map(str.strip, texts)):
        return 0
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform(texts)
    near = (
        NearestNeighbors(radius=1 - ALIKE, metric="cosine").fit(grams).radius_neighbors(return_distance=False)
    )
    return sum(
        any(_apart(compared[place], compared[other]) for other in others) for place, others in enumerate(near)
    )


def _text(task: LabelledTask) -> str:
    return task.state if isinstance(task.state, str) else json.dumps(task.state, ensure_ascii=False)


def _apart(one: LabelledTask, other: LabelledTask) -> bool:
    return one.group is None or one.group != other.group
