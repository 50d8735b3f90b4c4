"""A file of requests, from its first line sent to its answers written."""

from pathlib import Path

from semif.request_lines import RequestFile
from semif.submission.endpoint_queue import EndpointQueue
from semif.submission.state import open_state
from semif.submission.submission import OnProgress, Outcome, Submission
from semif.submission.verdict import write_records
from semif.target import Target


def submit(target: Target, path: Path, output: Path, on_progress: OnProgress) -> Outcome:
    """Ask the asynchronous endpoint of `target` all of the file `path`, and write what came to `output`.

    What is known lies beside `output` meanwhile and afterwards: called again, it goes on where it ended.
    Raises SemifError where the file cannot be read, the state is of another submission, or AWS fails.
    """
    environment, endpoint = target.environment, target.environment.endpoint_name
    with (
        RequestFile(path, environment.kind) as file,
        open_state(
            output.with_name(f"{output.name}.state"),
            file_sha256=file.sha256,
            requests=len(file.lines),
            endpoint=endpoint,
            account=target.account,
            region=target.aws.region,
        ) as state,
    ):
        queue = EndpointQueue.find(
            target.aws,
            endpoint,
            job=state.header.job,
            invocation_timeout_seconds=environment.async_.invocation_timeout_seconds,
        )
        outcome = Submission(
            file, state, queue, poll_seconds=target.poll_seconds, on_progress=on_progress
        ).run()
        write_records(state.results(line.number for line in file.lines), output)
        return outcome
