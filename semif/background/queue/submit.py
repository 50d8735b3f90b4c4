"""A file of requests, from its first line sent to its answers written."""

from dataclasses import dataclass
from pathlib import Path

from semif.background import line_records
from semif.background.queue.endpoint_queue import EndpointQueue
from semif.background.queue.submission import OnProgress, Submission
from semif.background.queue.submission_state import open_state
from semif.background.request_file import RequestFile
from semif.target.target import Target


@dataclass(frozen=True)
class SubmissionCounts:
    """What came of a file's lines."""

    requests: int
    answered: int
    failed: int
    invalid: int
    sent: int
    """Requests that this run sent; a run that goes on with an earlier one sends the rest."""


def submit(target: Target, path: Path, output: Path, on_progress: OnProgress) -> SubmissionCounts:
    """Ask the asynchronous endpoint of `target` all of the file `path`, and write what came to `output`.

    What is known lies beside `output` meanwhile and afterwards: called again, it goes on where it ended.
    Raises SemifError where the file cannot be read, the state is of another submission, or AWS fails.
    """
    environment, endpoint = target.environment, target.environment.endpoint_name
    with RequestFile(path, environment.kind) as file:
        numbers = [line.number for line in file.lines]
        with open_state(
            output.with_name(f"{output.name}.state"),
            file_sha256=file.sha256,
            numbers=set(numbers),
            endpoint=endpoint,
            account=target.account,
            region=target.aws.region,
        ) as state:
            queue = EndpointQueue.find(
                target.aws,
                endpoint,
                job=state.header.job,
                invocation_timeout_seconds=environment.async_.invocation_timeout_seconds,
            )
            sent = Submission(
                file, state, queue, poll_seconds=target.poll_seconds, on_progress=on_progress
            ).run()
            counts = line_records.write_records(state.results(numbers), output)
    return SubmissionCounts(
        counts.total(),
        counts[line_records.ANSWERED],
        counts[line_records.FAILED],
        counts[line_records.INVALID],
        sent,
    )
