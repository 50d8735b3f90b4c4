"""Requests while new instances take over: when they are sent, and that nothing waits for them in vain."""

import os
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from semif.deployment.endpoint.baking_probe import BakingProbe
from semif.deployment.endpoint.watch import EndpointLook
from semif.deployment.stages import deploy_endpoint
from semif.environment.environment import load_environment
from semif.errors import SemifError
from tests.support.servers.recorded import Recorded
from tests.support.servers.recorded_deployment import (
    cdk,
    endpoint,
    fleet,
    lock_of,
    recorded_target,
    tell_endpoint,
    tell_stack,
)


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_request_that_fails_as_nobody_foresaw_keeps_no_deployment() -> None:
    """A defect ends the thread, is told there, and nobody waits for it."""
    asking = threading.Event()

    def ask() -> None:
        asking.set()
        raise RuntimeError("a defect")

    with BakingProbe(ask, lambda _: None) as probe:
        probe.on_look(look("Baking"))
        asking.wait()
        for _ in range(3):
            probe.on_look(look("Baking"))
    assert probe.summary is None


@pytest.mark.parametrize("code", ["ServiceUnavailable", "ThrottlingException", "ValidationError"])
def test_a_queue_that_takes_nothing_keeps_no_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """Whether nobody knows that it was taken, it was not for now, or never will be."""
    account = Recorded("cloudformation", "sagemaker", "sagemaker_runtime", "s3")
    lock = lock_of("2", "demo-async")
    target = recorded_target(account, tmp_path, monkeypatch, lock)
    path = tmp_path / "environments" / "demo-async.toml"
    path.write_text(path.read_text() + '\n[alarms]\n[deployment]\nstrategy = "all-at-once"\n')
    target = replace(target, environment=load_environment("demo-async"))
    tell_stack(account, lock)
    queue = {"OutputConfig": {"S3OutputPath": "s3://files/answers", "S3FailurePath": "s3://files/failures"}}
    more = {"AsyncInferenceConfig": queue, "CreationTime": datetime.now(UTC)}
    told = endpoint("InService", ProductionVariants=fleet(2, 2, "Baking"))
    assert isinstance(told, dict)
    tell_endpoint(account, lock, told | more)
    account.tell(account.aws.s3, "put_object", {})
    account.tell(account.aws.sagemaker_runtime, "invoke_endpoint_async", (code, "not you"))
    os.mkfifo(tmp_path / "seen")
    cdk(target, "read _ <seen; echo deployed")
    seen: list[EndpointLook] = []

    def on_look(found: EndpointLook) -> None:
        seen.append(found)
        if len(seen) == 3:
            (tmp_path / "seen").write_text("\n")

    lines: list[str] = []
    deploy_endpoint(target, lines.append, on_look)
    assert "0 went well; the last failure: " in lines[-1]
    assert "InvokeEndpointAsync" in account.asked
