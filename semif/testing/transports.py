"""Transports of tests: one asks a function, one writes down what passes, and its file is read again."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

from semif.client.errors import RequestRefusedError
from semif.client.sending.call_ids import CallIds
from semif.client.sending.http_sender import HttpSender
from semif.client.sending.transport import Server, Transport
from semif.errors import SemifError

_CONNECTIONS = 100
_SECONDS = 60.0


class AnsweringTransport(Transport):
    """Replies with what a function makes of the request. It asks nobody."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        nobody = HttpSender(proxy=None, connections=_CONNECTIONS)
        super().__init__(nobody, connections=_CONNECTIONS, attempt_seconds=_SECONDS)
        self._answer = answer

    @property
    def asked(self) -> str:
        """Nobody."""
        return "the fake"

    @property
    def server(self) -> Server:
        """Nobody."""
        return Server()

    async def exchange(self, body: bytes, ids: CallIds) -> bytes:  # noqa: ARG002 - a log has nothing of it
        """What the function says."""
        return self._answer(body)


class RecordingTransport(Transport):
    """Sends as another transport does, and adds each request with its reply to a file, a line for each.

    Raises SemifError for a file that cannot be written, before anything is asked.
    """

    def __init__(self, real: Transport, path: Path) -> None:
        super().__init__(real.sender, connections=real.connections, attempt_seconds=real.attempt_seconds)
        self._real = real
        self._path = path
        self._lock = threading.Lock()
        self._add("")

    @property
    def asked(self) -> str:
        """As the other one."""
        return self._real.asked

    @property
    def server(self) -> Server:
        """As the other one."""
        return self._real.server

    async def exchange(self, body: bytes, ids: CallIds) -> bytes:
        """As the other one; failures are not recorded."""
        reply = await self._real.exchange(body, ids)
        line = json.dumps({"request": json.loads(body), "reply": json.loads(reply)})
        self._add(line + "\n")
        return reply

    def _add(self, text: str) -> None:
        try:
            with self._lock, self._path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise SemifError(f"{self._path} cannot be written: {reason}") from None


def read_recording(path: Path) -> Callable[[bytes], bytes]:
    """The replies of a recording, by their requests. Raises SemifError where it cannot be read."""
    replies: dict[str, bytes] = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            exchange = json.loads(line)
            replies[_key(exchange["request"])] = json.dumps(exchange["reply"]).encode()
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise SemifError(f"{path} is no recording: {type(error).__name__}; record it again") from None

    def answer(body: bytes) -> bytes:
        key = _key(json.loads(body))
        if key not in replies:
            raise RequestRefusedError(
                f"{path.name} has no answer to this request; record it again", code="not_recorded"
            )
        return replies[key]

    return answer


def _key(request: object) -> str:
    return json.dumps(request, sort_keys=True)
