"""What `bench.engine` asks: nothing that a round before has asked, so that no cache knows how it begins."""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path

import pytest

from bench.engine.measuring.workloads import ROUTING, Case, Workloads
from semif.evaluation.tasks.task_lines import read_tasks
from semif_adapter.llama.libllama import Library
from semif_adapter.llama.model import Model

CASES: dict[str, Callable[[Workloads, int], Case]] = {
    "W1": lambda workloads, number: workloads.one_schema(number, 8),
    "W2": lambda workloads, number: workloads.one_state(number, 50, 8),
    "W2 long": lambda workloads, number: workloads.one_state(number, 300, 8, are_long=True),
    "W3": lambda workloads, number: workloads.all_distinct(number, 4),
}


@pytest.fixture(scope="module")
def workloads(library: Library, tiny_gguf: Callable[..., Path]) -> Iterator[Workloads]:
    with closing(Model(library, tiny_gguf(), 0)) as model:
        yield Workloads(model, read_tasks(ROUTING))


def beginnings(case: Case) -> list[str]:
    """What stands behind the system's words in each prompt, before what is asked of it or about it."""
    key = "question" if case.layout == "schema-first" else "state"
    return [decision[key] for request in case.requests for decision in request]


@pytest.mark.parametrize("name", CASES)
def test_every_round_begins_its_prompts_in_other_words(workloads: Workloads, name: str) -> None:
    rounds = [set(beginnings(CASES[name](workloads, number))) for number in range(5)]
    assert all(one.isdisjoint(other) for one, other in combinations(rounds, 2))


def test_no_two_prompts_of_the_distinct_ones_begin_alike(workloads: Workloads) -> None:
    told = beginnings(workloads.all_distinct(0, 20))
    assert len(set(told)) == len(told)
