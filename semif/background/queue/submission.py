"""Sends the lines of a file, follows them, and gathers what comes back: nothing is lost, nothing asked twice.

A line is noted before it is sent and when it was accepted. Killed in between, nobody knows whether SageMaker
has it, unless its request never came to S3: such a line is watched for like the others, and sent again only
when nothing else is under way and no answer has come for longer than the slowest took.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from itertools import islice
from typing import Any

from semif.aws.s3 import S3Uri
from semif.background import line_records
from semif.background.queue.endpoint_queue import TTL_SECONDS, Accepted, EndpointQueue, UnknownError
from semif.background.queue.submission_state import SubmissionState
from semif.background.request_file import RequestFile
from semif.errors import SemifError

MOST_UNDER_WAY = 1000
"""Requests in the queue at once: enough to scale by, few enough that none of them expires there."""
BATCH = 64
THREADS = 8
MOST_ATTEMPTS = 3
SETTLE_LOOKS = 12
"""A line that may not have been taken is watched for at least so many looks (a minute on AWS); after so many
in vain it is seen whether the endpoint is still there."""
NAME_LENGTH = len("00000001-0123abcd-1")
"""SageMaker may put something behind a name."""
SPARE_SECONDS = 300
"""Beyond the longest time in the queue and at work, after which no answer can come."""
CLOCKS_SECONDS = 60
"""How far the clocks of AWS's services may be apart."""

OnProgress = Callable[[int, int], None]
"""Told how many lines have ended, of how many."""


class Submission:
    """One file at one endpoint. `run` may be ended at any point, and called again with the same state."""

    def __init__(
        self,
        file: RequestFile,
        state: SubmissionState,
        queue: EndpointQueue,
        *,
        poll_seconds: float,
        on_progress: OnProgress,
    ) -> None:
        self._file = file
        self._state = state
        self._queue = queue
        self._poll_seconds = poll_seconds
        self._on_progress = on_progress
        self._lines = {line.number: line for line in file.lines}
        self._to_send = deque(
            number for number in self._lines if number not in state.sent and number not in state.ended
        )
        self._sent = 0
        self._slowest = 0.0
        self._unclear_since: float | None = None
        self._looked = -math.inf
        self._looks_in_vain = 0

    def run(self) -> int:
        """Return when every line has ended: how many requests this run sent; an earlier one sent the others.

        Raises SemifError where AWS fails; another run goes on.
        """
        self._end_invalid_lines()
        self._send_what_was_not_uploaded()
        self._on_progress(len(self._state.ended), len(self._lines))
        with ThreadPoolExecutor(THREADS) as pool:
            while len(self._state.ended) < len(self._lines):
                sent = self._send_some(pool)
                ended = self._gather(pool)
                self._on_progress(len(self._state.ended), len(self._lines))
                self._send_unclear_again()
                if not sent and not ended and len(self._state.ended) < len(self._lines):
                    time.sleep(self._poll_seconds)
        return self._sent

    def _end_invalid_lines(self) -> None:
        wrong = [number for number in self._to_send if self._lines[number].problem is not None]
        self._state.end(line_records.invalid(number, str(self._lines[number].problem)) for number in wrong)
        known = set(wrong)
        self._to_send = deque(number for number in self._to_send if number not in known)

    def _send_what_was_not_uploaded(self) -> None:
        """Lines that a run wrote down before it was killed, and whose request never came to S3."""
        unclear = [number for number, sent in self._state.sent.items() if not sent.accepted]
        if not unclear:
            return
        there = self._queue.arrived(self._queue.requests, after=f"{min(unclear):08d}")
        uploaded = {uri.rpartition("/")[2] for uri in there}
        for number in unclear:
            if f"{self._name(number)}.json" not in uploaded:
                self._state.send_again(number, self._state.sent[number].attempt)
                self._to_send.append(number)

    def _send_some(self, pool: ThreadPoolExecutor) -> bool:
        """Send a few lines, as far as there is room; False where none went out or SageMaker wants a pause."""
        room = min(BATCH, MOST_UNDER_WAY - len(self._state.sent), len(self._to_send))
        if room <= 0:
            return False
        bodies = {number: self._file.body(self._lines[number]) for number in islice(self._to_send, room)}
        attempts = [(number, self._state.attempts.get(number, 1)) for number in bodies]
        self._state.sending(attempts, self._queue.time.now())
        for _ in bodies:
            self._to_send.popleft()
        under_way = {
            pool.submit(self._queue.send, self._name(number), body): number for number, body in bodies.items()
        }
        problem: SemifError | None = None
        refused, unknown = [], []
        for future in as_completed(under_way):
            number = under_way[future]
            try:
                if not self._note(number, future):
                    refused.append(number)
            except UnknownError as error:
                unknown.append(error)
            except SemifError as error:
                refused.append(number)
                problem = problem or error
        for number in sorted(refused, reverse=True):
            self._state.send_again(number, self._state.sent[number].attempt)
            self._to_send.appendleft(number)
        self._state.sync()
        if problem is None and len(unknown) == len(bodies):
            problem = SemifError(f"{self._queue.endpoint} cannot be asked just now: {unknown[0]}")
        if problem is not None:
            raise problem
        return not refused

    def _note(self, number: int, future: "Future[Accepted | None]") -> bool:
        accepted = future.result()
        if accepted is None:
            return False
        self._state.accepted(number, accepted.output, accepted.failure, self._queue.time.now())
        self._sent += 1
        return True

    def _name(self, number: int) -> str:
        """Of the request in S3 and in SageMaker; in the order of the lines."""
        attempt = self._state.sent[number].attempt
        return f"{number:08d}-{self._file.sha256[:8]}-{attempt}"

    def _gather(self, pool: ThreadPoolExecutor) -> bool:
        """Look for what has come, and keep it. False where nothing has, or it was not time to look."""
        now = time.monotonic()
        if now - self._looked < self._poll_seconds or not self._state.sent:
            return False
        self._looked = now
        # A line that was sent twice, because nobody knew of the first time, may have an answer and a failure:
        # answers come first, and one of the two is enough.
        arrived: list[tuple[int, str, bool]] = []
        known = set()
        for number, uri, is_failure in self._arrived():
            if number not in known:
                known.add(number)
                arrived.append((number, uri, is_failure))
        contents = pool.map(self._queue.fetch, [uri for _, uri, _ in arrived])
        ended = []
        for (number, _, is_failure), content in zip(arrived, contents, strict=True):
            self._slowest = max(self._slowest, self._queue.time.now() - self._state.sent[number].time)
            record, again = (
                line_records.of_failure(number, content)
                if is_failure
                else (line_records.of_answer(number, content), False)
            )
            if not (again and self._send_again(number)):
                ended.append(record)
        self._state.end(ended)
        lost = self._lost()  # of what has not come, however long ago it was sent
        self._state.end(lost)
        self._looks_in_vain = 0 if arrived else self._looks_in_vain + 1
        if self._looks_in_vain % SETTLE_LOOKS == SETTLE_LOOKS - 1:
            self._queue.check()
        return bool(ended or lost)

    def _arrived(self) -> Iterator[tuple[int, str, bool]]:
        """Line, address and whether it is a failure, of all that is under way and has come."""
        unclear = {
            self._name(number): number for number, sent in self._state.sent.items() if not sent.accepted
        }
        first = f"{min(self._state.sent):08d}"
        for is_failure, usual in ((False, self._queue.answers), (True, self._queue.failures)):
            expected = {
                uri: number
                for number, sent in self._state.sent.items()
                if (uri := sent.failure if is_failure else sent.output) is not None
            }
            folders = {S3Uri.parse(uri.rpartition("/")[0]) for uri in expected} | (
                {usual} if unclear else set()
            )
            for folder in folders:
                # The names of answers are ours, so those of lines that ended long ago need no look.
                after = first if folder == self._queue.answers else ""
                for uri in self._queue.arrived(folder, after=after):
                    name = uri.rpartition("/")[2]
                    number = expected.get(uri) or unclear.get(name[:NAME_LENGTH])
                    if number is not None:
                        yield number, uri, is_failure

    def _send_again(self, number: int) -> bool:
        """Plan another attempt; False where there were enough."""
        attempt = self._state.sent[number].attempt
        if attempt >= MOST_ATTEMPTS:
            return False
        self._state.send_again(number, attempt + 1)
        self._to_send.append(number)
        return True

    def _lost(self) -> list[dict[str, Any]]:
        """Lines whose answer cannot come any more, and that were sent often enough; others are sent again."""
        limit = TTL_SECONDS + self._queue.invocation_timeout_seconds + SPARE_SECONDS
        under_way, now = self._state.sent.items(), self._queue.time.now()
        late = [number for number, sent in under_way if now - sent.time > limit]
        # What was in the queue of an endpoint that is gone is no failure of the request.
        gone = {number for number, sent in under_way if sent.time < self._queue.created - CLOCKS_SECONDS}
        for number in gone.difference(late):
            self._state.send_again(number, self._state.sent[number].attempt)
            self._to_send.append(number)
        return [
            line_records.failed(number, f"no answer and no failure came within {limit} s")
            for number in late
            if not self._send_again(number)
        ]

    def _send_unclear_again(self) -> None:
        unclear = [number for number, sent in self._state.sent.items() if not sent.accepted]
        if self._to_send or not unclear or len(unclear) < len(self._state.sent):
            self._unclear_since = None
            return
        now = time.monotonic()
        self._unclear_since = self._unclear_since or now
        if now - self._unclear_since > max(self._slowest, SETTLE_LOOKS * self._poll_seconds):
            for number in unclear:
                self._state.send_again(number, self._state.sent[number].attempt)
                self._to_send.append(number)
