"""States and options as programs have them: what is sent for each, and how the answer comes back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

from semif import DecisionClient
from semif.client.errors import RequestRefusedError
from semif.policy import Condition
from tests.support.servers.sagemaker_stand_in import StandIn


class Order(BaseModel):
    placed: date
    total: Decimal


@dataclass
class Ticket:
    text: str
    order: Order


class Level(StrEnum):
    HIGH = "high"


class Team(Enum):
    BILLING = "billing", "Charges and refunds"
    SHIPPING = "shipping", "Delivery"


class Said(Enum):
    YES = "agreed"
    NO = "refused"

    @property
    def description(self) -> str:
        return f"the customer {self.value}"


ORDER = Order(placed=date(2026, 11, 30), total=Decimal("12.50"))
STATES: dict[str, tuple[Any, Any]] = {
    "model": (ORDER, {"placed": "2026-11-30", "total": "12.50"}),
    "dataclass with a model": (
        Ticket("late", ORDER),
        {"text": "late", "order": {"placed": "2026-11-30", "total": "12.50"}},
    ),
    "date": ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, {"at": "2026-01-01T00:00:00+00:00"}),
    "decimals": ({"a": Decimal("500.00"), "b": Decimal("0.1")}, {"a": 500, "b": 0.1}),
    "uuid": ({"id": UUID(int=7)}, {"id": "00000000-0000-0000-0000-000000000007"}),
    "enum": ([Level.HIGH, Said.YES], ["high", "agreed"]),
    "another mapping": ({"a": MappingProxyType({"b": 1})}, {"a": {"b": 1}}),
    "numpy": (
        [np.int64(3), np.float32(0.5), np.bool_(True), np.str_("x"), np.datetime64("2026-01-01")],
        [3, 0.5, True, "x", "2026-01-01"],
    ),
    "pandas": ([pd.Timestamp("2026-01-01"), pd.NaT, pd.NA], ["2026-01-01T00:00:00", None, None]),
}


@pytest.fixture
def client(stand_in: StandIn, adapter_url: str) -> DecisionClient:
    stand_in.behind = adapter_url
    return DecisionClient(url=stand_in.url)


@pytest.mark.parametrize(("state", "sent"), STATES.values(), ids=STATES)
def test_a_state_is_sent_as_json_has_it(
    client: DecisionClient, stand_in: StandIn, state: Any, sent: Any
) -> None:
    client.decide(state, "q", ["a", "b"])
    assert json.loads(stand_in.bodies[0])["decision"]["state"] == sent


def test_arrays_are_not_taken_apart(client: DecisionClient) -> None:
    with pytest.raises(RequestRefusedError, match="type ndarray is not JSON serializable"):
        client.decide({"a": np.zeros(2)}, "q", ["a", "b"])


def test_a_policys_conditions_read_the_same_states() -> None:
    state = {"order": Ticket("late", ORDER), "paid": Decimal("500.5"), "level": Level.HIGH, "n": np.int64(3)}
    for field, op, value in (
        ("paid", ">", 500),
        ("order.order.placed", "==", "2026-11-30"),
        ("level", "==", "high"),
        ("n", "<=", 3),
    ):
        assert Condition(field=field, op=op, value=value).judge(state) is True  # type: ignore[arg-type]


def options_sent(stand_in: StandIn) -> Any:
    return json.loads(stand_in.bodies[-1])["decision"]["options"]


def test_bool_is_yes_or_no(client: DecisionClient, stand_in: StandIn) -> None:
    result = client.decide("s", "q", bool)
    assert result.choice in (True, False)
    assert type(result.choice) is bool
    assert options_sent(stand_in) == [{"id": "yes"}, {"id": "no"}]
    assert result.probabilities[True] + result.probabilities[False] == pytest.approx(1)
    assert result.probabilities[result.choice] == result.probability
    described: Mapping[bool, str | None] = {False: "it is not", True: None}
    assert type(client.decide("s", "q", described).choice) is bool
    assert options_sent(stand_in) == [{"id": "no", "description": "it is not"}, {"id": "yes"}]


def test_an_enum_brings_its_descriptions(client: DecisionClient, stand_in: StandIn) -> None:
    result = client.decide("s", "q", Team)
    assert options_sent(stand_in) == [
        {"id": "billing", "description": "Charges and refunds"},
        {"id": "shipping", "description": "Delivery"},
    ]
    assert result.choice in Team
    assert result.probabilities[Team.BILLING] == result.probabilities["billing"]
    assert result.option_logits[Team.SHIPPING] == result.option_logits["shipping"]
    assert dict(result.probabilities) == {team.value[0]: result.probabilities[team] for team in Team}
    client.decide("s", "q", Said)
    assert options_sent(stand_in)[1] == {"id": "refused", "description": "the customer refused"}
    client.decide("s", "q", {Team.BILLING: "money", Team.SHIPPING: None})  # what is given here comes first
    assert [option["description"] for option in options_sent(stand_in)] == ["money", "Delivery"]
    with pytest.raises(KeyError):
        result.probabilities[Said.YES]
