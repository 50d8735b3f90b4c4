"""The same System One request to an engine and to the reference."""

from typing import Any

from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Result
from semif_adapter.engine.engine import Engine
from semif_adapter.forms.systemone.form import SystemOneForm

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
