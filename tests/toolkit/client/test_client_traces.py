"""Ids, spans and log lines of calls: what is sent and told, and that no text of the caller is in it."""

import asyncio
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from semif import AsyncDecisionClient, DecisionClient, Question, Retry
from semif.client.errors import ContainerFaultError, OverloadedError, RequestRefusedError
from semif.client.retry import Attempt
from semif.testing import fake_client
from semif_adapter.contract.wire import DecisionResponse
from tests.support.machine.fake_clock import FakeClock
from tests.support.runs.policies import answer
from tests.support.servers.sagemaker_stand_in import Reply, StandIn, adapter_error, model_error

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

STATE = "the secret colour is mauve"
QUESTION: Question[str] = Question("Which?", ["yes", "no"])
ID_HEADER = "X-Amzn-SageMaker-Inference-Id"
ATTRIBUTES_HEADER = "X-Amzn-SageMaker-Custom-Attributes"
FULL = Reply(503, adapter_error("overloaded", retry_after_seconds=1))


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    """OpenTelemetry takes a provider once for a process: afterwards this one keeps nothing."""
    made = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    trace.set_tracer_provider(provider)
    yield made
    made.shutdown()


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    yield exporter
    exporter.clear()


def sent(stand_in: StandIn, header: str) -> list[str | None]:
    return [
        {name.lower(): value for name, value in headers.items()}.get(header.lower())
        for headers in stand_in.headers
    ]


def traceparent(span: ReadableSpan) -> str:
    context = span.get_span_context()
    assert context is not None
    return f"traceparent=00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def test_an_id_is_sent_with_every_attempt_and_told(stand_in: StandIn, adapter_url: str) -> None:
    stand_in.behind, stand_in.script = adapter_url, [FULL]
    told: list[Attempt] = []
    with DecisionClient(url=stand_in.url, on_attempt=told.append, clock=FakeClock()) as client:
        result = client.decide(STATE, QUESTION.text, ["yes", "no"], inference_id="order 7")
        pair = client.decide_many(STATE, (QUESTION, QUESTION))
    assert result.inference_id == "order 7"
    first, second, third = sent(stand_in, ID_HEADER)
    assert (first, second) == ("order 7", "order 7")
    assert third == pair[0].inference_id == pair[1].inference_id
    assert re.fullmatch("[0-9a-f]{32}", str(third))
    assert [attempt.inference_id for attempt in told] == ["order 7", "order 7", third]


def test_each_of_many_calls_has_an_id_of_its_own(stand_in: StandIn, adapter_url: str) -> None:
    stand_in.behind, stand_in.script = adapter_url, [Reply(500, adapter_error("engine_failed"))]
    with DecisionClient(url=stand_in.url) as client:
        found = list(client.decide_each([(STATE, QUESTION)] * 3, concurrency=1))

    async def gather() -> list[str | None]:
        async with AsyncDecisionClient(url=stand_in.url) as client:
            calls = [client.decide(STATE, QUESTION.text, ["yes", "no"]) for _ in range(2)]
            return [result.inference_id for result in await asyncio.gather(*calls)]

    told = [each.inference_id for each in found]
    told += asyncio.run(gather())
    assert len(set(told)) == 5
    assert set(sent(stand_in, ID_HEADER)) == set(told)


def test_an_item_of_many_may_bring_its_id(stand_in: StandIn, adapter_url: str) -> None:
    stand_in.behind = adapter_url
    items = [
        (STATE, QUESTION, "mail-1"),
        (STATE, QUESTION),
        (STATE, QUESTION, " wrong"),
        (STATE, QUESTION, None),
    ]
    with DecisionClient(url=stand_in.url) as client:
        found = {each.position: each for each in client.decide_each(items)}
    assert found[0].inference_id == "mail-1"
    assert (found[2].inference_id, found[2].error and found[2].error.code) == (None, "invalid_request")
    assert {found[place].inference_id for place in (0, 1, 3)} == set(sent(stand_in, ID_HEADER))


@pytest.mark.parametrize("wrong", ["", " a", "a ", "ü", "a\r\nHost: b", "x" * 65, 7])
def test_an_id_that_sagemaker_does_not_take_is_refused(stand_in: StandIn, wrong: str) -> None:
    with (
        DecisionClient(url=stand_in.url) as client,
        pytest.raises(RequestRefusedError, match="64") as refused,
    ):
        client.decide(STATE, QUESTION.text, ["yes", "no"], inference_id=wrong)
    assert (refused.value.code, refused.value.inference_id) == ("invalid_request", None)
    assert not stand_in.bodies


def test_an_endpoint_is_given_both_and_an_error_tells_the_id(
    stand_in: StandIn, runtime: "SageMakerRuntimeClient", spans: InMemorySpanExporter
) -> None:
    result = answer({"yes": 0.9, "no": 0.1}, name="decision").raw
    stand_in.script = [
        Reply(200, DecisionResponse(result=result).model_dump_json().encode()),
        model_error(503, STATE),
    ]
    client = DecisionClient("demo", sagemaker_runtime=runtime, retry=Retry(max_attempts=1))
    with client, trace.get_tracer("test").start_as_current_span("request") as ours:
        client.decide(STATE, QUESTION.text, ["yes", "no"], inference_id="x" * 64)
        with pytest.raises(OverloadedError) as failed:
            client.decide(STATE, QUESTION.text, ["yes", "no"])
    answered, refused, _ = spans.get_finished_spans()
    assert sent(stand_in, ID_HEADER) == ["x" * 64, failed.value.inference_id]
    assert sent(stand_in, ATTRIBUTES_HEADER) == [traceparent(answered), traceparent(refused)]
    assert answered.parent == refused.parent == ours.get_span_context()
    assert (answered.name, answered.kind) == ("decide demo", trace.SpanKind.CLIENT)
    assert answered.attributes == {
        "gen_ai.operation.name": "decide",
        "gen_ai.provider.name": "semif",
        "gen_ai.request.model": "demo",
        "gen_ai.response.model": result.model.name,
        "gen_ai.usage.input_tokens": 1,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.output_tokens": 0,
        "server.address": "127.0.0.1",
        "server.port": stand_in.server_port,
        "semif.inference_id": "x" * 64,
    }
    assert answered.status.is_unset
    assert (refused.attributes or {})["error.type"] == "OverloadedError"
    assert (refused.status.status_code, refused.status.description) == (trace.StatusCode.ERROR, None)
    assert "mauve" not in json.dumps([json.loads(span.to_json()) for span in (answered, refused)])


def test_spans_end_with_what_was_cut_off(spans: InMemorySpanExporter) -> None:
    async def cancelled() -> None:
        stopped = client.decide(STATE, QUESTION.text, ["yes", "no"], timeout=60)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stopped, 0)

    client = AsyncDecisionClient(url="http://127.0.0.1:9")
    asyncio.run(cancelled())
    fake = fake_client({"Which?": "yes"})
    each = fake.decide_each([(STATE, QUESTION)] * 4, concurrency=2)
    next(each)
    each.close()  # type: ignore[attr-defined]  # a generator
    failing = fake_client(ContainerFaultError("no"))
    assert [one.error is not None for one in failing.decide_each([(STATE, QUESTION)])] == [True]
    ended = spans.get_finished_spans()
    kinds = [(span.attributes or {}).get("error.type") for span in ended]
    assert kinds[-1] == "ContainerFaultError"
    assert "CancelledError" in kinds
    assert None in kinds
    assert all(span.name == "decide" for span in ended)


def test_a_log_line_for_each_attempt(
    stand_in: StandIn, adapter_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    stand_in.behind, stand_in.script = adapter_url, [FULL]
    with (
        caplog.at_level(logging.DEBUG, "semif.client"),
        DecisionClient(url=stand_in.url, clock=FakeClock()) as client,
    ):
        client.decide(STATE, QUESTION.text, ["yes", "no"], inference_id="order-7")
    lines = [record.getMessage() for record in caplog.records if record.name == "semif.client"]
    assert [line.partition(" seconds=")[0] for line in lines] == [
        "inference_id=order-7 attempt=1",
        "inference_id=order-7 attempt=2",
    ]
    assert "status=503 code=overloaded" in lines[0]
    assert "mauve" not in caplog.text


def test_a_program_without_traces_loads_no_opentelemetry() -> None:
    program = (
        "import sys; from semif.testing import fake_client; "
        "fake_client('yes').decide('state', 'Which?', ['yes', 'no']); "
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
