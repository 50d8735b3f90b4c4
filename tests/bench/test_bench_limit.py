"""What the limit of `bench.engine` computes: every token once, in as few passes as there can be."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench.engine.contenders.contender import prepare_case
from bench.engine.contenders.in_process import BASELINE_BATCH_TOKENS, Limit
from bench.engine.measuring.workloads import Case
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import Context
from semif_adapter.llama.libllama import Library
from semif_adapter.llama.model import Model

STATE, OTHER_STATE = "The parcel never came. " * 4, "The card was charged twice. " * 4
Requests = tuple[tuple[dict[str, Any], ...], ...]


def decision(state: str, question: str = "What is it about?") -> dict[str, Any]:
    options = [{"id": name, "description": f"It is about {name}"} for name in ("money", "parcels")]
    return {"id": "one", "state": state, "question": question, "options": options}


@pytest.fixture(scope="module")
def context(library: Library, tiny_gguf: Callable[..., Path]) -> Iterator[Context]:
    with (
        closing(Model(library, tiny_gguf(), 0)) as model,
        closing(
            Context(model, streams=1, context_tokens=1024, threads=1, batch_tokens=BASELINE_BATCH_TOKENS)
        ) as context,
    ):
        yield context


@pytest.mark.parametrize(
    ("requests", "prefixes", "rests"),
    [
        pytest.param(((decision(STATE),),), 0, 1, id="one question"),
        pytest.param(((decision(STATE),), (decision(OTHER_STATE),)), 0, 2, id="two states"),
        pytest.param(((decision(STATE), decision(STATE, "And now?")),), 1, 1, id="two questions"),
    ],
)
def test_a_prefix_is_a_pass_of_its_own_only_where_prompts_share_it(
    context: Context,
    load_engine: Callable[..., Engine],
    tiny_gguf: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    requests: Requests,
    prefixes: int,
    rests: int,
) -> None:
    case = Case("W2", "state-first", requests)
    prepared = prepare_case(load_engine(tiny_gguf(), context_tokens=1024), case)
    limit = Limit(context, tiles=None)
    limit.run(prepared)  # the system's words are computed once and kept
    sizes: list[int] = []
    computed = context.run

    def counted(passes: Any) -> Any:
        sizes.extend(len(part.tokens) for part in passes)
        return computed(passes)

    monkeypatch.setattr(context, "run", counted)
    limit.run(prepared)
    prompts = [segments for request in prepared.prompts for segments in request]
    shared = {segments[1].tobytes(): len(segments[1]) for segments in prompts}
    assert len(sizes) == prefixes + rests
    assert sum(sizes) == sum(shared.values()) + sum(len(rest) for _, _, *rests in prompts for rest in rests)
