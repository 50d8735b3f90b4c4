"""What phases have in common: the pages that facts are from, and steps of several."""

from semif.verify.step import Step
from semif.verify.steps import endpoint_steps, setting_steps

GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg/"
API = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
NO_WATCHING = "the AWS on this machine publishes no metric and scales nothing"
PLACES_NOTHING = "the AWS on this machine places nothing"
IN_SERVICE = "the endpoint becomes InService, on the image and the model data of its Model"
CREATE = f"{API}API_CreateEndpoint.html"

LOGS = Step(
    "logs",
    "what a container prints is in the log group /aws/sagemaker/Endpoints/NAME, a stream an instance",
    f"{GUIDE}logging-cloudwatch.html",
    endpoint_steps.logs,
    rows=(),
    minutes=2,
)
PREFIX = Step(
    "files under a prefix",
    "ModelDataSource of S3DataType S3Prefix is copied as it is into the container's model folder",
    f"{API}API_S3ModelDataSource.html",
    setting_steps.prefix,
    rows=("model data under a prefix",),
    minutes=0.5,
    not_for=setting_steps.no_prefix,
)

FALLBACK = Step(
    "Model of the CPU types",
    "a type of a pool may have a Model in place of the variant's (ModelNameOverride)",
    f"{API}API_InstancePool.html",
    setting_steps.fallback,
    rows=("a pool of GPU types that ends in CPU types",),
    minutes=0.5,
    not_local=PLACES_NOTHING,
    not_for=setting_steps.no_fallback,
)
