"""What only some environments have: a pool, a GPU, a network, key or role of their own, and more.

For each a look at the endpoint, and why an environment has nothing to look at.
"""

import json
import secrets

from semif.aws.clients import aws_errors
from semif.deployment.kinds import DEPLOYED_KINDS
from semif.environment.environment import Environment
from semif.evaluation.captured.captured_files import captured_lines
from semif.evaluation.captured.exchange import Exchange, LeftOutError, read_exchange
from semif.evaluation.captured.unlabelled import rows_of
from semif.models.presets import Preset
from semif.target.endpoint_state import EndpointState, find_endpoint
from semif.target.target import Target
from semif.verify.step import Bench, SurpriseError
from semif_adapter.contract.wire import Result

_CAPTURE_SECONDS = 1200.0
"""In which SageMaker's file of captured requests should be there; AWS promises nothing."""


def no_pool(environment: Environment) -> str | None:
    """Why there is no pool to see."""
    return None if environment.endpoint.instance_pool else "it has no instance_pool"


def no_fallback(environment: Environment) -> str | None:
    """Why no type of a pool has a Model of its own."""
    return None if environment.fallback else "no pool of it begins with GPU types and ends in CPU types"


def no_gpu(environment: Environment) -> str | None:
    """Why there is no GPU to see."""
    return None if environment.accelerator == "cuda" else "its instances have no GPU"


def no_network(environment: Environment) -> str | None:
    """Why there is neither VPC nor key to see."""
    wanted = environment.network or environment.encryption
    return None if wanted else "it has neither [network] nor [encryption]"


def no_role(environment: Environment) -> str | None:
    """Why the role is the stack's."""
    return None if environment.existing.role_arn else "it has no existing.role_arn"


def no_prefix(environment: Environment) -> str | None:
    """Why the model is an archive."""
    return None if environment.model.format == "prefix" else 'it has no model.format = "prefix"'


def no_hub(environment: Environment) -> str | None:
    """Why the container downloads nothing."""
    return None if environment.model.hf_repo else "its model is a preset"


def no_calibration(environment: Environment) -> str | None:
    """Why no temperature is applied."""
    preset = environment.preset
    return None if isinstance(preset, Preset) and preset.calibration else "its preset has no calibration"


def pool(bench: Bench) -> str:
    """The configuration has the pool in its order, and the endpoint is placed."""
    target = bench.target()
    state, wanted = _state(target), target.environment.endpoint.instance_types
    if state.instance_types != wanted:
        raise SurpriseError(
            f"the pool is {', '.join(state.instance_types)}, the file has {', '.join(wanted)}"
        )
    return f"{state.status} on {state.instances} of {', '.join(wanted)}"


def fallback(bench: Bench) -> str:
    """SageMaker made the endpoint with both Models. Which of them answers depends on what is to be had."""
    target = bench.target()
    state, wanted = _state(target), target.read_lock().fallback_image_uri
    if state.fallback_image != wanted:
        raise SurpriseError(f"the last types run the image {state.fallback_image}, the lock pins {wanted}")
    return f"{state.status}, the last types with a Model of their own"


def gpu(bench: Bench) -> str:
    """The answers say that layers are on a GPU."""
    model = _answer(bench).model
    if not model.gpu_layers:
        raise SurpriseError(f"{model.gpu_layers} layers are on a GPU, the devices are {model.devices}")
    return f"{model.gpu_layers} layers on {model.devices}"


def network(bench: Bench) -> str:
    """SageMaker tells the subnets and the key of the file, and the endpoint came up with them."""
    target = bench.target()
    environment, state = target.environment, _state(target)
    with aws_errors():
        config = target.aws.sagemaker.describe_endpoint_config(EndpointConfigName=state.config)
        (variant,) = config["ProductionVariants"]
        model = target.aws.sagemaker.describe_model(ModelName=variant["ModelName"])
    subnets = set(model.get("VpcConfig", {}).get("Subnets", []))
    if environment.network and subnets != set(environment.network.subnet_ids):
        raise SurpriseError(f"the model is in {len(subnets)} subnets that are not those of the file")
    return (
        f"{state.status} in {len(subnets)} subnets, {'with' if environment.encryption else 'without'} a key"
    )


def role(bench: Bench) -> str:
    """The Model runs with the role of the file, which the endpoint came up with."""
    target = bench.target()
    state, wanted = _state(target), target.environment.existing.role_arn
    with aws_errors():
        config = target.aws.sagemaker.describe_endpoint_config(EndpointConfigName=state.config)
        (variant,) = config["ProductionVariants"]
        used = target.aws.sagemaker.describe_model(ModelName=variant["ModelName"]).get("ExecutionRoleArn")
    if used != wanted:
        raise SurpriseError("the Model runs with another role than existing.role_arn")
    return f"{state.status} with the role that was there already"


def prefix(bench: Bench) -> str:
    """The model's files are served from a prefix, which the endpoint came up with."""
    state = _state(bench.target())
    if not state.model_data.endswith("/"):
        raise SurpriseError("the model's address is no prefix")
    return f"{state.status} on files under a prefix"


def hub(bench: Bench) -> str:
    """The container has downloaded its model, and is in service."""
    return f"{_state(bench.target()).status} with a model that the container downloaded"


def calibration(bench: Bench) -> str:
    """The answers say the temperature that was applied."""
    applied = _answer(bench).calibration
    if applied is None:
        raise SurpriseError("no calibration was applied")
    return f"temperature {applied.temperature:g}"


def captured(bench: Bench) -> str:
    """A request of a known inference id comes into the bucket, with the answer that its caller got."""
    target = bench.target()
    name, found = f"verify-{secrets.token_hex(8)}", list[Exchange]()
    with aws_errors():
        reply = target.aws.sagemaker_runtime.invoke_endpoint(
            EndpointName=target.environment.endpoint_name,
            Body=DEPLOYED_KINDS[target.environment.kind].smoke_request,
            ContentType="application/json",
            InferenceId=name,
        )
        answer = json.loads(reply["Body"].read())

    def look() -> bool:
        # A line in another form than is expected ends the step, as a surprise.
        try:
            found.extend(one for one in map(read_exchange, captured_lines(target, None)) if one.id == name)
        except LeftOutError as error:
            raise SurpriseError(f"in what was captured is {error}") from None
        return bool(found)

    bench.wait("what was captured", look, seconds=_CAPTURE_SECONDS, poll_seconds=target.poll_seconds)
    (row,) = rows_of(found[0])
    if row["captured"]["reply"] != {"result": answer["result"]}:
        raise SurpriseError("what was captured is not the answer that the caller got")
    return "a request was captured, with its inference id and the answer that its caller got"


def _state(target: Target) -> EndpointState:
    state = find_endpoint(target.aws, target.environment.endpoint_name)
    if state is None:
        raise SurpriseError(f"there is no endpoint {target.environment.endpoint_name}")
    return state


def _answer(bench: Bench) -> Result:
    decided = bench.target().decision_client().decide("The sky is blue.", "Is it?", ["yes", "no"])
    return decided.raw
