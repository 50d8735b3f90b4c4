"""Route support tickets: which team, how urgent, and to a person where the model is not sure or not there.

    python examples/route_tickets.py --url http://127.0.0.1:8080
    python examples/route_tickets.py --endpoint semif-dev --margin 0.3 < tickets.txt

Each line of standard input is a ticket; on a terminal, three examples are routed. `make serve` starts an
adapter to ask. Its small model is there to show the way, and is wrong often.
"""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from semif import DecisionClient, DecisionError, Question
from semif.client.errors import RequestRefusedError
from semif.errors import SemifError

EXAMPLES = (
    "My card was charged twice for the same order.",
    "The parcel says delivered, but nothing is here and I leave tomorrow.",
    "The app closes itself as soon as I open the settings.",
)


class Team(Enum):
    """Who can handle a ticket; the values are what the model sees."""

    BILLING = "billing"
    SHIPPING = "shipping"
    TECHNICAL = "technical"


Urgency = Literal["can wait", "today", "at once"]

TEAM = Question[Team](
    "Which team should handle this ticket?",
    {
        Team.BILLING: "Charges, invoices and refunds",
        Team.SHIPPING: "Delivery, tracking and addresses",
        Team.TECHNICAL: "Errors in the app or the website",
    },
)
URGENCY = Question[Urgency]("How urgent is this ticket?", Urgency)


@dataclass(frozen=True)
class Route:
    """Where a ticket goes; `team` is None where a person shall look at it first, for `reason`."""

    team: Team | None
    urgency: Urgency
    reason: str


def route(client: DecisionClient, ticket: str, *, least_margin: float) -> Route:
    """Decide about one ticket. Where the model cannot answer now, a person routes it."""
    try:
        # Both questions are about one state: one request, which reads the ticket once.
        team, urgency = client.decide_many(ticket, (TEAM, URGENCY))
    except RequestRefusedError:
        raise  # this program asks wrongly, or the wrong endpoint: nobody is helped by going on
    except DecisionError as error:
        return Route(None, "today", f"no answer: {error}")
    if team.margin < least_margin:
        return Route(None, urgency.choice, f"{team.choice.value} is only {team.margin:.2f} ahead")
    return Route(team.choice, urgency.choice, f"probability {team.probability:.2f}")


def main() -> None:
    """Route what is asked for."""
    parser = argparse.ArgumentParser(description="Route support tickets with a decision model.")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--endpoint", help="name of a SageMaker endpoint")
    place.add_argument("--url", help="address of an adapter")
    parser.add_argument("--margin", type=float, default=0.1, help="how far the choice must be ahead (0 to 1)")
    given = parser.parse_args()
    tickets: Iterable[str] = EXAMPLES if sys.stdin.isatty() else filter(None, map(str.strip, sys.stdin))
    try:
        with DecisionClient(given.endpoint, url=given.url) as client:
            for ticket in tickets:
                found = route(client, ticket, least_margin=given.margin)
                team = "a person" if found.team is None else found.team.value
                print(f"{team:<10} {found.urgency:<9} {ticket}  ({found.reason})")
    except SemifError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
