"""examples/route_tickets.py, as a person runs it, and what it does where the model is not there."""

import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest

from semif import DecisionClient
from semif.client.errors import RequestRefusedError
from semif.project.root import project_root
from tests.support.machine.fake_clock import FakeClock
from tests.support.servers.sagemaker_stand_in import Reply, StandIn, adapter_error

PROGRAM = project_root() / "examples" / "route_tickets.py"
TICKETS = ("My card was charged twice.", "The app closes itself.")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("route_tickets", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def test_each_ticket_gets_a_team_or_a_person(short_url: str) -> None:
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), "--url", short_url],
        input="\n".join(TICKETS),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert len(lines) == len(TICKETS)
    for line, ticket in zip(lines, TICKETS, strict=True):
        assert line.startswith(("billing ", "shipping ", "technical ", "a person "))
        assert ticket in line


def test_a_wrong_address_is_one_line() -> None:
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), "--url", "nowhere"],
        input="a ticket",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert "'nowhere' cannot be asked" in ran.stderr


def test_an_unsure_answer_and_none_at_all_go_to_a_person(
    example: ModuleType, stand_in: StandIn, short_url: str
) -> None:
    with DecisionClient(url=short_url) as client:
        sure = example.route(client, TICKETS[0], least_margin=0.0)
        unsure = example.route(client, TICKETS[0], least_margin=1.0)
    assert sure.team in example.Team
    assert (unsure.team, unsure.urgency) == (None, sure.urgency)
    stand_in.script = [Reply(503, adapter_error("overloaded", retry_after_seconds=1))] * 9
    with DecisionClient(url=stand_in.url, clock=FakeClock()) as client:
        nobody = example.route(client, TICKETS[0], least_margin=0.0)
        assert nobody.team is None
        assert "given up after 5 attempts" in nobody.reason
        stand_in.script = [Reply(400, adapter_error("invalid_request"))]
        with pytest.raises(RequestRefusedError):
            example.route(client, TICKETS[0], least_margin=0.0)
