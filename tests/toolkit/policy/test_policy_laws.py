"""What holds for every policy, state and answer."""

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise, permutations
from typing import Any

import pytest
import tomli_w
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from semif.client.results import DecisionResult
from semif.errors import SemifError
from semif.policy import PERSON, Condition, Policy, load_policy, write_policy
from semif.policy.conditions import Unjudged
from semif.policy.reach import contradiction, covers, implies
from semif.policy.rules import judge_all
from tests.support.runs.policies import OPTIONS, answer, answers, conditions, policies, states, values

given_answers = st.lists(answers(), min_size=1, max_size=3)


@given(policy=policies(), state=states(), results=given_answers)
def test_a_rule_always_wins(policy: Policy, state: Any, results: Sequence[DecisionResult[str]]) -> None:
    outcome = policy.judge(state, *results)
    verdicts = [(rule, judge_all(rule.when, state, rule.name)) for rule in policy.rules]
    first = next(((rule, verdict) for rule, verdict in verdicts if verdict is not False), None)
    assert (first is not None) == (not outcome.answers)
    if first is not None:
        rule, verdict = first
        then = PERSON if isinstance(verdict, Unjudged) else rule.then
        assert (outcome.option or PERSON) == then or outcome.vetoed[0] == then
        assert outcome.rule is not None
    for veto in policy.vetoes:
        if outcome.option == veto.option:
            assert judge_all(veto.when, state, veto.name) is False
    assert (outcome.decided_by == "veto") == bool(outcome.vetoed)
    assert outcome.option not in outcome.vetoed


@given(
    policy=policies(),
    state=states(),
    results=given_answers,
    option=st.sampled_from(OPTIONS),
    by=st.floats(0, 1),
)
def test_raising_a_threshold_accepts_nothing_new(
    policy: Policy, state: Any, results: Sequence[DecisionResult[str]], option: str, by: float
) -> None:
    raised = min(1.0, policy.thresholds[option] + by)
    stricter = policy.model_copy(update={"thresholds": policy.thresholds | {option: raised}})
    before, after = policy.judge(state, *results), stricter.judge(state, *results)
    if not any(reply.kind == "answer" and not reply.shortfalls for reply in before.answers):
        assert (after.option, after.decided_by) == (before.option, before.decided_by)
        assert not any(reply.kind == "answer" and not reply.shortfalls for reply in after.answers)


@given(policy=policies(), state=states(), result=answers())
def test_the_order_of_the_options_makes_no_difference(
    policy: Policy, state: Any, result: DecisionResult[str]
) -> None:
    mass = result.allowed_token_mass
    orders = [answer(dict(order), mass=mass) for order in permutations(result.probabilities.items())]
    outcomes = [policy.judge(state, ordered) for ordered in orders]
    for one, other in pairwise(outcomes):
        assert (one.option, one.decided_by, one.rule, one.vetoed) == (
            other.option,
            other.decided_by,
            other.rule,
            other.vetoed,
        )
    shuffled = policy.model_copy(update={"thresholds": dict(reversed(policy.thresholds.items()))})
    assert shuffled.sha256 == policy.sha256


@given(policy=policies())
def test_a_written_policy_is_read_the_same(policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "same.policy.toml"
    write_policy(policy, path)
    read = load_policy(path)
    assert read == policy
    assert read.sha256 == policy.sha256
    assert list(read.thresholds) == list(policy.thresholds)


@given(
    name=st.text(
        st.characters(exclude_categories=("C", "Z"), include_characters=" "), min_size=1, max_size=50
    ),
    option=st.text(min_size=1, max_size=20),
    note=st.text(max_size=50),
)
def test_any_words_come_back_from_a_file(
    name: str, option: str, note: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(name.strip() and option.strip() and option not in ("other", PERSON))
    path = tmp_path_factory.getbasetemp() / "words.policy.toml"
    policy = Policy(name=name, description=note, thresholds={option: 0.1, "other": 1e-9})
    write_policy(policy, path)
    assert load_policy(path) == policy


@given(one=conditions(["amount"]), other=conditions(["amount"]), found=values)
@settings(max_examples=500)
def test_what_is_said_to_follow_does(one: Condition, other: Condition, found: Any) -> None:
    state = {"amount": found}
    if implies(one, other) and one.judge(state) is True:
        assert other.judge(state) is True
    if contradiction((one, other)):
        assert not (one.judge(state) is True and other.judge(state) is True)


@given(when=st.lists(conditions(), min_size=1, max_size=4), state=states(), data=st.data())
def test_the_order_of_conditions_makes_no_difference(
    when: list[Condition], state: Any, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(when))
    one, other = judge_all(when, state, "r"), judge_all(shuffled, state, "r")
    assert type(one) is type(other)
    assert isinstance(one, Unjudged) or one == other
    assert covers(when, shuffled)


@given(policy=policies(), state=states(), results=given_answers)
def test_an_outcome_holds_nothing_of_the_state(
    policy: Policy, state: Any, results: Sequence[DecisionResult[str]]
) -> None:
    secret = "ZQ7"
    hidden = json.loads(json.dumps(state), parse_constant=lambda _: secret)
    marked = json.loads(json.dumps(hidden).replace('"a"', f'"{secret}"').replace('"b"', f'"{secret}"'))
    outcome = policy.judge(marked, *results)
    assert secret not in outcome.model_dump_json()
    assert type(outcome).model_validate_json(outcome.model_dump_json()) == outcome


keys = st.sampled_from(
    [
        "name",
        "thresholds",
        "rules",
        "vetoes",
        "fallback",
        "when",
        "then",
        "option",
        "field",
        "op",
        "value",
        "x",
    ]
)
leaves = st.sampled_from(
    ["approve", "reject", PERSON, "==", "amount", "", 0, 1, 0.5, True, float("nan"), 10**30]
)
documents = st.dictionaries(
    keys,
    st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    ),
)


@given(document=documents)
def test_any_file_is_read_or_refused(
    document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.policy.toml"
    base = {"name": "n", "thresholds": {"approve": 0.5, "reject": 0.5}}
    path.write_text(tomli_w.dumps(base | document))
    with suppress(SemifError):
        assert load_policy(path).name
