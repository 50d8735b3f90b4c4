"""`Call`: one call as logs and traces know it, with an OpenTelemetry span where a program uses that.

The span follows OpenTelemetry's semantic conventions for generative AI ("Inference" client spans, in
development: gen-ai-spans.md of open-telemetry/semantic-conventions-genai, on version 1.41.1 of the general
ones; read 2026-11-30). They know no operation that chooses and no provider SageMaker: both values
are our own, as they allow. Nothing of a request's or a reply's text is in it, nor an error's message, which
may hold the words of a server that repeats what it was sent.
"""

import sys
from typing import TYPE_CHECKING

from semif.client.reply import read_answer
from semif.client.request import Read_co, Request
from semif.client.sending.call_ids import CallIds
from semif.client.sending.transport import Server

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from opentelemetry.trace import Span

    from semif_adapter.contract.wire import Result

OPERATION = "decide"
PROVIDER = "semif"


class Call:
    """From before the first sending to what came of it; `with`, or `end`, says when that is."""

    def __init__(self, server: Server, inference_id: str) -> None:
        self._span = _begin_span(server, inference_id)
        self.ids = CallIds(inference_id, _traceparent(self._span))

    def read(self, request: Request[Read_co], raw: bytes) -> Read_co:
        """The answer to `request` in the reply `raw`. Raises UnknownReplyError."""
        reply = read_answer(raw, self.ids.inference_id)
        answer = request.read(reply)
        if self._span is not None and reply.results:
            _tell_results(self._span, reply.results)
        return answer

    def end(self, error: BaseException | None = None) -> None:
        """It is answered, or failed with `error`."""
        if self._span is not None:
            if error is not None:
                _tell_error(self._span, error)
            self._span.end()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> None:
        self.end(error)


def _begin_span(server: Server, inference_id: str) -> "Span | None":
    # Who traces has loaded it by now, to say where spans go; nobody else pays for it.
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace  # noqa: PLC0415

    attributes: dict[str, str | int | None] = {
        "gen_ai.operation.name": OPERATION,
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.request.model": server.endpoint,
        "server.address": server.host,
        "server.port": server.port,
        "semif.inference_id": inference_id,
    }
    return trace.get_tracer("semif.client").start_span(
        f"{OPERATION} {server.endpoint}" if server.endpoint else OPERATION,
        kind=trace.SpanKind.CLIENT,
        attributes={name: value for name, value in attributes.items() if value is not None},
    )


def _traceparent(span: "Span | None") -> str | None:
    """The header's value for what `span` sends; None without a trace, as where nobody set up a tracer."""
    if span is None:
        return None
    from opentelemetry.trace import set_span_in_context  # noqa: PLC0415
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, set_span_in_context(span))
    return carrier.get("traceparent")


def _tell_results(span: "Span", results: "tuple[Result, ...]") -> None:
    span.set_attributes(
        {
            "gen_ai.response.model": results[0].model.name,
            "gen_ai.usage.input_tokens": sum(result.input_tokens for result in results),
            "gen_ai.usage.cache_read.input_tokens": sum(result.cached_tokens for result in results),
            "gen_ai.usage.output_tokens": 0,  # options are weighed, nothing is written
        }
    )


def _tell_error(span: "Span", error: BaseException) -> None:
    from opentelemetry.trace import StatusCode  # noqa: PLC0415

    span.set_attribute("error.type", type(error).__name__)
    span.set_status(StatusCode.ERROR)
