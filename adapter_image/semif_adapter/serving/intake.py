"""The way of one request from its first byte to its answer, the same for every form of request."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from starlette.requests import ClientDisconnect, Request

from semif_adapter.contract.errors import (
    AbandonedError,
    BodyTooLargeError,
    DeadlineError,
    DrainingError,
    InvalidRequestError,
    RequestTimeoutError,
)
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.computation import Computation, RequestResult
from semif_adapter.forms.form import Form
from semif_adapter.serving.admitted_request import AdmittedRequest
from semif_adapter.serving.checkers import Checked, GoOn
from semif_adapter.serving.content_encoding import decode_body, is_encoded
from semif_adapter.serving.lifecycle import DRAINING_RETRY_SECONDS
from semif_adapter.serving.request_log import RECORD, RequestRecord
from semif_adapter.serving.request_memory import TOKENISING_BYTES, Held, document_bytes
from semif_adapter.serving.request_queue import RequestQueue

CHECK_RETRY_SECONDS = 5.0


class _Body(NamedTuple):
    """A body that has come, its content encoding, and the memory that is held for it."""

    data: bytes
    encoding: str
    held: Held


class Intake:
    """Reads, checks, queues and scores requests, each within its deadline."""

    def __init__(self, queue: RequestQueue, settings: Settings) -> None:
        self._queue = queue
        self._settings = settings

    async def answer(self, request: Request, read: Callable[[bytes], Form]) -> tuple[Form, RequestResult]:
        """What the body asks, and its result. `read` parses the body, on a thread of its own.

        A client that hangs up frees its place at once. Raises AdapterError, from when the form is known with
        its refusal in that.
        """
        record: RequestRecord = request.scope[RECORD]
        self._queue.check_ready()
        # Before it holds a place: sixteen clients that send a byte a second would hold them all.
        with self._queue.memory.bodies.hold() as held:
            body = await self._read_body(request, held)
        record.body_bytes = len(body)
        encoding = request.headers.get("content-encoding", "identity")
        with self._queue.admit(record.arrived) as admitted, self._queue.memory.documents.hold() as held:
            work = self._work(_Body(body, encoding, held), read, admitted, record)
            working = asyncio.ensure_future(work)
            leaving = asyncio.ensure_future(_hung_up(request))
            try:
                await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    return working.result()
                raise AbandonedError("the client closed the connection")
            finally:
                for task in (working, leaving):
                    task.cancel()
                await asyncio.gather(working, leaving, return_exceptions=True)

    async def _work(
        self,
        body: _Body,
        read: Callable[[bytes], Form],
        admitted: AdmittedRequest,
        record: RequestRecord,
    ) -> tuple[Form, RequestResult]:
        try:
            async with asyncio.timeout(admitted.deadline - monotonic()):
                document = await self._decode(body)
                tokenising = TOKENISING_BYTES * min(len(document), self._queue.engine.longest_text_bytes)
                body.held.take(tokenising)
                form, computation = await self._check(
                    len(document), lambda go_on: self._prepare(document, read, go_on), body.held
                )
                body.held.give_back(tokenising)
        except TimeoutError:
            raise DeadlineError(
                "the request could not be checked in time", retry_after_seconds=CHECK_RETRY_SECONDS
            ) from None
        record.decisions = len(form.questions)
        record.options = sum(len(question.options) for question in form.questions)
        try:
            with form.refusing():
                result = await self._queue.score(admitted, computation)
        finally:
            record.queue_seconds = admitted.queue_seconds
            record.score_seconds = admitted.score_seconds
        _note(record, result)
        return form, result

    async def _decode(self, body: _Body) -> bytes:
        """The body as it was before its content encoding; what it may come to take is held from now on."""
        data, encoding, held = body
        held.take(len(data))
        decoded = data
        if is_encoded(encoding):
            limit = self._settings.max_body_bytes
            decoded = await self._check(len(data), lambda _: decode_body(data, encoding, limit), held)
        held.take(document_bytes(decoded))
        return decoded

    async def _check(self, size: int, work: Callable[[GoOn], Checked], held: Held) -> Checked:
        """What `work` on `size` bytes returns, from a thread; it keeps what is `held` until it ends."""
        held.share()
        return await self._queue.checkers.run(size, work, held.let_go)

    def _prepare(self, body: bytes, read: Callable[[bytes], Form], go_on: GoOn) -> tuple[Form, Computation]:
        form = read(body)
        layout = self._settings.layout or form.layout
        with form.refusing():
            return form, self._queue.engine.prepare(form.questions, layout, go_on)

    async def _read_body(self, request: Request, held: Held) -> bytes:
        """The body, within its limits of bytes and seconds; a stop of the server does not wait for it."""
        reading = asyncio.ensure_future(read_body(request, self._settings.max_body_bytes, held.take))
        draining = asyncio.ensure_future(self._queue.lifecycle.wait_draining())
        seconds = self._settings.body_seconds
        try:
            await asyncio.wait((reading, draining), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                return reading.result()
            if draining.done():
                raise DrainingError("the server is stopping", retry_after_seconds=DRAINING_RETRY_SECONDS)
            raise RequestTimeoutError(f"the body did not arrive within {seconds:g} s")
        finally:
            for task in (reading, draining):
                task.cancel()
            await asyncio.gather(reading, draining, return_exceptions=True)


async def read_body(request: Request, limit: int, hold: Callable[[int], None] = lambda _: None) -> bytes:
    """The body, at most `limit` bytes; nothing beyond is kept, whether its length was announced or not.

    `hold` is told of bytes before they are kept. Raises BodyTooLargeError, and InvalidRequestError where the
    connection closed before its end.
    """
    body = bytearray()
    try:
        async for chunk in request.stream():
            hold(len(chunk))
            body += chunk
            if len(body) > limit:
                raise BodyTooLargeError(f"the body is larger than the limit of {limit} bytes")
    except ClientDisconnect:
        raise InvalidRequestError("the connection closed before the body was complete") from None
    return bytes(body)


async def _hung_up(request: Request) -> None:
    """Wait until the client is gone; its body was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _note(record: RequestRecord, result: RequestResult) -> None:
    """What the result cost, into the request's record."""
    results, timing = result
    record.input_tokens = sum(result.input_tokens for result in results)
    record.cached_tokens = sum(result.cached_tokens for result in results)
    record.prefill_tokens = timing.prefix_tokens - timing.prefix_cached_tokens
    record.suffix_tokens = record.input_tokens - record.cached_tokens - record.prefill_tokens
    record.masses = [result.allowed_token_mass for result in results if result.allowed_token_mass is not None]
