"""Typed questions and answers, asked of a real adapter."""

import copy
import math
import pickle
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Iterator
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, Literal

import pytest
from typing_extensions import TypeAliasType

import semif
from semif import DecisionClient, DecisionResult, Question
from semif.client.errors import RequestRefusedError, UnknownReplyError
from semif.client.results import best_option
from semif_adapter.contract.wire import MAX_DECISIONS
from tests.support.servers.sagemaker_stand_in import Reply, StandIn

STATE = "My card was charged twice for the same order."
QUESTION = "Which team should handle this?"


class Team(Enum):
    BILLING = "billing"
    SHIPPING = "shipping"


class Text(StrEnum):
    BILLING = "billing"
    SHIPPING = "shipping"


class Number(IntEnum):
    BILLING = 1
    SHIPPING = 2


Named = Literal["billing", "shipping"]


@pytest.fixture(scope="module")
def client(adapter_url: str) -> Iterator[DecisionClient]:
    with DecisionClient(url=adapter_url) as made:
        yield made


OPTIONS: dict[str, tuple[Any, list[Any]]] = {
    "list": (["billing", "shipping"], ["billing", "shipping"]),
    "tuple": (("billing", "shipping"), ["billing", "shipping"]),
    "mapping": ({"billing": "Charges", "shipping": None}, ["billing", "shipping"]),
    "another mapping": (
        MappingProxyType({"billing": "Charges", "shipping": "Parcels"}),
        ["billing", "shipping"],
    ),
    "enum": (Team, [Team.BILLING, Team.SHIPPING]),
    "string enum": (Text, [Text.BILLING, Text.SHIPPING]),
    "members": ([Team.SHIPPING, Team.BILLING], [Team.SHIPPING, Team.BILLING]),
    "described members": ({Team.BILLING: "Charges", Team.SHIPPING: "Parcels"}, [Team.BILLING, Team.SHIPPING]),
    "literal": (Named, ["billing", "shipping"]),
    "literal of members": (Literal[Team.BILLING, Team.SHIPPING], [Team.BILLING, Team.SHIPPING]),
    "type statement": (TypeAliasType("Alias", Literal["billing", "shipping"]), ["billing", "shipping"]),
}


@pytest.mark.parametrize(("options", "members"), OPTIONS.values(), ids=OPTIONS)
def test_the_choice_is_one_of_the_options_as_they_were_given(
    client: DecisionClient, options: Any, members: list[Any]
) -> None:
    result: DecisionResult[Any] = client.decide(STATE, QUESTION, options)
    ids = [getattr(member, "value", member) for member in members]
    assert list(result.probabilities) == list(result.option_logits) == ids
    place = best_option(list(result.probabilities.values()))
    assert result.choice is members[place]
    assert result.probability == result.probabilities[ids[place]] == max(result.probabilities.values())


def test_the_numbers_are_the_wires(client: DecisionClient) -> None:
    result = client.decide(STATE, QUESTION, {"a": "Charges", "b": "Parcels", "c": "Errors"}, id="ticket")
    raw = result.raw
    assert (result.id, raw.option_ids) == ("ticket", ("a", "b", "c"))
    first, second, _ = sorted(raw.probabilities, reverse=True)
    assert result.margin == first - second
    assert result.entropy == pytest.approx(-sum(p * math.log(p) for p in raw.probabilities))
    assert sum(result.probabilities.values()) == pytest.approx(1)
    assert (result.allowed_token_mass, result.timing) == (raw.allowed_token_mass, raw.timing)
    assert result.calibration == raw.calibration
    assert (result.input_tokens, result.cached_tokens) == (raw.input_tokens, raw.cached_tokens)
    assert result.model.name
    with pytest.raises(TypeError):
        result.probabilities["a"] = 1.0  # type: ignore[index]  # that is what is tested
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result


@pytest.mark.parametrize(
    ("probabilities", "place", "margin", "entropy"),
    [
        ((0.25, 0.25, 0.25, 0.25), 0, 0.0, math.log(4)),
        ((0.0, 1.0, 0.0), 1, 1.0, 0.0),
        ((0.2, 0.4, 0.4), 1, 0.0, 1.054920),
    ],
)
def test_a_tie_goes_to_the_first(
    client: DecisionClient, probabilities: tuple[float, ...], place: int, margin: float, entropy: float
) -> None:
    raw = client.decide(STATE, QUESTION, ["a", "b"]).raw.model_copy(update={"probabilities": probabilities})
    result = DecisionResult(best_option(probabilities), raw)
    assert (result.choice, result.margin) == (place, pytest.approx(margin))
    assert result.entropy == pytest.approx(entropy, abs=1e-6)


WRONG: dict[str, tuple[Any, str]] = {
    "text": ("billing", "a str is no set of options: options are a list of ids"),
    "bytes": (b"ab", "a bytes is no set of options"),
    "set": ({"a", "b"}, "a set is no set of options"),
    "type": (int, "int is no set of options"),
    "numbers": ([1, 2], "an option is of type int, an id is a string"),
    "numbered members": (Number, "a member of Number is of type int, an id is a string"),
    "numbers by type": (Literal[1, 2], "an option is of type int"),
    "none": ([], r"decision.options must hold at least 2"),
    "one": (["a"], r"decision.options must hold at least 2"),
    "too many": ([str(number) for number in range(256)], r"decision.options must hold at most 255"),
    "twice": (["a", "b", "a"], r"decision.options\[2\].id must be unique"),
    "no description": ({"a": "", "b": "x"}, r"decision.options\[0\].description"),
    "long": (["a" * 257, "b"], r"decision.options\[0\].id"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_options_that_are_none_are_not_sent(stand_in: StandIn, options: Any, message: str) -> None:
    with (
        DecisionClient(url=stand_in.url) as client,
        pytest.raises(RequestRefusedError, match=message) as caught,
    ):
        client.decide(STATE, QUESTION, options)
    assert (caught.value.code, caught.value.attempts, stand_in.bodies) == ("invalid_request", 0, [])


def _deep() -> Any:
    state: list[Any] = []
    for _ in range(100_000):
        state = [state]
    return state


def _round() -> Any:
    state: list[Any] = []
    state.append(state)
    return state


STATES: dict[str, tuple[Any, str]] = {
    "empty": ("", "decision.state must be a non-empty string"),
    "none": (None, "decision.state must be a non-empty string, object or array, got null"),
    "number": (7, "decision.state must be a non-empty string, object or array"),
    "not a number": ({"mauve": math.nan}, "is not a finite number"),
    "surrogate": ({"a": "mauve\ud83d"}, "holds an unpaired surrogate"),
    "empty object": ({}, "the state must not be empty, got an empty object"),
    "empty array": ([], "the state must not be empty, got an empty array"),
    "set": ({"a": {"mauve"}}, "type set is not JSON serializable"),
    "keys": ({("mauve",): 1}, "keys must be str"),
    "bytes": (b"mauve", "type bytes is not JSON serializable"),
    "deep": (_deep(), "nested too deeply"),
    "round": (_round(), "it holds itself"),
    "digits": ({"mauve": 10**5000}, "it holds a number of too many digits"),
    "65 levels": (
        [
            [
                [
                    [
                        [
                            [
                                [
                                    [
                                        [
                                            [
                                                [
                                                    [
                                                        [
                                                            [
                                                                [
                                                                    [
                                                                        [
                                                                            [
                                                                                [
                                                                                    [
                                                                                        [
                                                                                            [
                                                                                                [
                                                                                                    [
                                                                                                        [
                                                                                                            [
                                                                                                                [
                                                                                                                    [
                                                                                                                        [
                                                                                                                            [
                                                                                                                                [
                                                                                                                                    [
                                                                                                                                        [
                                                                                                                                            [
                                                                                                                                                [
                                                                                                                                                    [
                                                                                                                                                        [
                                                                                                                                                            [
                                                                                                                                                                [
                                                                                                                                                                    [
                                                                                                                                                                        [
                                                                                                                                                                            [
                                                                                                                                                                                [
                                                                                                                                                                                    [
                                                                                                                                                                                        [
                                                                                                                                                                                            [
                                                                                                                                                                                                [
                                                                                                                                                                                                    [
                                                                                                                                                                                                        [
                                                                                                                                                                                                            [
                                                                                                                                                                                                                [
                                                                                                                                                                                                                    [
                                                                                                                                                                                                                        [
                                                                                                                                                                                                                            [
                                                                                                                                                                                                                                [
                                                                                                                                                                                                                                    [
                                                                                                                                                                                                                                        [
                                                                                                                                                                                                                                            [
                                                                                                                                                                                                                                                [
                                                                                                                                                                                                                                                    [
                                                                                                                                                                                                                                                        [
                                                                                                                                                                                                                                                            [
                                                                                                                                                                                                                                                                [
                                                                                                                                                                                                                                                                    [
                                                                                                                                                                                                                                                                        0
                                                                                                                                                                                                                                                                    ]
                                                                                                                                                                                                                                                                ]
                                                                                                                                                                                                                                                            ]
                                                                                                                                                                                                                                                        ]
                                                                                                                                                                                                                                                    ]
                                                                                                                                                                                                                                                ]
                                                                                                                                                                                                                                            ]
                                                                                                                                                                                                                                        ]
                                                                                                                                                                                                                                    ]
                                                                                                                                                                                                                                ]
                                                                                                                                                                                                                            ]
                                                                                                                                                                                                                        ]
                                                                                                                                                                                                                    ]
                                                                                                                                                                                                                ]
                                                                                                                                                                                                            ]
                                                                                                                                                                                                        ]
                                                                                                                                                                                                    ]
                                                                                                                                                                                                ]
                                                                                                                                                                                            ]
                                                                                                                                                                                        ]
                                                                                                                                                                                    ]
                                                                                                                                                                                ]
                                                                                                                                                                            ]
                                                                                                                                                                        ]
                                                                                                                                                                    ]
                                                                                                                                                                ]
                                                                                                                                                            ]
                                                                                                                                                        ]
                                                                                                                                                    ]
                                                                                                                                                ]
                                                                                                                                            ]
                                                                                                                                        ]
                                                                                                                                    ]
                                                                                                                                ]
                                                                                                                            ]
                                                                                                                        ]
                                                                                                                    ]
                                                                                                                ]
                                                                                                            ]
                                                                                                        ]
                                                                                                    ]
                                                                                                ]
                                                                                            ]
                                                                                        ]
                                                                                    ]
                                                                                ]
                                                                            ]
                                                                        ]
                                                                    ]
                                                                ]
                                                            ]
                                                        ]
                                                    ]
                                                ]
                                            ]
                                        ]
                                    ]
                                ]
                            ]
                        ]
                    ]
                ]
            ]
        ],
        "deeper than 64",
    ),
}


@pytest.mark.parametrize(("state", "message"), STATES.values(), ids=STATES)
def test_a_state_that_is_none_is_not_sent(stand_in: StandIn, state: Any, message: str) -> None:
    with (
        DecisionClient(url=stand_in.url) as client,
        pytest.raises(RequestRefusedError, match=message) as caught,
    ):
        client.decide(state, QUESTION, ["a", "b"])
    assert "mauve" not in str(caught.value)
    assert stand_in.bodies == []


@pytest.mark.parametrize(
    "state",
    ["Grüße, 世界 🌍", {"a": [1, 2.5, None, True]}, OrderedDict(b=1), ("a", 1), MappingProxyType({"a": 1})],
)
def test_any_json_is_a_state_and_goes_in_its_shortest_form(
    client: DecisionClient, stand_in: StandIn, adapter_url: str, state: Any
) -> None:
    stand_in.behind = adapter_url
    with DecisionClient(url=stand_in.url) as through:
        assert through.decide(state, QUESTION, Team).choice in Team
    (body,) = stand_in.bodies
    assert b"\\u" not in body
    assert b'": ' not in body


def test_several_questions_are_one_request_and_answered_as_alone(
    client: DecisionClient, stand_in: StandIn, adapter_url: str
) -> None:
    stand_in.behind = adapter_url
    asked = [Question(f"Is it about number {number}?", ["yes", "no"]) for number in range(7)]
    urgent = Question("How urgent is it?", Text, id="urgent")
    with DecisionClient(url=stand_in.url) as through:
        together = through.decide_many(STATE, [*asked, urgent])
    assert len(stand_in.bodies) == 1
    assert [result.id for result in together] == [*(f"decision-{n}" for n in range(1, 8)), "urgent"]
    (alone,) = client.decide_many(STATE, [urgent])
    assert isinstance(alone.choice, Text)
    assert alone.probabilities == together[-1].probabilities


def test_the_order_of_options_can_be_averaged_out(client: DecisionClient) -> None:
    result = client.decide(STATE, QUESTION, ["a", "b", "c"], order_debiasing="rotate")
    assert result.timing.rotations >= 1
    assert sum(result.probabilities.values()) == pytest.approx(1)
    with pytest.raises(RequestRefusedError, match="rotates at most 26 options"):
        client.decide(STATE, QUESTION, [str(number) for number in range(27)], order_debiasing="rotate")


def test_more_questions_than_a_request_may_have_are_refused_and_not_split(client: DecisionClient) -> None:
    asked = [Question("q", ["a", "b"])] * (MAX_DECISIONS + 1)
    with pytest.raises(RequestRefusedError, match=rf"not sent.* at most {MAX_DECISIONS}") as never_sent:
        client.decide_many(STATE, asked)
    with pytest.raises(RequestRefusedError, match=r"answered 400 .* at most 64, got 65") as refused:
        client.decide_many(STATE, asked[:65])
    assert (never_sent.value.attempts, refused.value.attempts) == (0, 1)
    with pytest.raises(RequestRefusedError, match=r"decisions must hold at least 1"):
        client.decide_many(STATE, [])
    with pytest.raises(RequestRefusedError, match=r"decisions\[1\].id must be unique"):
        client.decide_many(STATE, [Question("q", ["a", "b"], id="decision-2"), Question("q", ["a", "b"])])


def test_an_answer_to_another_question_is_none(client: DecisionClient, stand_in: StandIn) -> None:
    of_another = client.ask(
        b'{"decision": {"id": "a", "state": "s", "question": "q", "options": [{"id": "x"}, {"id": "y"}]}}'
    )
    stand_in.script = [Reply(200, of_another.raw)]
    with (
        DecisionClient(url=stand_in.url) as asking,
        pytest.raises(UnknownReplyError, match="another request"),
    ):
        asking.decide(STATE, QUESTION, Team)


def test_only_endpoints_load_an_aws_client() -> None:
    program = (
        "import sys, semif, semif.client.results, semif.client.errors, semif.client.questions; "
        "import semif.lock.lock_file; "
        "assert not {'boto3', 'botocore', 'urllib3'} & set(sys.modules); "
        "from semif import AsyncDecisionClient, DecisionClient, Policy; "
        "DecisionClient(url='http://127.0.0.1:1'), AsyncDecisionClient(url='http://127.0.0.1:1'); "
        "assert not {'boto3', 'botocore', 'httpx2'} & set(sys.modules); "
        "DecisionClient('demo', region='eu-central-1'); assert 'botocore' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    assert {"AsyncDecisionClient", "DecisionClient", "DecisionResult", "Question", "Retry"} <= set(dir(semif))
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        from semif import Nothing  # type: ignore[attr-defined]  # noqa: F401, PLC0415 - that is what is tested
