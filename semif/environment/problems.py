"""What can be wrong with an environment file across its keys, each in a line of its own."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from semif.environment.tables import DeploymentTable, Mode, ScalingTable
from semif.errors import shown
from semif.models.gguf_file import files_of_split
from semif.models.presets import preset_names
from semif.sagemaker.instances import accelerator_of
from semif.sagemaker.llama_server_variables import text_problems
from semif.sagemaker.placement import placement_problems
from semif.sagemaker.scaling import scaling_problems
from semif.sagemaker.transform_rules import batch_problems
from semif.sagemaker.update_strategies import Strategy, update_problems
from semif_adapter.contract.settings import Settings

FIXED_SETTINGS = ("model_dir", "gguf", "calibration", "library_dir", "host", "port", "endpoint_name", "batch")
"""Settings that the image, SageMaker and the environment's name fix; an environment may set the others."""

_ONLY_REALTIME = (
    "scaling.concurrent_requests_per_instance",
    "alarms.model_p95_seconds",
    "alarms.overhead_seconds",
)
_ONLY_ASYNC = ("scaling.backlog_per_instance", "alarms.backlog_age_seconds")
_ONLY_DECISIONS = ("alarms.refusal_percent", "alarms.min_allowed_token_mass")


def keys_of_others(*, kind: object, mode: object) -> dict[str, str]:
    """Keys that say nothing about an endpoint of this kind and mode, and which endpoints they are for."""
    return {
        **({} if mode == "async" else dict.fromkeys(_ONLY_ASYNC, "asynchronous")),
        **({} if mode == "realtime" else dict.fromkeys(_ONLY_REALTIME, "realtime")),
        **({} if kind == "decision" else dict.fromkeys(_ONLY_DECISIONS, "decision")),
    }


def problems_together(tables: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong across keys, found on the raw tables: also where a key alone is wrong already."""
    preset = _typed(_table(tables, "model"), "preset", str)
    if preset and preset not in (known := preset_names()):
        yield f"model.preset: there is no preset {shown(preset)}, known are {', '.join(known)}"
    yield from _model_problems(tables)
    if tables.get("kind") == "text" and "adapter" in tables:
        yield "[adapter] does not go with kind = 'text': the published container is set with [text]"
    if tables.get("kind") == "decision" and "text" in tables:
        yield "[text] does not go with kind = 'decision': our adapter is set with [adapter]"
    key_arn, region = _typed(_table(tables, "encryption"), "kms_key_arn", str), _typed(tables, "region", str)
    if key_arn and region and key_arn.split(":")[3:4] not in ([], [region]):
        yield f"encryption.kms_key_arn: {shown(key_arn)} is not in {region}, a key serves its own region only"
    boundary, account = _typed(tables, "permissions_boundary", str), _typed(tables, "account", str)
    if boundary and account and boundary.split(":")[4:5] not in ([], ["aws"], [account]):
        yield f"permissions_boundary: {shown(boundary)} is not of account {account}, IAM takes only its own"
    topics = (("alarms", "topic_arn"), ("async", "success_topic_arn"), ("async", "error_topic_arn"))
    for table, key in topics:
        topic_arn = _typed(_table(tables, table), key, str)
        if topic_arn and region and topic_arn.split(":")[3:4] not in ([], [region]):
            yield f"{table}.{key}: {shown(topic_arn)} is not in {region}, a topic serves its own region only"
    yield from text_problems(_table(tables, "text"))
    adapter = _table(tables, "adapter")
    for key in FIXED_SETTINGS:
        if key in adapter:
            yield f"adapter.{key} is not a known key: the deployment fixes it"
    if "api_key" in adapter:
        yield "adapter.api_key is not a known key: IAM guards the endpoint, and SageMaker hands no key on"
    yield from _placement_problems(tables)
    named_types = _named_types(_table(tables, "endpoint"))
    yield from _gpu_layer_problems(adapter, named_types)
    if _table(tables, "endpoint").get("mode") == "batch":
        yield from batch_problems(tables)
    else:
        yield from _endpoint_problems(tables, named_types)


def _endpoint_problems(tables: Mapping[str, Any], named_types: list[str]) -> Iterator[str]:
    mode = _table(tables, "endpoint").get("mode", "realtime")
    if mode in get_args(Mode):  # what would go with an unknown one is not known
        yield from _useless_keys(tables, mode)
        yield from _async_problems(tables)
        yield from _scaling_problems(tables, named_types)
    yield from _update_problems(tables)
    metrics = _table(tables, "adapter").get("metrics")
    if "alarms" in tables and tables.get("kind") == "decision" and metrics == "off":
        yield "alarms: adapter.metrics = 'off' leaves them without the adapter's figures; remove one of them"


def _placement_problems(tables: Mapping[str, Any]) -> Iterator[str]:
    endpoint = _table(tables, "endpoint")
    pool = _typed(endpoint, "instance_pool", list)
    placement = {
        "instance_type": _typed(endpoint, "instance_type", str),
        "instance_pool": [item for item in pool if isinstance(item, str)] if pool is not None else None,
        "provision_timeout_seconds": _typed(endpoint, "provision_timeout_seconds", int),
        "inference_ami_version": _typed(endpoint, "inference_ami_version", str),
    }
    misread = any(placement[key] is None and key in endpoint for key in ("instance_type", "instance_pool"))
    of_variant = endpoint and endpoint.get("mode") != "batch"  # a transform job has rules of its own
    if of_variant and not misread:  # the table reports a wrong type; that neither is given would be untrue
        yield from (f"endpoint: {problem}" for problem in placement_problems(**placement))


def _named_types(endpoint: Mapping[str, Any]) -> list[str]:
    pool = _typed(endpoint, "instance_pool", list) or ()
    one = _typed(endpoint, "instance_type", str)
    return [*(item for item in pool if isinstance(item, str)), *filter(None, [one])]


def _useless_keys(tables: Mapping[str, Any], mode: str) -> Iterator[str]:
    for path, endpoints in keys_of_others(kind=tables.get("kind"), mode=mode).items():
        table, key = path.split(".")
        if key in _table(tables, table):
            yield f"{path} is for {endpoints} endpoints only; remove it"


def _scaling_problems(tables: Mapping[str, Any], types: list[str]) -> Iterator[str]:
    if "scaling" not in tables:
        return
    endpoint, scaling = _table(tables, "endpoint"), _table(tables, "scaling")
    if most := _typed(scaling, "max_instance_count", int):
        for problem in scaling_problems(
            asynchronous=endpoint.get("mode") == "async",
            initial_instance_count=_number(endpoint, "initial_instance_count", 1),
            instance_types=types,
            max_instance_count=most,
            min_instance_count=_number(
                scaling, "min_instance_count", _default(ScalingTable, "min_instance_count")
            ),
        ):
            yield f"scaling: {problem}"
    if tables.get("kind") != "decision" or endpoint.get("mode") == "async":
        return
    key = "concurrent_requests_per_instance"
    target = _number(scaling, key, _default(ScalingTable, key))
    if target > (admitted := _admitted(tables)):
        yield (
            f"scaling.{key} = {target}: the adapter takes {admitted} at once "
            "(adapter.max_in_flight) and refuses the rest, so that it would never get there; take less"
        )


def _async_problems(tables: Mapping[str, Any]) -> Iterator[str]:
    if _table(tables, "endpoint").get("mode") != "async":
        if "async" in tables:
            yield "[async] is for asynchronous endpoints; write mode = 'async' in [endpoint], or remove it"
        return
    if "deadline_seconds" in _table(tables, "adapter"):
        yield (
            "adapter.deadline_seconds follows from async.invocation_timeout_seconds where the endpoint is "
            "asynchronous; set that one"
        )
    key = "concurrent_invocations_per_instance"
    sent = _number(_table(tables, "async"), key, 1)
    if tables.get("kind") == "decision" and sent > (admitted := _admitted(tables)):
        yield (
            f"async.{key} = {sent}: the adapter takes {admitted} at once (adapter.max_in_flight) and refuses "
            "the rest; take less"
        )


def _admitted(tables: Mapping[str, Any]) -> Any:
    """How many requests the adapter takes at once."""
    return _number(_table(tables, "adapter"), "max_in_flight", _default(Settings, "max_in_flight"))


def _update_problems(tables: Mapping[str, Any]) -> Iterator[str]:
    if "deployment" not in tables:
        return
    if "alarms" not in tables:
        yield "deployment: the endpoint moves back on an alarm, and there is no [alarms]; add the table"
    strategy = _typed(_table(tables, "deployment"), "strategy", str)
    if strategy not in get_args(Strategy):  # reported by the table itself
        return
    fewest = _number(_table(tables, "endpoint"), "initial_instance_count", 1)
    if "scaling" in tables:
        fewest = _number(
            _table(tables, "scaling"), "min_instance_count", _default(ScalingTable, "min_instance_count")
        )
    wait_seconds = _number(
        _table(tables, "deployment"), "wait_seconds", _default(DeploymentTable, "wait_seconds")
    )
    for problem in update_problems(instance_count=fewest, strategy=strategy, wait_seconds=wait_seconds):
        yield f"deployment: {problem}"


def _default(table: type[BaseModel], key: str) -> Any:
    return table.model_fields[key].default


def _number(table: Mapping[str, Any], key: str, default: Any) -> Any:
    """The number where it is one, else the default; a wrong type is reported by the table itself."""
    value = table.get(key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else default


def _model_problems(tables: Mapping[str, Any]) -> Iterator[str]:
    model, endpoint = _table(tables, "model"), _table(tables, "endpoint")
    isolated = endpoint.get("network_isolation", True)
    of_hub = [key for key in ("hf_repo", "hf_file", "revision") if key in model]
    if not of_hub:
        if isinstance(tables.get("model"), Mapping) and "preset" not in model:
            yield "model.preset is missing; name a file of models/, or hf_repo, hf_file and revision"
        if isolated is False:
            yield "endpoint.network_isolation = false: a model of models/ needs no network, remove it"
        return
    if len(of_hub) < 3:
        lacking = [key for key in ("hf_repo", "hf_file", "revision") if key not in model]
        yield f"model: {' and '.join(lacking)} missing; hf_repo, hf_file and revision go together"
    for key in ("preset", "format"):
        if key in model:
            yield f"model.{key} does not go with hf_repo: the container downloads the file; keep one"
    file = _typed(model, "hf_file", str)
    if file and (count := files_of_split(file)) != 1:
        yield (
            f"model.hf_file: {shown(file)} is one of {count} files of a split model; name a whole "
            "file, or merge them with llama-gguf-split and host the result by a preset"
        )
    if tables.get("kind") == "decision":
        yield "model.hf_repo goes with kind = 'text' only: our adapter serves what a preset pins"
    if isolated is not False:
        yield (
            "model.hf_repo needs the network, and the container has none; write network_isolation = false in "
            "[endpoint], or pin the model as a preset (semif model pin)"
        )
    if "startup_timeout_seconds" not in endpoint:
        yield (
            "endpoint.startup_timeout_seconds is missing: the download comes before the first healthy /ping, "
            "and the file's size is not known here"
        )


def _gpu_layer_problems(adapter: Mapping[str, Any], types: list[str]) -> Iterator[str]:
    layers = adapter.get("gpu_layers")
    if layers is None:
        return
    for instance_type in types:
        try:
            on_gpu = accelerator_of(instance_type) == "cuda"
        except ValueError:  # reported as a problem of the endpoint table
            continue
        if on_gpu and layers == 0:
            yield f"adapter.gpu_layers = 0: {instance_type} has a GPU that would idle; use -1 for all layers"
            return
        if not on_gpu and layers != 0:
            yield f"adapter.gpu_layers = {layers!r}: {instance_type} has no GPU, remove it"
            return


def _table(tables: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = tables.get(key)
    return value if isinstance(value, Mapping) else {}


def _typed(table: Mapping[str, Any], key: str, kind: type) -> Any:
    """The value where it has the type; a wrong type is reported by the table itself."""
    value = table.get(key)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None
