"""Policies: what passes, what falls back, what a file may say, and what every mistake in it is told as."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from semif.client.results import DecisionResult
from semif.errors import ProblemsError, SemifError
from semif.policy import (
    Bar,
    Condition,
    EndpointAnswer,
    Fallback,
    Outcome,
    Policy,
    Rule,
    Veto,
    load_policy,
    write_policy,
)
from semif.policy.conditions import Unjudged
from tests.support.runs.policies import OPTIONS, answer, policy

ANSWERER = {"model_sha256": "a" * 64, "prompt_version": "p1"}
MADE_FOR = {"question_sha256": "1" * 64, "options_sha256": "2" * 64, "answerers": [ANSWERER]}
STATE = {
    "amount": 12.5,
    "currency": "EUR",
    "open": True,
    "nothing": None,
    "tags": ["vip", 1],
    "items": [{"sku": "X-1"}],
    "nan": float("nan"),
    "0": {"1": "by key"},
}


@pytest.mark.parametrize(
    ("field", "op", "value", "verdict"),
    [
        ("amount", ">", 12, True),
        ("amount", ">", 12.5, False),
        ("amount", ">=", 12.5, True),
        ("amount", "<", 12.5, False),
        ("amount", "<=", 12.5, True),
        ("amount", "==", 12.5, True),
        ("amount", "!=", 12.5, False),
        ("amount", "in", [1, 12.5], True),
        ("amount", "not in", [1, 12.5], False),
        ("currency", "==", "eur", False),
        ("currency", "in", ["EUR", "CHF"], True),
        ("currency", "contains", "UR", True),
        ("currency", "lacks", "UR", False),
        ("open", "==", True, True),
        ("tags", "contains", "vip", True),
        ("tags", "contains", True, False),
        ("tags", "lacks", "new", True),
        ("items.0.sku", "==", "X-1", True),
        ("0.1", "==", "by key", True),
        ("amount", "present", None, True),
        ("nothing", "present", None, False),
        ("nothing", "absent", None, True),
        ("items.1.sku", "absent", None, True),
        ("amount.value", "absent", None, True),
        ("missing", ">", 5, "missing is missing"),
        ("nothing", "!=", 5, "nothing is missing"),
        ("amount", "==", "12.5", "amount is a number, == compares with a text"),
        ("currency", "<", 5, "currency is a text, < compares with a number"),
        ("open", "==", 1, "open is true or false, == compares with a number"),
        ("open", "contains", True, "open is true or false, contains looks in a text or a list"),
        ("currency", "contains", 1, "currency is a text, contains compares with a number"),
        ("items", "==", 1, "items is a list, == compares with a number"),
        ("nan", "<", 5, "nan is no finite number, < compares with a number"),
    ],
)
def test_conditions(field: str, op: Any, value: Any, verdict: bool | str) -> None:
    found = Condition(field=field, op=op, value=value).judge(STATE)
    assert found == (Unjudged(verdict) if isinstance(verdict, str) else verdict)


def test_a_text_has_no_fields() -> None:
    assert isinstance(Condition(field="amount", op=">", value=1).judge("amount: 5"), Unjudged)


def large(limit: float) -> Condition:
    return Condition(field="amount", op=">", value=limit)


def decided(outcome: Outcome) -> tuple[str | None, str, str | None]:
    return outcome.option, outcome.decided_by, outcome.rule


SURE = answer([0.9, 0.06, 0.04])


@pytest.mark.parametrize(
    ("made", "result", "shortfalls"),
    [
        (policy(), SURE, []),
        (policy(thresholds={"approve": 0.9, "reject": 0, "ask": 0}), SURE, []),
        (policy(thresholds={"approve": 0.91, "reject": 0, "ask": 0}), SURE, ["threshold"]),
        (policy(min_margin=0.84), SURE, []),
        (policy(min_margin=0.85), SURE, ["margin"]),
        (policy(thresholds=dict.fromkeys(OPTIONS, 0)), answer([0.4, 0.4, 0.2]), ["tie"]),
        (policy(min_allowed_token_mass=0.5), answer([0.9, 0.1, 0.0], mass=0.5), []),
        (policy(min_allowed_token_mass=0.5), answer([0.9, 0.1, 0.0], mass=0.4), ["allowed_token_mass"]),
        (policy(min_allowed_token_mass=0.0), SURE, ["allowed_token_mass"]),
        (
            policy(min_margin=0.5, min_allowed_token_mass=0.5),
            answer([0.4, 0.35, 0.25], mass=0.1),
            ["threshold", "margin", "allowed_token_mass"],
        ),
    ],
)
def test_what_passes(made: Policy, result: DecisionResult[str], shortfalls: list[str]) -> None:
    outcome = made.judge({}, result)
    assert [one.check for one in outcome.answers[0].shortfalls] == shortfalls  # type: ignore[union-attr]
    assert decided(outcome) == ((None, "fallback", None) if shortfalls else ("approve", "answer", None))
    assert outcome.needs_person == bool(shortfalls)


def test_an_outcome_names_what_the_numbers_come_from() -> None:
    plain, calibrated = (policy().judge({}, answer([0.9, 0.1, 0.0], mass=mass)) for mass in (None, 0.5))
    assert isinstance(plain.answers[0], EndpointAnswer)
    assert isinstance(calibrated.answers[0], EndpointAnswer)
    assert (plain.answers[0].calibration_sha256, calibrated.answers[0].calibration_sha256) == (None, "1" * 64)
    assert (plain.answers[0].model, plain.decision) == ("made-up", "case-1")


def test_each_option_has_its_own_threshold() -> None:
    made = policy(thresholds={"approve": 0.95, "reject": 0.6, "ask": 0.0})
    assert made.judge({}, answer([0.2, 0.7, 0.1])).option == "reject"
    assert made.judge({}, answer([0.9, 0.1, 0.0])).needs_person
    assert made.judge({}, answer([0.3, 0.3, 0.4])).option == "ask"


def test_what_decides() -> None:
    made = policy(
        rules=(
            Rule(name="large", when=(large(500),), then="person"),
            Rule(name="free", when=(Condition(field="amount", op="==", value=0),), then="approve"),
        ),
        vetoes=(
            Veto(
                name="new", option="approve", when=(Condition(field="new", op="==", value=True),), then="ask"
            ),
            Veto(name="late", option="ask", when=(Condition(field="late", op="==", value=True),)),
        ),
        fallback=Fallback(then="ask"),
    )
    known = {"amount": 5, "new": False, "late": False}
    unsure = answer([0.4, 0.3, 0.3])
    cases: list[tuple[dict[str, Any], DecisionResult[str], tuple[str | None, str, str | None], str]] = [
        (known, SURE, ("approve", "answer", None), "the model chose approve, which passes"),
        (known | {"amount": 501}, SURE, (None, "rule", "large"), "rule 'large': amount > 500"),
        (known | {"amount": 0}, SURE, ("approve", "rule", "free"), "rule 'free': amount == 0"),
        (
            known | {"amount": "5"},
            SURE,
            (None, "rule", "large"),
            "rule 'large' cannot be judged: amount is a text",
        ),
        (
            known | {"new": True},
            SURE,
            ("ask", "veto", "new"),
            "which passes from 0.5 on; veto on approve, 'new': new == True",
        ),
        (
            {"amount": 5},
            SURE,
            (None, "veto", "new"),
            "veto on approve, 'new' cannot be judged: new is missing",
        ),
        (
            {"amount": 0},
            SURE,
            (None, "veto", "new"),
            "rule 'free': amount == 0; veto on approve, 'new' cannot be",
        ),
        (
            known | {"new": True, "late": True},
            SURE,
            (None, "veto", "late"),
            "veto on ask, 'late': late == True",
        ),
        (known, unsure, ("ask", "fallback", None), "chose approve, probability 0.4, 0.5 is wanted"),
        (known | {"late": True}, unsure, (None, "veto", "late"), "0.5 is wanted; veto on ask"),
    ]
    for state, result, expected, reason in cases:
        outcome = made.judge(state, result)
        assert (decided(outcome), reason in outcome.reason) == (expected, True), outcome.reason


def test_vetoes_that_point_at_each_other_end_with_a_person() -> None:
    late = Condition(field="late", op="==", value=True)
    made = policy(
        vetoes=(
            Veto(name="not approve", option="approve", when=(large(1),), then="reject"),
            Veto(name="not reject", option="reject", when=(late,), then="approve"),
        )
    )
    assert made.judge({"amount": 2, "late": False}, SURE).option == "reject"
    outcome = made.judge({"amount": 2, "late": True}, SURE)
    assert (decided(outcome), outcome.vetoed) == ((None, "veto", "not reject"), ("approve", "reject"))


def test_further_endpoints_are_heard_in_order() -> None:
    made = policy(fallback=Fallback(endpoints=("large", "last")))
    unsure = answer([0.4, 0.3, 0.3])
    outcome = made.judge({}, unsure, SURE, answer([0.0, 1.0, 0.0]))
    assert decided(outcome) == ("approve", "answer", None)
    assert [reply.endpoint for reply in outcome.answers] == [None, "large"]
    assert made.judge({}, unsure).needs_person
    assert made.judge({}, SURE, answer([0.0, 1.0, 0.0])).option == "approve"


def test_functions_are_conditions_in_code(tmp_path: Path) -> None:
    def weekend(state: dict[str, Any]) -> bool:
        return bool(state["day"] in {"Saturday", "Sunday"})

    made = policy(
        rules=(Rule(name="closed", when=(weekend,), then="person"),),
        vetoes=(Veto(name="far", option="approve", when=(large(10), lambda state: state["km"] > 99)),),
    )
    assert decided(made.judge({"day": "Sunday"}, SURE)) == (None, "rule", "closed")
    assert made.judge({"day": "Sunday"}, SURE).reason == "rule 'closed': weekend()"
    assert made.judge({"day": "Monday", "amount": 11, "km": 100}, SURE).rule == "far"
    assert made.judge({"day": "Monday", "amount": 9}, SURE).option == "approve"
    assert made.sha256 is None
    assert made.judge({"day": "Sunday"}, SURE).policy_sha256 is None
    with pytest.raises(SemifError, match="'closed' of policy 'test' asks a function, which no file holds"):
        write_policy(made, tmp_path / "no.toml")
    forgetful = policy(rules=(Rule(name="closed", when=(lambda state: None,), then="person"),))
    with pytest.raises(SemifError, match=r"'closed': <lambda>\(\) returned a NoneType, not True or False"):
        forgetful.judge({}, SURE)


def test_an_endpoint_of_the_fallback_may_have_its_own_bar() -> None:
    own = Bar(thresholds=dict.fromkeys(OPTIONS, 0.3), min_margin=0.15)
    made = policy(min_margin=0.5, fallback=Fallback(endpoints=("large", "last")), endpoints={"large": own})
    unsure, plain = answer([0.4, 0.3, 0.3]), answer([0.5, 0.3, 0.2])
    assert made.judge({}, plain).needs_person
    outcome = made.judge({}, plain, plain)
    assert (decided(outcome), outcome.reason) == (
        ("approve", "answer", None),
        "large chose approve, which passes from 0.3 on",
    )
    last = made.judge({}, unsure, unsure, plain)
    assert last.reason.endswith("last chose approve, margin 0.2, 0.5 is wanted"), "it has the top's"
    assert [one.kind == "answer" and one.threshold for one in last.answers] == [0.5, 0.3, 0.5]


@pytest.mark.parametrize(
    ("changes", "place", "message"),
    [
        ({"fallback": {}}, ("endpoints", "large"), "the fallback asks no such endpoint, it asks none"),
        (
            {"thresholds": {"approve": 0, "reject": 0}},
            ("endpoints", "large", "thresholds"),
            "must be for the",
        ),
        ({"made_for": MADE_FOR}, ("endpoints", "large", "answerers"), "is missing: [made_for] says whose"),
        ({"answerers": [ANSWERER]}, ("endpoints", "large", "answerers"), "goes with [made_for]"),
    ],
)
def test_a_bar_that_fits_no_endpoint_is_refused(
    changes: dict[str, Any], place: tuple[str, ...], message: str
) -> None:
    bar = {"thresholds": dict.fromkeys(OPTIONS, 0.5)} | {
        key: changes[key] for key in ("answerers",) if key in changes
    }
    given = {"fallback": {"endpoints": ["large"]}, "endpoints": {"large": bar}} | {
        key: value for key, value in changes.items() if key != "answerers"
    }
    with pytest.raises(ValidationError) as refused:
        policy(**given)
    assert [problem["loc"] for problem in refused.value.errors()] == [place]
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ({"approve": 0.9, "reject": 0.1}, "knows the option 'ask', which is not offered"),
        (
            dict.fromkeys((*OPTIONS, "defer"), 0.25),
            "has no threshold for the option 'defer'; it knows approve, re",
        ),
    ],
)
def test_options_that_are_not_the_policys_are_refused(probabilities: dict[str, float], message: str) -> None:
    with pytest.raises(SemifError, match=message):
        policy().judge({}, answer(probabilities))


def test_a_policy_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        policy().min_margin = 0.0  # type: ignore[misc]


WRONG = """\
name = ""
min_margin = 2
colour = 1
[thresholds]
approve = 1.5
reject = nan
person = 0
ok = true
[[rules]]
name = "first"
when = [
    { field = "x..y", op = ">", value = "t" },
    { field = "x", op = "~", value = 1 },
    { field = "z", op = "in", value = [1, "a"] },
    { field = "d", op = "==", value = 2020-01-01 },
    { field = "p", op = "present", value = 1 },
    { field = "p", op = "contains" },
    { field = "p", op = "<", value = true },
]
then = "approve"
[[rules]]
name = "code"
when = [{ field = "x", op = ">", value = 5 }]
then = "approve"
test = "os.system"
[[rules]]
name = "large"
when = [{ field = "x", op = ">", value = 5 }]
then = "aprove"
[[rules]]
name = "large"
when = [{ field = "x", op = ">=", value = 6 }, { field = "x", op = "<", value = 6 }]
then = "reject"
[[rules]]
name = "always"
when = []
then = "reject"
[[vetoes]]
name = "never"
option = "reject"
then = "reject"
[[vetoes]]
name = "late"
option = "reject"
when = [{ field = "x", op = "present" }]
[fallback]
then = "reject"
endpoints = ["a", "a"]
"""
TOLD = """\
name: '' is no name: one line of 1 to 100 characters
thresholds.approve = 1.5: must be less than or equal to 1
thresholds.reject = nan: must be less than or equal to 1
thresholds.ok = true: must be a number
min_margin = 2: must be less than or equal to 1
rules.0.when.0.field: 'x..y' is no path: keys with dots between, as in order.amount
rules.0.when.1.op = '~': must be '==', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'contains', 'lacks', \
'present' or 'absent'
rules.0.when.2: [1, 'a'] does not go with 'in', which takes a list of 1 to 100 values of one type
rules.0.when.3.value: datetime.date(2020, 1, 1) is no number, no text, not true or false, and no list of those
rules.0.when.4: 1 does not go with 'present', which takes no value
rules.0.when.5: no value does not go with 'contains', which takes a number, a text, true or false
rules.0.when.6: True does not go with '<', which takes a number
rules.1.test is not a known key, remove it or check its spelling
rules.4.when: has no condition: the model would never be asked; say when the rule holds
colour is not a known key, remove it or check its spelling
thresholds.person: no option may be called 'person', which stands for a person; rename it
rules.3.name: 'large' is another rule's name; outcomes name the rule
fallback.endpoints.1: 'a' is named twice, it is asked once
rules.2.then: 'aprove' is no option with a threshold, known are approve, reject, person, ok
rules.3.when: x >= 6 and x < 6 never hold together
rules.3: 'large' can never decide: 'large' before it holds whenever it does
vetoes.1: 'late' can never decide: 'never' before it holds whenever it does
rules.3.then: 'reject' can never be the outcome here: the veto 'never' forbids it
vetoes.0.then: 'reject' is what it forbids; name another option
fallback.then: 'reject' can never be the outcome here: the veto 'never' forbids it
"""


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wrong.policy.toml"
    path.write_text(WRONG)
    with pytest.raises(ProblemsError) as caught:
        load_policy(path)
    assert "\n".join(caught.value.problems) + "\n" == TOLD


@pytest.mark.parametrize(
    ("first", "second", "unreachable"),
    [
        ([("x", ">", 100)], [("x", ">", 500)], True),
        ([("x", ">", 500)], [("x", ">", 100)], False),
        ([("x", ">=", 5)], [("x", ">", 5)], True),
        ([("x", ">", 5)], [("x", ">=", 5)], False),
        ([("x", "<", 5)], [("x", "in", [1, 2])], True),
        ([("x", "<", 2)], [("x", "in", [1, 2])], False),
        ([("x", "!=", 5)], [("x", ">", 5)], True),
        ([("x", "not in", ["a"])], [("x", "not in", ["a", "b"])], True),
        ([("x", "contains", "a")], [("x", "==", "bab")], True),
        ([("x", "==", 1)], [("x", "==", True)], False),
        ([("x", "present", None)], [("x", "lacks", "a")], True),
        ([("x", "absent", None)], [("x", "lacks", "a")], False),
        ([("x", ">", 1), ("y", ">", 1)], [("x", ">", 2)], False),
        ([("x", ">", 1)], [("y", ">", 1), ("x", ">", 2)], True),
        ([("x", ">", 1)], [("y", ">", 2)], False),
    ],
)
def test_a_rule_that_an_earlier_one_forestalls_is_refused(
    first: list[tuple[str, Any, Any]], second: list[tuple[str, Any, Any]], unreachable: bool
) -> None:
    rules = tuple(
        Rule(
            name=name,
            when=tuple(Condition(field=field, op=op, value=value) for field, op, value in when),
            then="ask",
        )
        for name, when in (("first", first), ("second", second))
    )
    if unreachable:
        with pytest.raises(ValidationError, match="'second' can never decide: 'first' before it holds"):
            policy(rules=rules)
    else:
        assert len(policy(rules=rules).rules) == 2


def test_vetoes_of_different_options_do_not_forestall_each_other() -> None:
    vetoes = [Veto(name=f"no {option}", option=option, when=(large(5),)) for option in OPTIONS]
    assert policy(vetoes=vetoes).judge({"amount": 6}, answer([0.2, 0.6, 0.2])).rule == "no reject"
    with pytest.raises(ValidationError, match="'again' can never decide: 'no ask' before it holds"):
        policy(vetoes=[*vetoes, Veto(name="again", option="ask", when=(large(7),))])


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SemifError, match="a folder is needed"):
        write_policy(policy(), tmp_path / "file" / "x.toml")
