"""Policies, states and answers for tests: made by hand, or by hypothesis."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from pydantic import ValidationError

from semif.client.results import DecisionResult, best_option
from semif.policy import PERSON, Bar, Condition, Fallback, Policy, Rule, Veto
from semif_adapter.contract.wire import AppliedCalibration, Result, ResultTiming
from tests.support.models.model_info import model_info

OPTIONS = ("approve", "reject", "ask")
FIELDS = ("amount", "order.amount", "tags", "order.items.0", "text")
WORDS = ("a", "b", "ab", "")

MODEL = model_info()


def answer(
    probabilities: Mapping[str, float] | Sequence[float], *, mass: float | None = None, name: str = "case-1"
) -> DecisionResult[str]:
    """An answer with these probabilities, of OPTIONS where no ids are given."""
    by_id = (
        dict(probabilities)
        if isinstance(probabilities, Mapping)
        else dict(zip(OPTIONS, probabilities, strict=True))
    )
    ids, values = tuple(by_id), tuple(by_id.values())
    raw = Result(
        id=name,
        option_ids=ids,
        probabilities=values,
        option_logits=values,
        allowed_token_mass=mass,
        input_tokens=1,
        cached_tokens=0,
        prompt_version="p1",
        prompt_sha256=hashlib.sha256(name.encode()).hexdigest(),
        calibration=AppliedCalibration(sha256="1" * 64, temperature=2.0) if mass else None,
        readout="text" if mass is None else "letters",
        timing=ResultTiming(suffix_forward_seconds=0.0, total_seconds=0.0),
        model=MODEL,
    )
    return DecisionResult(choice=ids[best_option(values)], raw=raw)


def policy(**changes: Any) -> Policy:
    """A policy over OPTIONS that accepts from a half on."""
    return Policy(**({"name": "test", "thresholds": dict.fromkeys(OPTIONS, 0.5)} | changes))


numbers = st.integers(-3, 3) | st.sampled_from([-0.5, 0.5, 1.5, 1e300])
scalars = numbers | st.sampled_from(WORDS) | st.booleans()


@st.composite
def conditions(draw: st.DrawFn, fields: Sequence[str] = FIELDS) -> Condition:
    """Any condition on one of the fields."""
    field = draw(st.sampled_from(fields))
    op = draw(
        st.sampled_from(
            ["==", "!=", "<", "<=", ">", ">=", "in", "not in", "contains", "lacks"] * 3
            + ["present", "absent"]
        )
    )
    if op in ("present", "absent"):
        return Condition(field=field, op=op)
    if op in ("in", "not in"):
        kind = draw(st.sampled_from([numbers, st.sampled_from(WORDS), st.booleans()]))
        return Condition(field=field, op=op, value=tuple(draw(st.lists(kind, min_size=1, max_size=3))))
    return Condition(field=field, op=op, value=draw(numbers if op[0] in "<>" else scalars))


values = scalars | st.none() | st.just(float("nan")) | st.lists(scalars, max_size=3)
"""What a field may hold, also what no condition compares with."""


@st.composite
def states(draw: st.DrawFn) -> Any:
    """A state that may have the FIELDS, or a text."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(WORDS))
    state = draw(st.dictionaries(st.sampled_from(["amount", "tags", "text"]), values))
    if draw(st.booleans()):
        order = draw(st.dictionaries(st.just("amount"), values))
        state["order"] = order | {"items": draw(st.lists(values, max_size=2))}
    return state


@st.composite
def answers(draw: st.DrawFn) -> DecisionResult[str]:
    """Any answer to OPTIONS, ties among them."""
    weights = draw(st.lists(st.integers(1, 20), min_size=3, max_size=3))
    mass = draw(st.none() | st.sampled_from([0.1, 0.5, 1.0]))
    return answer([weight / sum(weights) for weight in weights], mass=mass)


thens = st.sampled_from((*OPTIONS, PERSON))
shares = st.sampled_from([0.0, 0.25, 0.4, 0.5, 0.75, 1.0])


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Any policy over OPTIONS: rules, vetoes and fallbacks that a policy refuses are left out."""
    fallbacks = st.builds(
        Fallback, endpoints=st.sampled_from([(), ("large",), ("large", "last")]), then=thens
    )
    made = policy(
        thresholds={option: draw(shares) for option in OPTIONS},
        min_margin=draw(shares),
        min_allowed_token_mass=draw(st.none() | shares),
    )
    rules = st.builds(
        Rule,
        name=st.just("r"),
        when=st.tuples(conditions()) | st.tuples(conditions(), conditions()),
        then=thens,
    )
    vetoes = st.builds(
        Veto,
        name=st.just("v"),
        option=st.sampled_from(OPTIONS),
        when=st.tuples() | st.tuples(conditions()) | st.tuples(conditions(), conditions()),
        then=thens,
    )
    for part, strategy in (("rules", rules), ("vetoes", vetoes)):
        for number in range(draw(st.sampled_from([0, 0, 1, 2, 3]))):
            one = draw(strategy)
            made = _with(
                made, part, (*getattr(made, part), one.model_copy(update={"name": f"{one.name}{number}"}))
            )
    made = _with(made, "fallback", draw(fallbacks))
    bars = st.builds(
        Bar,
        thresholds=st.fixed_dictionaries(dict.fromkeys(OPTIONS, shares)),
        min_margin=shares,
        min_allowed_token_mass=st.none() | shares,
    )
    own = st.lists(st.sampled_from(made.fallback.endpoints or ("none",)), unique=True, max_size=2)
    return _with(made, "endpoints", {name: draw(bars) for name in draw(own)})


def _with(made: Policy, part: str, value: object) -> Policy:
    try:
        return Policy(**(dict(made) | {part: value}))
    except ValidationError:
        return made
