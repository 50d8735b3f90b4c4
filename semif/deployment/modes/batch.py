"""Mode `batch`: a Model that is there or is not, and the transform jobs that use it."""

import time
from dataclasses import asdict
from itertools import islice

from semif.aws.container_log import ContainerLog
from semif.background.transform.deployed_model import find_model, model_problems
from semif.background.transform.jobs import SHOWN_JOBS, find_job, job_pattern, jobs_of, stop_job
from semif.deployment.endpoint.watch import OnLook
from semif.deployment.modes.mode import DeployedMode, Running
from semif.deployment.rollback import keep_previous, note_serving, settled_lock
from semif.deployment.target_cdk import OnLine, synthesise_and_deploy
from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.lock.lock_file import Lock
from semif.target.target import Target


class DeployedBatch(DeployedMode):
    """Transform jobs."""

    def deploy(
        self, target: Target, lock: Lock, on_line: OnLine, _on_look: OnLook, *, recreate: bool
    ) -> None:
        """Nothing is followed: there is no endpoint."""
        if recreate:
            raise SemifError(f"{target.environment.name} has no endpoint to make anew; leave --recreate out")
        note_serving(target, settled_lock(target))
        synthesise_and_deploy(target, "all", target.environment.endpoint_stack, on_line)
        keep_previous(target, lock)
        if problems := model_problems(target, find_model(target), lock):
            raise SemifError("\n".join(problems))

    def first_answer(self, _target: Target) -> None:
        """None: a first job would take minutes, and its instance be billed."""

    def running(self, target: Target, lock: Lock | None) -> Running:
        """The Model and its last jobs."""
        model = find_model(target)
        jobs = list(islice(jobs_of(target.aws, target.environment.endpoint_name), SHOWN_JOBS))
        facts = {
            "model": None if model is None else asdict(model),
            "jobs": [{"name": job.name, "status": job.status, "reason": job.reason} for job in jobs],
        }
        rows = [("model", model.name, "for transform jobs")] if model is not None else []
        rows += [("job", job.name, f"{job.status}{f', {job.reason}' if job.reason else ''}") for job in jobs]
        problems = model_problems(target, model, lock) if lock is not None else []
        return Running(facts, rows, problems, "transform jobs run what the lock pins")

    def log(self, environment: Environment) -> ContainerLog:
        """That of all its jobs."""
        name = environment.endpoint_name
        return ContainerLog.of_jobs(f"{name}-", job_pattern(name))

    def end(self, target: Target, on_line: OnLine) -> None:
        """Stop the jobs, which would go on and bill, and could not write their answers any more."""
        going = [job for job in jobs_of(target.aws, target.environment.endpoint_name) if job.is_going]
        for job in going:
            on_line(f"stopping {job.name}")
            stop_job(target.aws, job.name)
        for job in going:
            while find_job(target.aws, job.name).is_going:
                time.sleep(target.poll_seconds)
