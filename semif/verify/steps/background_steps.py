"""What is seen of work that nobody waits for: a queue, its scaling to zero, a transform job."""

import json
import tempfile
import time
from pathlib import Path

from semif.background.queue.submit import submit
from semif.background.request_file import RequestFile
from semif.background.transform.file_transform import FileTransform
from semif.target.endpoint_state import find_endpoint
from semif.verify.step import Bench, SurpriseError

REQUESTS = "requests.jsonl"
"""Of examples/: what is sent."""
_ZERO_SECONDS = 3600.0


def submit_file(bench: Bench) -> str:
    """Every line of the file is asked once and answered."""
    target = bench.target()
    path = target.root / "examples" / REQUESTS
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "answers.jsonl"
        counts = submit(target, path, output, lambda done, total: bench.tell(f"{done} of {total}"))
        if counts.answered != counts.requests:
            bad = [record["error"] for record in _records(output) if "error" in record]
            raise SurpriseError(
                f"{len(bad)} of {counts.requests} got no answer, the first: {bad[0]['message']}"
            )
    return f"{counts.answered} requests of examples/{REQUESTS} answered"


def zero_and_back(bench: Bench) -> str:
    """Without requests the last instance goes; the next request brings one."""
    target = bench.target()
    began = time.monotonic()

    def is_empty() -> bool:
        state = find_endpoint(target.aws, target.environment.endpoint_name)
        return state is not None and state.instances == 0 and state.desired_instances == 0

    bench.wait(
        "an endpoint of no instance", is_empty, seconds=_ZERO_SECONDS, poll_seconds=target.poll_seconds
    )
    empty = time.monotonic() - began
    said = submit_file(bench)
    return f"no instance after {empty:,.0f} s; then {said}, {time.monotonic() - began - empty:,.0f} s later"


def run_job(bench: Bench) -> str:
    """A job over the file: an answer for each line, in its order."""
    target = bench.target()
    with RequestFile(target.root / "examples" / REQUESTS, "decision") as requests:
        work = FileTransform(target, requests)
        job = work.start(work.missing(), attempt=1, instances=1, on_upload=lambda _: None)
        for look in work.follow(job):
            job = look.job
            bench.tell(f"{job.name} is {job.status}")
        if missing := work.missing():
            raise SurpriseError(
                f"{job.name} is {job.status} ({job.reason}), {len(missing)} parts lack answers"
            )
        replies = [json.loads(reply) for _, reply in work.replies()]
    if wrong := [reply for reply in replies if "error" in reply]:
        raise SurpriseError(f"{len(wrong)} of {len(replies)} lines were refused")
    return f"{job.status}, {len(replies)} lines answered in order"


def _records(path: Path) -> list[dict[str, dict[str, str]]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]
