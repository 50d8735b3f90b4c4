"""One request to an asynchronous endpoint, waited for or not: the first answer of a deployment, a probe."""

import time

from semif.background import line_records
from semif.background.queue.endpoint_queue import Accepted, EndpointQueue, UnknownError
from semif.errors import SemifError

_NAME = "00000001-first"


def ask_once(queue: EndpointQueue, name: str, body: bytes) -> Accepted:
    """Put one request into the queue, which is the end of it where nobody knows what became of it.

    Raises SemifError for that too, and where SageMaker takes none just now.
    """
    try:
        accepted = queue.send(name, body)
    except UnknownError as error:
        raise SemifError(f"{queue.endpoint} cannot be asked just now: {error}") from None
    if accepted is None:
        raise SemifError(f"{queue.endpoint} takes no requests just now; ask again")
    return accepted


def ask_and_wait(queue: EndpointQueue, body: bytes, *, limit_seconds: float, poll_seconds: float) -> bytes:
    """The answer's bytes. Raises SemifError for a failure, and where none comes within `limit_seconds`."""
    deadline = time.monotonic() + limit_seconds
    accepted = ask_once(queue, _NAME, body)
    while time.monotonic() < deadline:
        for uri in queue.arrived(queue.answers):
            if uri == accepted.output:
                return queue.fetch(uri)
        for uri in queue.arrived(queue.failures):
            if uri == accepted.failure:
                record, _ = line_records.of_failure(1, queue.fetch(uri))
                raise SemifError(f"{queue.endpoint} gave no answer: {record['error']['message']}")
        time.sleep(poll_seconds)
    raise SemifError(
        f"{queue.endpoint} gave no answer within {limit_seconds:.0f} s; look at its log, and whether it has "
        "an instance"
    )
