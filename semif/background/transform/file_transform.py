"""One file through transform jobs: what is answered already, what is at work, what has still to be asked.

All of it is in S3 and in the names of jobs, so that any interruption, and another machine, can take it up.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from semif.aws.clients import aws_errors
from semif.aws.stacks import require_stack
from semif.background.request_file import RequestFile, RequestLine
from semif.background.transform.jobs import TransformJob, find_job, job_request, jobs_of, start_job
from semif.background.transform.parts import FilePart, cut
from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.sagemaker.bucket_folders import ANSWERS, LINES
from semif.target.target import Target

NAME_DIGITS = 12
"""Of a transform's name, in hexadecimal."""
WRAPPING_BYTES = len(b'{"decision": }')
"""What a lone decision gets around it."""


@dataclass(frozen=True)
class TransformProgress:
    """How far a file was at one moment."""

    job: TransformJob
    answered: int
    """Lines in parts that are answered."""
    total: int


class FileTransform:
    """The lines of one file, asked of the Model of one environment. Raises SemifError throughout."""

    def __init__(self, target: Target, file: RequestFile) -> None:
        """`file` stays open. There must be a deployed stack."""
        self.target, self.file = target, file
        environment = target.environment
        stack = require_stack(
            target.aws, environment.endpoint_stack, missing=f"run `semif deploy {target.command_line}`"
        )
        self.bucket, self.model = stack.output("BucketName"), stack.output("ModelName")
        # Another image, archive or setting makes a new Model; the same ones give the same answers.
        digest = hashlib.sha256(f"{self.model}\n{file.sha256}".encode()).hexdigest()
        self.name = digest[:NAME_DIGITS]
        self.parts = cut([line for line in file.lines if problem_of(line, environment) is None])

    @cached_property
    def total(self) -> int:
        """Lines to ask."""
        return sum(len(part.lines) for part in self.parts)

    def newest_job(self) -> TransformJob | None:
        """The last job for this file and Model, whoever started it."""
        return next(jobs_of(self.target.aws, self.target.environment.endpoint_name, self.name), None)

    def answers(self) -> dict[str, str]:
        """The parts that are answered: their name to the key of their answers."""
        # Not by whole keys: where in the output's place SageMaker puts a file is not said plainly.
        with aws_errors():
            pages = self.target.aws.s3.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=f"{ANSWERS}/{self._job_prefix}"
            )
            keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
        key_of = {key.rpartition("/")[2].removesuffix(".out"): key for key in keys if key.endswith(".out")}
        return {part.name: key_of[part.name] for part in self.parts if part.name in key_of}

    def missing(self) -> list[FilePart]:
        """The parts that have no answers."""
        answered = self.answers()
        return [part for part in self.parts if part.name not in answered]

    def start(
        self, parts: Sequence[FilePart], *, attempt: int, instances: int, on_upload: Callable[[int], None]
    ) -> TransformJob:
        """Upload `parts` and start a job for them. `on_upload` is told how many lines are there so far.

        Instances beyond the parts would idle: one object goes to one instance.
        """
        name = f"{self._job_prefix}{attempt}"
        uploaded = 0
        for part in parts:
            content = b"".join(self.file.body(line) + b"\n" for line in part.lines)
            with aws_errors():
                self.target.aws.s3.put_object(
                    Bucket=self.bucket, Key=f"{LINES}/{name}/{part.name}", Body=content
                )
            uploaded += len(part.lines)
            on_upload(uploaded)
        request = job_request(
            self.target.environment,
            bucket=self.bucket,
            instances=min(instances, len(parts)),
            model=self.model,
            name=name,
        )
        start_job(self.target.aws, request)
        return find_job(self.target.aws, name)

    def follow(self, job: TransformJob) -> Iterator[TransformProgress]:
        """How far it is, again and again until the job is over; the last time at its end."""
        while True:
            job = find_job(self.target.aws, job.name)
            answered = self.answers() if job.started or not job.is_going else {}
            lines = sum(len(part.lines) for part in self.parts if part.name in answered)
            yield TransformProgress(job, lines, self.total)
            if not job.is_going:
                return
            time.sleep(self.target.poll_seconds)

    def replies(self) -> Iterator[tuple[RequestLine, bytes]]:
        """Every line that was asked with its reply, in the file's order. All parts must be answered."""
        keys = self.answers()
        for part in self.parts:
            with aws_errors():
                content = self.target.aws.s3.get_object(Bucket=self.bucket, Key=keys[part.name])[
                    "Body"
                ].read()
            replies = content.removesuffix(b"\n").split(b"\n")
            if len(replies) != len(part.lines):
                raise SemifError(
                    f"s3://{self.bucket}/{keys[part.name]} holds {len(replies)} answers to {len(part.lines)} "
                    "lines; delete it, and run the command again"
                )
            yield from zip(part.lines, replies, strict=True)

    @property
    def _job_prefix(self) -> str:
        return f"{self.target.environment.endpoint_name}-{self.name}-"


def problem_of(line: RequestLine, environment: Environment) -> str | None:
    """What keeps a line from being asked; a record over MaxPayloadInMB would end the whole job."""
    most = environment.settings.max_body_bytes
    if line.problem is None and line.size + WRAPPING_BYTES > most:
        return f"line {line.number} is {line.size} bytes, adapter.max_body_bytes is {most}; shorten it"
    return line.problem
