"""The steps of the modes for which nobody waits, in order: a queue, and jobs."""

from semif.verify import forms
from semif.verify.phases.shared import API, GUIDE, NO_WATCHING
from semif.verify.step import Phase, Step
from semif.verify.steps import background_steps, endpoint_steps

QUEUE = Phase(
    forms.queue,
    (
        Step(
            "deploy with a queue",
            "an endpoint with AsyncInferenceConfig becomes InService",
            f"{GUIDE}async-inference-create-endpoint.html",
            endpoint_steps.deploy,
            rows=("asynchronous endpoints",),
            minutes=20,
            instances=forms.MOST_INSTANCES,  # those of the endpoint before, until they are gone
        ),
        Step(
            "async job",
            "InvokeEndpointAsync queues a request that lies in S3 and answers at once; the answer, or the "
            "failure, is put into S3",
            f"{GUIDE}async-inference-invoke-endpoint.html",
            background_steps.submit_file,
            rows=("`semif submit`",),
            minutes=3,
        ),
        Step(
            "scale to zero",
            "without a backlog an asynchronous endpoint scales in to zero, and HasBacklogWithoutCapacity "
            "brings it back",
            f"{GUIDE}async-inference-autoscale.html",
            background_steps.zero_and_back,
            rows=("asynchronous endpoints",),
            minutes=45,
            not_local=NO_WATCHING,
        ),
    ),
)

JOBS = Phase(
    forms.jobs,
    (
        Step(
            "deploy for jobs",
            "a Model is there at once, and nothing runs",
            f"{API}API_CreateModel.html",
            endpoint_steps.deploy,
            rows=("environments of mode batch",),
            minutes=10,
            not_for=forms.no_jobs,
        ),
        Step(
            "batch job",
            "CreateTransformJob with SplitType Line and AssembleWith Line writes KEY.out with an answer for "
            "each line, in order",
            f"{GUIDE}batch-transform.html",
            background_steps.run_job,
            rows=("`semif batch`",),
            minutes=12,
            not_for=forms.no_jobs,
        ),
    ),
)
