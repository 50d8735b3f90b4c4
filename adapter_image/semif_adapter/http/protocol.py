"""uvicorn's HTTP protocol with bounds that it lacks: heads, pipelines, connections; and errors in JSON."""

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from semif_adapter.contract.errors import (
    AdapterError,
    HeadTooLargeError,
    InvalidRequestError,
    NoMemoryError,
    RequestTimeoutError,
)
from semif_adapter.http.connections import connection_limit, idle_connections
from semif_adapter.http.framing import check_framing
from semif_adapter.http.hang_ups import sends_no_more, was_reset

MAX_HEAD_BYTES = 65_536
"""Longest request line and headers together, and longest trailers."""
HEAD_SECONDS = 10.0
"""How long a request's head may take to arrive; an idle kept-alive connection has uvicorn's own limit."""

_OFFER = (b"connection", b"upgrade", b"http2-settings")
MAX_PIPELINED = 16
"""Requests that wait on one connection behind the one that is being answered; clients rarely send one."""
LINGER_SECONDS = 2.0
"""How long a refused client may go on sending."""
REPLY_SECONDS = 30.0
"""How long a client may leave what it was sent unread; closing would wait for it, and for ever."""
WATCH_SECONDS = 0.2
"""How often a connection that is not read from is looked at: has its client gone?"""


class BoundedProtocol(HttpToolsProtocol):
    """One connection. A request that uvicorn cannot read gets its 4xx here, before the application."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._bytes_beside_body = 0
        """Of the head, and later what came since the last of the body: the frames of chunks, and trailers."""
        self._refused = False
        """Whether what still arrives is thrown away."""
        self._offered_upgrade = False
        """Whether this head is read once more, without its offer."""
        self._idle = idle_connections(self.server_state)
        self._answering: RequestResponseCycle | None = None
        """The oldest request without its answer, or the last that had its own."""
        self._head_timer: asyncio.TimerHandle | None = None
        self._watch_timer: asyncio.TimerHandle | None = None
        self._asked_whether_gone = False
        self._unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._idle.add(self)
        self._await_head()
        if len(self.connections) > connection_limit():
            self._idle.close_longest(or_else=self)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        self._idle.discard(self)
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._idle.add(self)
        self._await_reader()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader()

    def _await_reader(self) -> None:
        if self._unread_timer is None and self.transport.get_write_buffer_size():
            self._unread_timer = self.loop.call_later(REPLY_SECONDS, self._reader_is_late)

    def _reader_is_late(self) -> None:
        self._unread_timer = None
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's: whether to stay open
        """The client sends no more; whether it waits for answers. One that is only half sent gets none."""
        last = self._last_request()
        if last is None or last.more_body or not self._ask_whether_gone():
            return False
        last.keep_alive = False
        self._watch()
        return True

    def _ask_whether_gone(self) -> bool:
        """A client that sends no more: has it gone, or does it wait for its answers? False: it has gone.

        An interim response, which every HTTP/1.1 client must take (RFC 9110, section 15.2), tells: who has
        gone resets the connection. Over HTTP/1.0, which has none, whoever sends no more counts as gone.
        """
        self._asked_whether_gone = True
        if self._answering is None or self._answering.scope["http_version"] == "1.0":
            return False
        if not self._answering.response_started:  # or it would stand in the middle of that
            self.transport.write(STATUS_LINE[100] + b"\r\n")
        return True

    def _watch(self) -> None:
        """Look for a hang-up as long as nothing is read: behind a pipeline, or after the client's end."""
        if self._watch_timer is None:
            self._look()

    def _look(self) -> None:
        self._watch_timer = None
        if self.transport.is_closing():
            return
        connection = self.transport.get_extra_info("socket")
        if was_reset(connection):
            self.transport.abort()
        elif not self._asked_whether_gone and sends_no_more(connection) and not self._ask_whether_gone():
            self.transport.close()
        elif self._asked_whether_gone or self.flow.read_paused:
            self._watch_timer = self.loop.call_later(WATCH_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._idle.discard(self)
        for timer in (self._watch_timer, self._unread_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        if self._answering is not None:  # uvicorn's tells the newest, which waits behind this one
            self._answering.disconnected = not self._answering.response_complete
            self._answering.message_event.set()
        # uvicorn's keeps the timer of a connection that was reset, and by it the last request and its body.
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._bytes_beside_body += len(data)
        self._parse(data)
        if self._bytes_beside_body > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(_head_too_large())
        if self.flow.read_paused:
            self._watch()

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._pass_over_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            match error.__context__:
                case AdapterError() as refused:
                    self._refuse(refused)
                case MemoryError():
                    self._refuse(NoMemoryError())
                case _:
                    self.send_400_response("")

    def _pass_over_upgrade(self, rest: bytes) -> None:
        """Read the head again without the offer to speak something else (Java's client, `curl --http2`).

        RFC 9110, section 7.8: a server may ignore a received Upgrade field. The parser would take the body
        for that other protocol. `rest` is what came behind the head.
        """
        if not self._offered_upgrade:  # CONNECT, which is no offer
            self.send_400_response("")
            return
        self._offered_upgrade = False
        version = self.parser.get_http_version().encode()
        lines = [self.parser.get_method() + b" " + self.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self.headers if name not in _OFFER]
        if any(name == b"connection" and b"close" in value.lower() for name, value in self.headers):
            lines.append(b"connection: close")
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
        self._parse(b"\r\n".join([*lines, b"", rest]))

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            raise _TooManyPipelinedError
        super().on_message_begin()
        self._unset_keepalive_if_required()  # here, and not for empty lines before a request
        if not self._in_head:
            self._in_head, self._bytes_beside_body = True, 1  # how many came with its first is not known
            self._await_head()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) >= MAX_HEAD_BYTES:
            raise _head_too_large()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, and no trailer: what it would say, the head has decided (RFC 9110, section 6.5)."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        version = self.parser.get_http_version()
        check_framing(version, self.headers)
        self.expect_100_continue &= version == "1.1"  # 1.0 has no interim one (RFC 9110, section 10.1.1)
        self._offered_upgrade = any(name == b"upgrade" for name, _ in self.headers)
        if self._offered_upgrade and self.parser.should_upgrade():
            return
        self._offered_upgrade = False
        self._unset_keepalive_if_required()
        super().on_headers_complete()
        self._in_head, self._bytes_beside_body = False, 0
        self._stop_timer()

    def on_body(self, body: bytes) -> None:
        self._bytes_beside_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes_beside_body = 0
        if not self._offered_upgrade:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's signature
        """What uvicorn calls where the bytes are not HTTP."""
        self._refuse(InvalidRequestError("the request is not valid HTTP/1.1"))

    def _await_head(self) -> None:
        self._stop_timer()
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_is_late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._await_head()  # a pipelined request; closing would lose the answer to the one before
        elif self._bytes_beside_body == 0:
            self.transport.close()
        else:
            self._refuse(RequestTimeoutError(f"the headers did not arrive within {HEAD_SECONDS:g} s"))

    def _last_request(self) -> RequestResponseCycle | None:
        """The last of those without their answer; one that waits for more of its body is dropped."""
        if self.pipeline and self.pipeline[0][0].more_body:
            self.pipeline.popleft()
        last = self.pipeline[0][0] if self.pipeline else self._answering
        return None if last is None or last.response_complete else last

    def _refuse(self, error: AdapterError) -> None:
        """Answer and close; what the client still sends is read first, or it would see a reset instead."""
        if self._refused:
            return
        self._refused = True
        self._stop_timer()
        cycle = self._last_request()
        if cycle is not None and not cycle.more_body:
            # Behind whole requests: they get their answers, and nothing that they could take for one.
            cycle.keep_alive = False
            return
        if cycle is not None:
            # The body went wrong: for the application the client is gone.
            cycle.disconnected = True
            cycle.message_event.set()
        body = error.body().model_dump_json().encode()
        self.transport.write(
            b"".join(
                (
                    STATUS_LINE[error.status],
                    b"content-type: application/json\r\ncontent-length: %d\r\n" % len(body),
                    b"connection: close\r\n\r\n",
                    body,
                )
            )
        )
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)


class _TooManyPipelinedError(Exception):
    """Stops the parser, which stops the connection behind the requests that it has."""


def _head_too_large() -> HeadTooLargeError:
    return HeadTooLargeError(f"the request line and headers are over the limit of {MAX_HEAD_BYTES} bytes")
