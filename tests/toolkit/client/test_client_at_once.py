"""Many requests at once: from threads, and from an event loop; connections, cancelling, closing."""

import asyncio
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

import pytest

from semif import AsyncDecisionClient, DecisionClient, Question, Retry
from semif.client.errors import ClosedClientError, OverloadedError, RequestRefusedError
from semif.client.retry import Attempt
from tests.support.machine.fake_clock import FakeClock
from tests.support.servers.sagemaker_stand_in import Reply, StandIn, adapter_error, model_error

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

BUSY = Reply(503, adapter_error("overloaded", retry_after_seconds=2))
YES_OR_NO = Literal["yes", "no"]


@pytest.fixture
def answering(stand_in: StandIn, adapter_url: str) -> StandIn:
    stand_in.behind = adapter_url
    return stand_in


def test_one_connection_serves_one_request_after_another(answering: StandIn) -> None:
    answering.script = [BUSY]
    with DecisionClient(url=answering.url, clock=FakeClock()) as client:
        for number in range(4):
            client.decide(f"state {number}", "q", YES_OR_NO)
        with pytest.raises(RequestRefusedError):
            client.ask(b"{}")
    assert (len(answering.bodies), answering.connections) == (6, 1)


def test_botocores_connections_are_used_again_too(
    answering: StandIn, runtime: "SageMakerRuntimeClient"
) -> None:
    client = DecisionClient("demo", sagemaker_runtime=runtime, clock=FakeClock())
    answering.script = [model_error(503, adapter_error("overloaded", retry_after_seconds=2))]
    for number in range(3):
        client.decide(f"state {number}", "q", YES_OR_NO)
    client.close()  # the runtime is another's
    DecisionClient("demo", sagemaker_runtime=runtime).decide("state", "q", YES_OR_NO)
    assert len(answering.bodies) == 5
    assert answering.connections == 2  # one for each client


def test_threads_share_a_client(answering: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    def ask(number: int) -> tuple[str, str]:
        result = client.decide(f"state {number}", "q", YES_OR_NO, id=str(number))
        return result.id, result.choice

    with DecisionClient(url=answering.url, connections=4) as client, ThreadPoolExecutor(16) as threads:
        found = list(threads.map(ask, range(24)))
    assert [identifier for identifier, _ in found] == [str(number) for number in range(24)]
    assert answering.connections <= 4
    assert caplog.messages == []  # no pool of connections that is full, say


def test_an_event_loop_goes_on_while_answers_are_waited_for(stand_in: StandIn, adapter_url: str) -> None:
    async def run() -> None:
        stand_in.behind, stand_in.open = adapter_url, threading.Event()
        async with AsyncDecisionClient(url=stand_in.url, connections=3) as client:
            asked = [asyncio.ensure_future(client.decide(f"s{n}", "q", YES_OR_NO)) for n in range(3)]
            asked.append(asyncio.ensure_future(client.decide_many("s", [Question("q", YES_OR_NO)])))  # type: ignore[arg-type]
            for _ in range(3):
                await asyncio.to_thread(stand_in.arrived.acquire)
            # Three are at the server, one waits for its turn, and here is the loop, running.
            assert not any(task.done() for task in asked)
            assert len(stand_in.bodies) == 3
            stand_in.open.set()
            found = await asyncio.gather(*asked)
        assert [result.choice in {"yes", "no"} for result in found[:3]] == [True] * 3
        assert len(stand_in.bodies) == 4

    asyncio.run(run())


def test_cancelling_leaves_the_client_whole(stand_in: StandIn, adapter_url: str) -> None:
    async def run() -> None:
        stand_in.behind, stand_in.open = adapter_url, threading.Event()
        async with AsyncDecisionClient(url=stand_in.url, connections=1) as client:
            sent = asyncio.ensure_future(client.decide("sent", "q", YES_OR_NO))
            await asyncio.to_thread(stand_in.arrived.acquire)
            waiting = asyncio.ensure_future(client.decide("waiting", "q", YES_OR_NO))
            await asyncio.sleep(0)
            for task in (sent, waiting):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            stand_in.open.set()
            result = await client.decide("after", "q", YES_OR_NO)
            assert result.choice in {"yes", "no"}
        assert [b"waiting" in body for body in stand_in.bodies] == [False, False]

    asyncio.run(run())


def test_cancelling_between_attempts_sends_nothing_more(stand_in: StandIn) -> None:
    class Endless(FakeClock):
        async def pause(self, seconds: float) -> None:
            paused.set()
            await asyncio.Event().wait()

    paused = asyncio.Event()

    async def run() -> None:
        stand_in.script = [BUSY]
        async with AsyncDecisionClient(url=stand_in.url, clock=Endless()) as client:
            task = asyncio.ensure_future(client.decide("s", "q", YES_OR_NO))
            await paused.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert len(stand_in.bodies) == 1

    asyncio.run(run())


def test_closing_does_not_wait_for_what_was_sent(stand_in: StandIn, adapter_url: str) -> None:
    async def run() -> None:
        stand_in.behind, stand_in.open = adapter_url, threading.Event()
        async with AsyncDecisionClient(url=stand_in.url, connections=1) as client:
            sent = asyncio.ensure_future(client.decide("sent", "q", YES_OR_NO))
            await asyncio.to_thread(stand_in.arrived.acquire)
            waiting = asyncio.ensure_future(client.decide("waiting", "q", YES_OR_NO))
            await asyncio.sleep(0)
        assert not sent.done()
        stand_in.open.set()
        assert (await sent).choice in {"yes", "no"}
        with pytest.raises(ClosedClientError):
            await waiting
        assert len(stand_in.bodies) == 1

    asyncio.run(run())


def test_a_closed_client_says_so(stand_in: StandIn, runtime: "SageMakerRuntimeClient") -> None:
    async def ask_later() -> None:
        async with AsyncDecisionClient(url=stand_in.url) as client:
            pass
        await client.close()  # again is no harm
        await client.decide("s", "q", YES_OR_NO)

    told: list[Attempt] = []
    for client in (
        DecisionClient(url=stand_in.url, on_attempt=told.append),
        DecisionClient("demo", sagemaker_runtime=runtime, on_attempt=told.append),
    ):
        client.close()
        client.close()
        with pytest.raises(ClosedClientError, match="this client was closed") as caught:
            client.decide("s", "q", YES_OR_NO)
        assert caught.value.attempts == 0
    with pytest.raises(ClosedClientError, match="this client was closed"):
        asyncio.run(ask_later())
    assert (stand_in.bodies, told) == ([], [])


def test_a_client_closed_between_attempts_sends_nothing_more(stand_in: StandIn) -> None:
    class Closing(FakeClock):
        def sleep(self, seconds: float) -> None:
            client.close()

    stand_in.script = [BUSY]
    client = DecisionClient(url=stand_in.url, clock=Closing())
    with pytest.raises(ClosedClientError):
        client.decide("s", "q", YES_OR_NO)
    assert len(stand_in.bodies) == 1


FORKING = """
import os, sys
from semif import DecisionClient
from semif.client.errors import ClosedClientError

used, unused = DecisionClient(url=sys.argv[1]), DecisionClient(url=sys.argv[1])
used.decide("before", "q", ["yes", "no"])
if (child := os.fork()) == 0:
    unused.decide("child", "q", ["yes", "no"])
    try:
        used.decide("never", "q", ["yes", "no"])
    except ClosedClientError as error:
        os._exit(0 if "in each process" in str(error) else 2)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
used.decide("parent", "q", ["yes", "no"])
"""


def test_no_connection_is_shared_over_a_fork(answering: StandIn) -> None:
    subprocess.run([sys.executable, "-c", FORKING, answering.url], check=True, timeout=120)
    states = [json.loads(body)["decision"]["state"] for body in answering.bodies]
    assert states == ["before", "child", "parent"]


def test_an_event_loops_failures_and_retries_are_the_same(stand_in: StandIn, adapter_url: str) -> None:
    told: list[Attempt] = []
    clock = FakeClock()

    async def run() -> None:
        async with AsyncDecisionClient(
            url=stand_in.url, clock=clock, on_attempt=told.append, retry=Retry(max_attempts=2)
        ) as client:
            stand_in.script = [BUSY, BUSY]
            with pytest.raises(OverloadedError) as caught:
                await client.ask(b'{"decision": {}}')
            assert caught.value.attempts == 2
            with pytest.raises(RequestRefusedError, match="not sent"):
                await client.decide("", "q", YES_OR_NO)

    asyncio.run(run())
    assert clock.waits == [2.125]
    assert [(attempt.status, attempt.retry_in_seconds) for attempt in told] == [(503, 2.125), (503, None)]
