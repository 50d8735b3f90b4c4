"""Lines of builds and containers, written into the CloudWatch Logs of the local AWS."""

import contextlib
import queue
import threading
import time
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_logs.type_defs import InputLogEventTypeDef

MAX_EVENTS = 1000
MAX_LINE = 16_384


class LogStream:
    """One log stream. Lines are sent by a thread of its own, as many at once as have gathered meanwhile."""

    def __init__(self, client: "CloudWatchLogsClient", group: str, stream: str) -> None:
        self.group = group
        self.stream = stream
        self._client = client
        self._events: queue.Queue[InputLogEventTypeDef | None] = queue.Queue()
        with contextlib.suppress(client.exceptions.ResourceAlreadyExistsException):
            client.create_log_group(logGroupName=group)
        client.create_log_stream(logGroupName=group, logStreamName=stream)
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._sender.start()

    def write(self, line: str) -> None:
        """Add one line; returns at once."""
        self._events.put({"timestamp": time.time_ns() // 1_000_000, "message": line[:MAX_LINE] or " "})

    def close(self) -> None:
        """Return when every line has been sent."""
        self._events.put(None)
        self._sender.join()

    def _send(self) -> None:
        while (first := self._events.get()) is not None:
            batch = [first]
            last = False
            with contextlib.suppress(queue.Empty):
                while len(batch) < MAX_EVENTS and not last:
                    event = self._events.get_nowait()
                    if event is None:
                        last = True
                    else:
                        batch.append(event)
            # The lines of a process that dies together with the server have nowhere to go.
            with contextlib.suppress(BotoCoreError, ClientError):
                self._client.put_log_events(
                    logGroupName=self.group, logStreamName=self.stream, logEvents=batch
                )
            if last:
                return
