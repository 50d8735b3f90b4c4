"""What type checkers make of the client: for mypy and pyright to read, see `test_client_types.py`."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Literal, assert_type

from semif import AsyncDecisionClient, DecisionClient, DecisionResult, Question


class Team(Enum):
    BILLING = "billing"
    SHIPPING = "shipping"


Answer = Literal["yes", "no"]


def one_at_a_time(client: DecisionClient, ids: list[str], described: Mapping[str, str]) -> None:
    assert_type(client.decide("state", "question", ["a", "b"]).choice, str)
    assert_type(client.decide("state", "question", ids).choice, str)
    assert_type(client.decide("state", "question", {"a": "what a is", "b": None}).choice, str)
    assert_type(client.decide("state", "question", described).choice, str)
    assert_type(client.decide("state", "question", Team).choice, Team)
    assert_type(client.decide("state", "question", [Team.BILLING, Team.SHIPPING]).choice, Team)
    assert_type(client.decide("state", "question", {Team.BILLING: "money", Team.SHIPPING: None}).choice, Team)
    assert_type(client.decide("state", "question", Answer).choice, Answer)
    assert_type(client.decide("state", "question", bool).choice, bool)
    assert_type(client.decide("state", "question", {True: "it is", False: None}).choice, bool)
    assert_type(
        client.decide({"any": ["JSON", 1, None]}, "question", Literal["a", "b"]).choice, Literal["a", "b"]
    )


def several(client: DecisionClient, mixed: Sequence[Question[Team | str]]) -> None:
    assert_type(Question("question", Answer), Question[Answer])
    assert_type(client.decide_many("state", [Question("question", Team)]), tuple[DecisionResult[Team], ...])
    assert_type(client.decide_many("state", mixed)[0].choice, Team | str)
    team, answer = client.decide_many("state", (Question("question", Team), Question("question", Answer)))
    assert_type(team.choice, Team)
    assert_type(answer.choice, Answer)


async def awaited(client: AsyncDecisionClient) -> None:
    assert_type((await client.decide("state", "question", Team)).choice, Team)
    assert_type((await client.decide("state", "question", Answer)).choice, Answer)
    assert_type((await client.decide_many("state", [Question("question", ["a", "b"])]))[0].choice, str)


def wrong(client: DecisionClient) -> None:
    client.decide("state", "question", [1, 2])  # type: ignore[type-var]  # ids are strings
    client.decide("state", "question", int)  # type: ignore[type-var]  # neither an Enum nor a Literal
    client.decide(7, "question", ["a", "b"])  # type: ignore[call-overload]  # a state is no number
