"""The list of all steps, in order. A new one is a function and an entry here, with the rows it moves."""

from dataclasses import replace

from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.verify import forms
from semif.verify.step import Phase, Step
from semif.verify.steps import background_steps, change_steps, decider_steps, endpoint_steps, setting_steps

_GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg/"
_API = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
_NO_WATCHING = "the AWS on this machine publishes no metric and scales nothing"
_PLACES_NOTHING = "the AWS on this machine places nothing"
_IN_SERVICE = "the endpoint becomes InService, on the image and the model data of its Model"
_CREATE = f"{_API}API_CreateEndpoint.html"

_ASK_WORDS = Step(
    "ask",
    "InvokeEndpoint answers with the container's reply, InvokeEndpointWithResponseStream part by part",
    f"{_API}API_runtime_InvokeEndpointWithResponseStream.html",
    endpoint_steps.first_answer_of,
    rows=("text kind |",),
    minutes=1,
)
_LOGS = Step(
    "logs",
    "what a container prints is in the log group /aws/sagemaker/Endpoints/NAME, a stream an instance",
    f"{_GUIDE}logging-cloudwatch.html",
    endpoint_steps.logs,
    rows=(),
    minutes=2,
)
_PREFIX = Step(
    "files under a prefix",
    "ModelDataSource of S3DataType S3Prefix is copied as it is into the container's model folder",
    f"{_API}API_S3ModelDataSource.html",
    setting_steps.prefix,
    rows=("model data under a prefix",),
    minutes=0.5,
    not_for=setting_steps.no_prefix,
)

_FALLBACK = Step(
    "Model of the CPU types",
    "a type of a pool may have a Model in place of the variant's (ModelNameOverride)",
    f"{_API}API_InstancePool.html",
    setting_steps.fallback,
    rows=("a pool of GPU types that ends in CPU types",),
    minutes=0.5,
    not_local=_PLACES_NOTHING,
    not_for=setting_steps.no_fallback,
)

WORDS = Phase(
    forms.words,
    (
        Step("deploy", _IN_SERVICE, _CREATE, endpoint_steps.deploy, rows=("text kind |",), minutes=15),
        _ASK_WORDS,
        _LOGS,
        _PREFIX,
        _FALLBACK,
        Step(
            "a model from Hugging Face",
            "without network isolation a container may reach the internet",
            f"{_GUIDE}mkt-algo-model-internet-free.html",
            setting_steps.hub,
            rows=("text kind with a model from Hugging Face",),
            minutes=0.5,
            not_for=setting_steps.no_hub,
        ),
    ),
)

DECIDER = Phase(
    forms.words,
    (
        Step("deploy", _IN_SERVICE, _CREATE, endpoint_steps.deploy, rows=("decider kind |",), minutes=20),
        Step(
            "first answer",
            "a container computes on its instance's GPU where the host image has a driver for its CUDA",
            f"{_GUIDE}inference-gpu-drivers.html",
            endpoint_steps.first_answer_of,
            rows=("decider kind |",),
            minutes=1,
        ),
        Step(
            "ask",
            "InvokeEndpoint answers with the body that the container returned",
            f"{_API}API_runtime_InvokeEndpoint.html",
            decider_steps.ask,
            rows=("decider kind |",),
            minutes=1,
        ),
        Step(
            "too long",
            "a container's 422 reaches the caller as ModelError with its body",
            f"{_API}API_runtime_InvokeEndpoint.html",
            decider_steps.too_long,
            rows=("decider kind |",),
            minutes=1,
            not_for=decider_steps.not_strict,
        ),
        _LOGS,
        _PREFIX,
    ),
)

REALTIME = Phase(
    forms.realtime,
    (
        Step(
            "deploy",
            _IN_SERVICE,
            _CREATE,
            endpoint_steps.deploy,
            rows=(
                "Artifacts and Endpoint stacks",
                "account, bootstrap and quotas",
                "archive published to S3",
                "permissions of the roles",
                "`buildspec.model.yml`",
                "`buildspec.yml` (image)",
                "the image on the published base",
                "scan findings",
            ),
            minutes=25,
        ),
        Step(
            "ask",
            "InvokeEndpoint answers with the body that the container returned",
            f"{_API}API_runtime_InvokeEndpoint.html",
            endpoint_steps.ask,
            rows=("Artifacts and Endpoint stacks",),
            minutes=1,
        ),
        Step(
            "labelled tasks",
            "as many requests as are sent at once are answered, each by the container",
            f"{_API}API_runtime_InvokeEndpoint.html",
            endpoint_steps.labelled,
            rows=("labelled tasks",),
            minutes=1,
        ),
        Step(
            "compare",
            "the container gets the model data unchanged: the numbers are those of the same file elsewhere, "
            "but for the rounding of another processor",
            f"{_GUIDE}your-algorithms-inference-code.html",
            endpoint_steps.compare,
            rows=("the adapter on llama.cpp",),
            minutes=3,
        ),
        replace(
            _LOGS,
            expected=f"{_LOGS.expected}; the InferenceId of a call comes to the container as a header",
            rows=("ids of calls",),
        ),
        Step(
            "pool",
            "the types of a pool are tried in the order of their priority until one has capacity",
            f"{_GUIDE}realtime-endpoints-heterogeneous.html",
            setting_steps.pool,
            rows=("instance pools",),
            minutes=0.5,
            not_local=_PLACES_NOTHING,
            not_for=setting_steps.no_pool,
        ),
        _FALLBACK,
        Step(
            "GPU",
            "the driver of the inference AMI fits the CUDA of the container",
            f"{_API}API_ProductionVariant.html",
            setting_steps.gpu,
            rows=("the adapter on a GPU", "batched mode"),
            minutes=0.5,
            not_local="this machine's adapter takes the library of a wheel, whatever the instance's type",
            not_for=setting_steps.no_gpu,
        ),
        Step(
            "network and key",
            "the model's interfaces are in the subnets of VpcConfig, volumes are encrypted with KmsKeyId",
            f"{_GUIDE}host-vpc.html",
            setting_steps.network,
            rows=("VPC, KMS key",),
            minutes=0.5,
            not_local="the AWS on this machine has no networks and applies no key",
            not_for=setting_steps.no_network,
        ),
        Step(
            "role",
            "the role in ExecutionRoleArn is what SageMaker assumes to fetch the model and the image",
            f"{_API}API_CreateModel.html",
            setting_steps.role,
            rows=("an existing role",),
            minutes=0.5,
            not_local="the AWS on this machine asks no role for anything",
            not_for=setting_steps.no_role,
        ),
        _PREFIX,
        Step(
            "calibration",
            "what is in the model archive is in the container's model folder",
            f"{_GUIDE}your-algorithms-inference-code.html",
            setting_steps.calibration,
            rows=("calibration",),
            minutes=0.5,
            not_for=setting_steps.no_calibration,
        ),
        Step(
            "captured data",
            "a sampled request and its answer come into the bucket of DataCaptureConfig within minutes, as a "
            "line of JSON under ENDPOINT/VARIANT/yyyy/mm/dd/hh",
            f"{_GUIDE}model-monitor-data-capture-endpoint.html",
            setting_steps.captured,
            rows=("data capture",),
            minutes=8,
        ),
        Step(
            "update",
            "UpdateEndpoint starts a new fleet, shifts the traffic to it and ends the old one; requests are "
            "answered all the while",
            f"{_GUIDE}deployment-guardrails-blue-green-all-at-once.html",
            change_steps.update,
            rows=("requests while new instances take over", "updates, rollback, placement"),
            minutes=30,
            instances=2,
        ),
        Step(
            "rollback",
            "an alarm of AutoRollbackConfiguration that goes off while the new fleet bakes sends all traffic "
            "back to the old one; SetAlarmState sets an alarm off for a test",
            f"{_GUIDE}deployment-guardrails-configuration.html",
            change_steps.rollback,
            rows=("a deployment followed", "updates, rollback, placement"),
            minutes=35,
            instances=2,
        ),
        Step(
            "figures",
            "CloudWatch has the endpoint's metrics every minute, and those of the embedded metric format",
            f"{_GUIDE}monitoring-cloudwatch.html",
            change_steps.read_figures,
            rows=("figures for CloudWatch", "scaling policies, update strategies"),
            minutes=8,
            not_local=_NO_WATCHING,
        ),
        Step(
            "scale",
            "target tracking on the concurrent requests of a model adds instances while there are more than "
            "its target",
            f"{_GUIDE}endpoint-auto-scaling-policy.html",
            change_steps.scale,
            rows=("scaling policies, update strategies", "updates, rollback, placement", "`semif verify`"),
            minutes=25,
            instances=forms.MOST_INSTANCES,
            not_local=_NO_WATCHING,
        ),
        Step(
            "overload",
            "a container's 5xx comes back as ModelError (424) with OriginalStatusCode",
            f"{_API}API_runtime_InvokeEndpoint.html",
            endpoint_steps.overload,
            rows=("the client: overload", "overload, deadlines"),
            minutes=3,
            instances=forms.MOST_INSTANCES,
        ),
    ),
)

QUEUE = Phase(
    forms.queue,
    (
        Step(
            "deploy with a queue",
            "an endpoint with AsyncInferenceConfig becomes InService",
            f"{_GUIDE}async-inference-create-endpoint.html",
            endpoint_steps.deploy,
            rows=("asynchronous endpoints",),
            minutes=20,
            instances=forms.MOST_INSTANCES,  # those of the endpoint before, until they are gone
        ),
        Step(
            "async job",
            "InvokeEndpointAsync queues a request that lies in S3 and answers at once; the answer, or the "
            "failure, is put into S3",
            f"{_GUIDE}async-inference-invoke-endpoint.html",
            background_steps.submit_file,
            rows=("`semif submit`",),
            minutes=3,
        ),
        Step(
            "scale to zero",
            "without a backlog an asynchronous endpoint scales in to zero, and HasBacklogWithoutCapacity "
            "brings it back",
            f"{_GUIDE}async-inference-autoscale.html",
            background_steps.zero_and_back,
            rows=("asynchronous endpoints",),
            minutes=45,
            not_local=_NO_WATCHING,
        ),
    ),
)

JOBS = Phase(
    forms.jobs,
    (
        Step(
            "deploy for jobs",
            "a Model is there at once, and nothing runs",
            f"{_API}API_CreateModel.html",
            endpoint_steps.deploy,
            rows=("environments of mode batch",),
            minutes=10,
            not_for=forms.no_jobs,
        ),
        Step(
            "batch job",
            "CreateTransformJob with SplitType Line and AssembleWith Line writes KEY.out with an answer for "
            "each line, in order",
            f"{_GUIDE}batch-transform.html",
            background_steps.run_job,
            rows=("`semif batch`",),
            minutes=12,
            not_for=forms.no_jobs,
        ),
    ),
)

PHASES = {"decision": (REALTIME, QUEUE, JOBS), "text": (WORDS,), "decider": (DECIDER,)}
"""By the environment's kind."""

ELSEWHERE = {
    "a model that llama.cpp does not survive": "would need a broken model among the presets",
    "an update without quota": "needs an account without quota; `semif verify` stops where there is none",
    "a tag resolved to one platform": "`semif image pin` asks the real registry, and deploys nothing",
    "our stacks on MiniStack": "is about an emulator, which `python -m bench.second_emulator` asks",
    "AWS's sample": "is about its files, which need no AWS",
    "builds in a VPC": "`deploy` builds as the file says; what a wall lets out is for its owner to see",
    "SageMaker's Model Registry": "keeps what it is given, and the approval is a person's",
    "SageMaker's SDK": "is a client's library: `ask` asks the same operation",
    "the constructs in another app": "is for that app to deploy",
    "`semif prune`": "deletes only what is old, which a new environment does not have",
    "`semif promote`": "needs a second environment, maybe of another account",
    "policies of `semif iam`": "needs credentials that have these and no others",
    "one question to a decision head on every wire": "is about the adapter alone, which `compare` asks",
    "existing buckets, an endpoint's own name": "would hold what a verification could not take away again",
    "the end of a throw-away endpoint": "is hours away; `semif status` tells whether it came",
    "a budget": "counts once its tag is activated in billing, and a day late",
    "prices from the price list": "are told by `semif status`, and need no deployment",
    "speed beside named baselines": "is measured on an instance, by `make bench`",
}
"""Rows that name AWS and that no step moves, each with the reason."""


def phases_of(environment: Environment) -> tuple[Phase, ...]:
    """What is walked for `environment`. Raises SemifError where it has a mode of its own."""
    if environment.endpoint.mode != "realtime":
        raise SemifError(
            f"{environment.name} {environment.inference_mode.manner}; verify a realtime environment with its "
            "model and instance type, which goes through the other modes too"
        )
    return PHASES[environment.kind]


def shown_steps(phases: tuple[Phase, ...], environment: Environment, *, local: bool) -> list[Step]:
    """The steps that will be run."""
    return [
        step
        for phase in phases
        for step in phase.steps
        if step.not_for(environment) is None and (step.faithful_locally or not local)
    ]
