"""The same System One request to an engine and to the reference."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from semif_adapter.archive.decision_head import read_head
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Result
from semif_adapter.decoding.invariant_decoder import InvariantDecoder
from semif_adapter.decoding.steps import complete
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.systemone.form import SystemOneForm
from semif_adapter.llama.context import BATCH_TOKENS
from semif_adapter.llama.libllama import Library
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.machine.memory import MAX_STATE_BYTES
from semif_adapter.readouts.opening import question_writer

STATE: dict[str, Any] = {
    "message": "charged twice, übel <b>'sehr'</b>",
    "count": [1, -2, {"deep": None, "on": True}],
    "share": 0.5,
    "empty": [],
}
QUESTIONS: dict[str, Any] = {
    "plain": {"type": "choice", "instructions": "Which team?", "criteria": {"billing": None, "tech": None}},
    "described": {
        "type": "choice",
        "instructions": {"ask": "Which?", "of": ["a", 1]},
        "criteria": {"x": "money", "y": None, "z": {"errors": ["a", "b"]}, "zz": "", "y2": ["q"]},
    },
    "bare": {"type": "noul", "instructions": "Is it urgent?"},
    "sides": {
        "type": "noul",
        "instructions": "Urgent?",
        "criteria": {"true": "now", "false": {"when": "later"}},
    },
    "one side": {"type": "noul", "instructions": "Urgent?", "criteria": {"true": "now"}},
    "score": {
        "type": "score",
        "instructions": "How angry?",
        "criteria": ["calm", {"b": 1, "a": 2}, "furious"],
    },
}


def numbered(count: int) -> dict[str, Any]:
    """A choice of so many options."""
    return {"type": "choice", "instructions": "Which?", "criteria": {f"o{n}": None for n in range(count)}}


def body(questions: dict[str, Any], state: Any = STATE) -> dict[str, Any]:
    """A request."""
    return {"model": "jev-latest", "state": state, "questions": questions}


def probabilities(reply: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Each question's probabilities in a reply, of a noul that of true."""
    if "answers" not in reply:
        raise AssertionError(reply)
    return {
        name: answer.get("probabilities") or {"true": answer["noul"]}
        for name, answer in reply["answers"].items()
    }


def answers_of(engine: Engine, request: dict[str, Any]) -> tuple[dict[str, Any], list[Result]]:
    """The reply of `engine`, and its results."""
    form = SystemOneForm.parse(request, Settings())
    results, timing = engine.score(form.questions, form.layout)
    return form.to_response(results, timing).model_dump(mode="json"), results


Whole = Callable[[dict[str, Any]], dict[str, dict[str, float]]]
"""Answers a request; each question's probabilities."""


@contextmanager
def in_one_piece(library: Library, path: Path, context_tokens: int = 4096) -> Iterator[Whole]:
    """The model at `path`, asked with prompts that are not cut, or where llama-server cuts them.

    What the engine cuts off differs in the last digits, by the shape of the passes: these are its numbers.
    """
    with closing(Model(library, path, 0)) as model:
        writer = question_writer(model, "head", {}, read_head(model.metadata), context_tokens)
        memory = {
            "streams": 2,
            "context_tokens": context_tokens,
            "threads": 1,
            "saved_bytes": MAX_STATE_BYTES,
        }
        reads_head = writer.reads_head
        decoder = InvariantDecoder(model, sample=writer.sample, reads_head=reads_head, **memory)
        with closing(decoder):

            def ask(request: dict[str, Any]) -> dict[str, dict[str, float]]:
                questions = SystemOneForm.parse(request, Settings()).questions
                told = {}
                for written in writer.write(questions, "state-first", lambda: None)[0]:
                    whole = [
                        replace(prompt, segments=as_the_reference_cuts(np.concatenate(prompt.segments)))
                        for prompt in written.prompts
                    ]
                    uncut = replace(written, prompts=tuple(whole))
                    heard = complete(decoder.decode_all(uncut.asked, uncut.hear), decoder.context.run)
                    reading = uncut.read(heard, None)
                    names = (option.id for option in written.question.options)
                    told[written.question.id] = dict(zip(names, np.exp(reading.logits).tolist(), strict=True))
                return told

            yield ask


def as_the_reference_cuts(tokens: Tokens) -> tuple[Tokens, ...]:
    """A prompt as segments of a batch each: llama-server gives a short rest a pass of its own."""
    return tuple(np.split(tokens, range(BATCH_TOKENS, len(tokens), BATCH_TOKENS)))


def largest_difference(told: dict[str, dict[str, float]], reply: dict[str, Any]) -> float:
    """How far the probabilities of the reference's `reply` are from those `told`."""
    return max(
        abs(told[question][name] - probability)
        for question, each in probabilities(reply).items()
        for name, probability in each.items()
    )
