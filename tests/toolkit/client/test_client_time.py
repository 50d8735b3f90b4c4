"""How long a call may take: one limit over all attempts, which cuts the running one, and what that frees."""

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from semif import AsyncDecisionClient, DecisionClient, Question, Retry
from semif.aws.clients import Aws
from semif.client.errors import AnswerTimeoutError, DecisionError, OverloadedError
from semif.client.retry import Attempt, until_answered
from semif.client.sending.io_loop import IoLoop
from semif.errors import SemifError
from tests.support.machine.fake_clock import FakeClock
from tests.support.servers.hanging import Hanging, Manner, hanging
from tests.support.servers.sagemaker_stand_in import Reply, StandIn, adapter_error

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

OPTIONS = ["yes", "no"]
LONGEST = 60.0
SHORT = 0.3
"""Seconds that a call may take here: nothing is asserted on how long it did."""


@pytest.fixture(scope="module")
def runtime_of() -> Callable[[str], "SageMakerRuntimeClient"]:
    """botocore's client of another address."""
    return lambda url: Aws(region="us-east-1", endpoint_url=url).sagemaker_runtime


def arrive(server: Hanging | StandIn, times: int = 1) -> None:
    for _ in range(times):
        assert server.arrived.acquire(timeout=LONGEST)


@pytest.mark.parametrize("manner", ["silent", "endless head", "endless body"])
@pytest.mark.parametrize("place", ["endpoint", "url"])
def test_the_running_attempt_is_cut_off_and_its_connection_closed(
    manner: Manner, place: str, runtime_of: Callable[[str], "SageMakerRuntimeClient"]
) -> None:
    told: list[Attempt] = []
    with hanging(manner) as server:
        runtime = runtime_of(server.url) if place == "endpoint" else None
        name, url = ("demo", None) if runtime else (None, server.url)
        with DecisionClient(name, url=url, sagemaker_runtime=runtime, on_attempt=told.append) as client:
            for ask in (
                lambda: client.decide("s", "q", OPTIONS, timeout=SHORT),
                lambda: client.decide_many("s", [Question("q", OPTIONS)], timeout=SHORT),
                lambda: client.ask(b"{}", timeout=SHORT),
            ):
                while not server.arrived.acquire(blocking=False):  # on a busy machine it may not get so far
                    with pytest.raises(AnswerTimeoutError, match="in the time that this call had") as caught:
                        ask()
                found = caught.value
                assert (found.code, found.status, found.attempts) == ("timeout", None, 1)
                assert server.hung_up.acquire(timeout=LONGEST)
    seen = {(attempt.number, attempt.status, attempt.code, attempt.retry_in_seconds) for attempt in told}
    assert seen == {(1, None, "timeout", None)}


def test_a_client_has_a_limit_for_all_its_calls_and_a_call_may_have_another(stand_in: StandIn) -> None:
    for clients, calls in ((SHORT, None), (LONGEST, SHORT)):
        with (
            hanging() as server,
            DecisionClient(url=server.url, timeout=clients) as client,
            pytest.raises(AnswerTimeoutError),
        ):
            client.decide("s", "q", OPTIONS, timeout=calls)
    stand_in.script = [Reply(503, adapter_error("overloaded", retry_after_seconds=LONGEST))]
    clock, retry = FakeClock(), Retry(total_seconds=10 * LONGEST)
    with (
        DecisionClient(url=stand_in.url, timeout=LONGEST, clock=clock, retry=retry) as client,
        pytest.raises(OverloadedError) as caught,  # the next attempt would begin too late
    ):
        client.decide("s", "q", OPTIONS)
    assert (caught.value.attempts, clock.waits) == (1, [])


def test_attempts_share_one_limit() -> None:
    clock = FakeClock(share=0)
    given: list[float | None] = []

    def send(seconds: float | None) -> None:
        given.append(seconds)
        clock.time += 1.0
        raise OverloadedError("busy", retry_after_seconds=0.5)

    with pytest.raises(OverloadedError) as caught:
        until_answered(send, retry=Retry(max_attempts=9), clock=clock, timeout=4.0)
    assert given == [4.0, 2.5, 1.0]
    assert caught.value.attempts == 3


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "25", True, Decimal(25)])
def test_a_limit_that_makes_no_sense_is_refused(stand_in: StandIn, seconds: Any) -> None:
    message = r"timeout = .*: must be a number of more than 0 seconds, and finite"
    with DecisionClient(url=stand_in.url) as client, pytest.raises(SemifError, match=message):
        client.decide("s", "q", OPTIONS, timeout=seconds)
    with pytest.raises(SemifError, match="timeout = "):
        DecisionClient(url=stand_in.url, timeout=seconds)
    with pytest.raises(SemifError, match="timeout = "):
        AsyncDecisionClient(url=stand_in.url, timeout=seconds)
    assert stand_in.bodies == []


def test_ten_calls_that_hang_leave_the_threads_of_a_server_that_is_well_again(
    stand_in: StandIn, adapter_url: str
) -> None:
    stand_in.behind, held = adapter_url, Event()
    with (
        DecisionClient(url=stand_in.url, timeout=2, connections=10) as client,
        ThreadPoolExecutor(10) as pool,
    ):
        client.decide("first", "q", OPTIONS, timeout=LONGEST)  # it loads what the others have then
        stand_in.open = held
        arrive(stand_in)
        hung = [pool.submit(client.decide, f"s{number}", "q", OPTIONS) for number in range(10)]
        arrive(stand_in, 10)
        stand_in.open = None  # whoever comes now is answered; the ten are held still
        for one in hung:
            assert isinstance(one.exception(LONGEST), AnswerTimeoutError)
        assert client.decide("later", "q", OPTIONS, timeout=LONGEST).choice in OPTIONS
        assert not held.is_set()
    held.set()


def test_ten_tasks_that_are_cancelled_give_their_places_back_at_once(
    stand_in: StandIn, adapter_url: str
) -> None:
    async def run() -> None:
        stand_in.behind, stand_in.open = adapter_url, held
        async with AsyncDecisionClient(url=stand_in.url, connections=10) as client:
            hung = [asyncio.ensure_future(client.decide(f"s{n}", "q", OPTIONS)) for n in range(10)]
            await asyncio.to_thread(arrive, stand_in, 10)
            stand_in.open = None
            with pytest.raises(AnswerTimeoutError):  # no place is free: it is not sent
                await client.decide("eleventh", "q", OPTIONS, timeout=SHORT)
            assert len(stand_in.bodies) == 10
            for task in hung:
                task.cancel()
            assert (await client.decide("later", "q", OPTIONS, timeout=LONGEST)).choice in OPTIONS
            found = await asyncio.gather(*hung, return_exceptions=True)
            assert all(isinstance(error, asyncio.CancelledError) for error in found)

    held = Event()
    asyncio.run(run())
    held.set()


def test_a_cancelled_task_closes_its_connection() -> None:
    async def run() -> None:
        with hanging() as server:
            async with AsyncDecisionClient(url=server.url) as client:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(SHORT):
                        await client.decide("s", "q", OPTIONS)
                assert await asyncio.to_thread(server.hung_up.acquire, timeout=LONGEST)

    asyncio.run(run())


def test_one_client_serves_one_event_loop_after_another(stand_in: StandIn, adapter_url: str) -> None:
    stand_in.behind = adapter_url
    client = AsyncDecisionClient(url=stand_in.url)
    for number in range(3):
        assert asyncio.run(client.decide(f"s{number}", "q", OPTIONS)).choice in OPTIONS
    asyncio.run(client.close())
    assert stand_in.connections == 1


def test_a_loop_that_is_let_go_while_it_ends_closes_what_it_has() -> None:
    """A closed client is often forgotten at once: its connections are closed all the same, without a word."""
    closing, may_close, closed = Event(), Event(), Event()

    async def last() -> None:
        closing.set()
        while not may_close.is_set():
            await asyncio.sleep(0)
        closed.set()

    async def work() -> int:
        return threading.get_ident()

    loop = IoLoop(last)
    ident = loop.run(work)
    thread = next(one for one in threading.enumerate() if one.ident == ident)
    loop.end()
    assert closing.wait(LONGEST)
    let_go = weakref.ref(loop)
    del loop
    gc.collect()
    assert let_go() is None
    may_close.set()
    thread.join(LONGEST)
    assert closed.is_set()


LEAVING = """
import asyncio, sys, threading
from semif import AsyncDecisionClient, DecisionClient

async def give_up():
    client = AsyncDecisionClient(url=sys.argv[1])
    asked = asyncio.ensure_future(client.decide("s", "q", ["yes", "no"]))
    await asyncio.to_thread(sys.stdin.readline)
    asked.cancel()

asyncio.run(give_up())
hung = DecisionClient(url=sys.argv[1])
threading.Thread(target=hung.decide, args=("s", "q", ["yes", "no"]), daemon=True).start()
sys.stdin.readline()
"""


def test_a_process_ends_though_a_request_hangs(tmp_path: Path) -> None:
    said = tmp_path / "stderr"
    command = [sys.executable, "-W", "error", "-c", LEAVING]
    with (
        hanging() as server,
        said.open("wb") as stderr,
        subprocess.Popen([*command, server.url], stdin=subprocess.PIPE, stderr=stderr, text=True) as program,
    ):
        assert program.stdin is not None
        try:
            for _ in range(2):
                assert server.arrived.acquire(timeout=LONGEST), said.read_text()
                print(file=program.stdin, flush=True)
            program.wait(LONGEST)
        finally:
            program.kill()
    assert (program.returncode, said.read_text()) == (0, "")


def test_no_answer_in_sagemakers_time_is_told_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "semif.client.transports.url_transport.ATTEMPT_SECONDS", SHORT
    )  # the test does not wait 70 s
    with (
        hanging() as server,
        DecisionClient(url=server.url) as client,
        pytest.raises(DecisionError, match=r"gave no answer in time, 0.3 s; shorten the state") as caught,
    ):
        client.decide("s", "q", OPTIONS)
    assert (type(caught.value), caught.value.attempts) == (AnswerTimeoutError, 1)
