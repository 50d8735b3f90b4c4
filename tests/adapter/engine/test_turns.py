"""Whose turn it is, without an engine: what each request waits for, counted in tokens."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.engine.turns import Turns

TURN, PASS = 100, 40


@dataclass(eq=False)
class Demand:
    left: int
    name: str = ""
    waited: int = 0
    """Tokens that the others computed between its arrival and its end."""
    before: int = 0
    """Tokens that were left of all others when it arrived."""
    before_short: int = 0
    """Tokens that were left of the short ones among them."""

    def __post_init__(self) -> None:
        self.tokens = self.left
        self.is_short = self.left <= TURN


def run(turns: Turns[Demand], demand: Demand) -> int:
    tokens = min(PASS, demand.left)
    demand.left -= tokens
    turns.ran(demand, tokens)
    if not demand.left:
        turns.remove(demand)
    return tokens


def served(demands: list[Demand], turn: int = TURN) -> list[str]:
    """Who gets each pass, where all are there from the start."""
    turns = Turns[Demand](turn)
    for demand in demands:
        turns.add(demand)
    names = []
    while len(turns):
        first = turns.order()[0]
        names.append(first.name)
        run(turns, first)
    return names


def test_short_ones_are_served_as_they_come() -> None:
    assert served([Demand(80, "a"), Demand(40, "b"), Demand(100, "c")]) == ["a", "a", "b", "c", "c", "c"]


def test_a_long_one_lets_short_ones_in_after_each_turn_and_only_for_one() -> None:
    demands = [Demand(240, "L"), Demand(40, "a"), Demand(80, "b"), Demand(40, "c")]
    assert "".join(served(demands)) == "LLL" + "abb" + "LLL" + "c"


def test_a_long_one_does_not_wait_for_nobody_and_goes_on_where_it_can() -> None:
    assert served([Demand(240, "L"), Demand(40, "a")]) == ["L", "L", "L", "a", "L", "L", "L"]


def test_long_ones_keep_their_order_among_themselves() -> None:
    demands = [Demand(120, "L"), Demand(160, "M"), Demand(40, "a")]
    assert "".join(served(demands)) == "LLL" + "a" + "MMMM"


def test_with_a_turn_as_long_as_any_nobody_yields() -> None:
    demands = [Demand(400, "L"), Demand(40, "a"), Demand(400, "M")]
    assert "".join(served(demands, turn=10_000)) == "L" * 10 + "a" + "M" * 10


def test_who_leaves_in_between_makes_room() -> None:
    turns = Turns[Demand](TURN)
    long, short = Demand(400, "L"), Demand(40, "a")
    for demand in (long, short):
        turns.add(demand)
    for _ in range(3):
        run(turns, long)
    assert turns.order()[0] is short
    turns.remove(long)
    assert turns.order() == [short]


@given(st.lists(st.tuples(st.integers(1, 600), st.integers(0, 8)), min_size=1, max_size=12))
def test_nobody_waits_longer_than_was_promised(arrivals: list[tuple[int, int]]) -> None:
    """Each arrival comes so many passes after the one before it."""
    turns = Turns[Demand](TURN)
    ended: list[Demand] = []
    now = 0

    def one_pass() -> None:
        nonlocal now
        first = turns.order()[0]
        tokens = run(turns, first)
        now += tokens
        for demand in turns:
            if demand is not first:
                demand.waited += tokens
        if not first.left:
            ended.append(first)

    everybody = []
    for tokens, passes in arrivals:
        for _ in range(passes):
            if len(turns):
                one_pass()
        demand = Demand(tokens)
        demand.before = sum(other.left for other in turns)
        demand.before_short = sum(other.left for other in turns if other.is_short)
        everybody.append(demand)
        turns.add(demand)
    while len(turns):
        one_pass()

    slack = TURN + 2 * PASS
    for demand in everybody:
        if demand.is_short:
            assert demand.waited <= min(demand.before, 2 * (demand.before_short + demand.tokens) + slack)
        else:
            assert demand.waited <= 2 * (demand.before + demand.tokens) + slack
    longs = [demand for demand in ended if not demand.is_short]
    assert longs == [demand for demand in everybody if not demand.is_short]
