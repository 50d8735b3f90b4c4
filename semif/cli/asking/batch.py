"""`semif batch`: a file of decisions through a transform job."""

from pathlib import Path

import click

from semif.aws.container_log import job_lines
from semif.background.line_records import ANSWERED, ENDS, ends_of
from semif.background.request_file import RequestFile
from semif.background.transform.answers_file import write_answers
from semif.background.transform.file_transform import FileTransform, TransformProgress
from semif.background.transform.jobs import TransformJob, stop_job
from semif.cli.options import (
    answers_file,
    environment_argument,
    requests_to_answers,
    steps_on_stderr,
    target_options,
)
from semif.cli.output import json_option, print_json
from semif.cli.progress import count_on_stderr
from semif.environment.asking import require_mode
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.sagemaker.transform_rules import MAX_INSTANCES
from semif.target.target import open_target


@click.command()
@environment_argument
@requests_to_answers
@click.option(
    "--instances",
    type=click.IntRange(1, MAX_INSTANCES),
    help="Instances of the job; default: endpoint.initial_instance_count. Each works on 250 lines at least.",
)
@click.option(
    "--stop-on-interrupt", is_flag=True, help="Stop the job on Ctrl-C; without it the job goes on in AWS."
)
@target_options
@json_option
def command(
    *,
    environment: str,
    file: Path,
    output: Path | None,
    instances: int | None,
    stop_on_interrupt: bool,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Ask all of a file by a transform job.

    Uploads FILE, runs a SageMaker transform job of ENV over it, follows it and writes the answers. The mode
    of ENV must be "batch". The instances are there for as long as the job runs; their start takes minutes.

    FILE holds a request a line, in any form that `semif decide` takes; lines of blanks are passed over. The
    answers are in its order: for each a line with "line", "status" and "reply", or with "error" where it
    could not be asked ("invalid") or was refused ("failed").

    A job that runs for the same file and model is followed, and where all is answered nothing is started:
    after any interruption give the same command again, from any machine. After a failed job only those parts
    of the file are asked again that have no answers.

    The exit status is 1 where a line has no answer.

    \b
    Examples:
      semif batch demo-batch --local examples/requests.jsonl
      semif batch nightly tickets.jsonl --instances 4 --output answers.jsonl
    """
    require_mode(load_environment(environment), "batch")
    answers = answers_file(file, output)
    target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
    count = instances or target.environment.endpoint.initial_instance_count
    with RequestFile(file, "decision") as requests:
        work = FileTransform(target, requests)
        job = _see_answered(work, count, stop_on_interrupt=stop_on_interrupt)
        counts = write_answers(work, answers)
    if as_json:
        summary = {"requests": counts.total(), **{status: counts[status] for status in ENDS}}
        print_json(summary | {"job": None if job is None else job.name, "output": str(answers)})
    else:
        click.echo(f"{ends_of(counts)}: {answers}")
    if counts[ANSWERED] < counts.total():
        raise click.exceptions.Exit(1)


def _see_answered(work: FileTransform, instances: int, *, stop_on_interrupt: bool) -> TransformJob | None:
    """See that all parts are answered. Returns the job that did it, None where nothing could be asked."""
    job = work.newest_job()
    if not work.missing():
        return job
    if job is None or not job.is_going:
        job = _start(work, instances, attempt=1 if job is None else job.attempt + 1)
    try:
        job = _follow(work, job)
    except KeyboardInterrupt:
        if stop_on_interrupt:
            stop_job(work.target.aws, job.name)
        said = "is being stopped" if stop_on_interrupt else "goes on"
        click.echo(f"semif: {job.name} {said}; give the same command again to take it up", err=True)
        raise
    if missing := work.missing():
        raise SemifError("\n".join(_what_went_wrong(work, job, len(missing))))
    return job


def _start(work: FileTransform, instances: int, *, attempt: int) -> TransformJob:
    missing = work.missing()
    total = sum(len(part.lines) for part in missing)
    with steps_on_stderr().step(f"upload {total:,} requests and start a transform job") as step:
        job = work.start(
            missing,
            attempt=attempt,
            instances=instances,
            on_upload=lambda lines: step.tell(f"{lines:,} of {total:,} requests"),
        )
        step.note = job.name
    return job


def _follow(work: FileTransform, job: TransformJob) -> TransformJob:
    """Show how a job goes until it is over. Answers come by whole parts."""
    said = ""
    with count_on_stderr(job.name) as on_progress:
        for look in work.follow(job):
            job = look.job
            if (line := _status(look)) != said:
                click.echo(f"{job.name} is {line}", err=True)
            said = line
            if look.answered:
                on_progress(look.answered, work.total)
    return job


def _status(look: TransformProgress) -> str:
    starting = look.job.is_going and not look.job.started
    return f"{look.job.status}{', its instances are starting' if starting else ''}"


def _what_went_wrong(work: FileTransform, job: TransformJob, parts: int) -> list[str]:
    return [
        f"the transform job {job.name} is {job.status}{f': {job.reason}' if job.reason else ''}",
        *(f"  {line}" for line in job_lines(work.target.aws, job.name)),
        f"{parts} of {len(work.parts)} parts of the file have no answers; the same command asks them again",
    ]
