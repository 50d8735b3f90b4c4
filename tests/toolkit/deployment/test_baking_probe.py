"""Requests while new instances take over: when they are sent, and that nothing waits for them in vain."""

import threading

import pytest

from semif.deployment.endpoint.baking_probe import BakingProbe
from semif.deployment.endpoint.watch import EndpointLook
from semif.errors import SemifError


def look(*stages: str) -> EndpointLook:
    return EndpointLook(0.0, "Updating", stages=stages)


@pytest.mark.parametrize(
    ("stages", "asked"), [((), 0), (("Creating",), 0), (("ActivatingTraffic",), 1), (("Baking",), 1)]
)
def test_it_asks_while_they_take_over_alone(stages: tuple[str, ...], asked: int) -> None:
    sent: list[None] = []
    handed_on: list[EndpointLook] = []
    with BakingProbe(lambda: sent.append(None), handed_on.append) as probe:
        probe.on_look(look(*stages))
    assert len(sent) == asked
    assert len(handed_on) == 1
    assert (probe.summary is None) == (asked == 0)


def test_looks_while_a_request_is_on_its_way_send_no_heap_of_others() -> None:
    asking, answer = threading.Event(), threading.Event()
    sent: list[None] = []

    def ask() -> None:
        sent.append(None)
        asking.set()
        answer.wait()

    with BakingProbe(ask, lambda _: None) as probe:
        probe.on_look(look("Baking"))
        asking.wait()
        for _ in range(5):
            probe.on_look(look("Baking"))
        answer.set()
    assert len(sent) == 2, "the one on its way, and one for all looks since"


def test_a_deployment_that_failed_waits_for_no_request() -> None:
    asking, answer = threading.Event(), threading.Event()

    def ask() -> None:
        asking.set()
        answer.wait()

    def deploy() -> None:
        with BakingProbe(ask, lambda _: None) as probe:
            probe.on_look(look("Baking"))
            asking.wait()
            probe.on_look(look("Baking"))
            raise SemifError("rolled back")

    with pytest.raises(SemifError, match="rolled back"):
        deploy()
    answer.set()


def test_failures_are_counted_and_told_and_end_nothing() -> None:
    turns = iter([SemifError("busy"), None, SemifError("broken")])
    done = threading.Semaphore(0)

    def ask() -> None:
        turn = next(turns)
        done.release()
        if turn is not None:
            raise turn

    with BakingProbe(ask, lambda _: None) as probe:
        for _ in range(3):
            probe.on_look(look("Baking"))
            done.acquire()
    assert probe.summary == (
        "asked 3 small requests while the new instances took over, 1 went well; the last failure: broken"
    )
