"""What can be wrong with an environment file across its keys, each in a line of its own."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from semif.aws.arn import Arn
from semif.environment.kinds import KINDS
from semif.environment.kinds.kind import ServingKind
from semif.environment.modes import MODES
from semif.environment.modes.endpoint import endpoint_problems, variant_problems
from semif.environment.modes.mode import InferenceMode
from semif.environment.tables.account import existing_problems
from semif.environment.tables.builds import builds_problems
from semif.environment.tables.endpoint import EndpointTable
from semif.environment.tables.raw import RawTables, default_of, instance_types_in, table_in, typed_in
from semif.errors import shown
from semif.models.any_preset import any_preset_names
from semif.models.gguf_file import files_of_split
from semif.sagemaker.instances import accelerator_of
from semif.sagemaker.llama_server_variables import text_problems
from semif_adapter.contract.settings import SECRET

FIXED_SETTINGS = (
    "model_dir", "manifest_sha256", "gguf", "calibration", "library_dir", "host", "port", "endpoint_name",
    "batch",
)  # fmt: skip
"""Settings that the image, SageMaker and the environment's name fix; an environment may set the others."""

_Entry = TypeVar("_Entry", ServingKind, InferenceMode)


def keys_of_others(kind: ServingKind | None, mode: InferenceMode) -> dict[str, str]:
    """Keys that say nothing about an endpoint of this kind and mode, and which endpoints they are for.

    Without a kind all keys are those of others that only some kinds have.
    """
    others: dict[str, str] = {}
    for key, adjective in ((key, other.adjective) for other in MODES.values() for key in other.keys):
        if key not in mode.keys:
            others[key] = f"{others[key]} or {adjective}" if key in others else adjective
    for key, name in ((key, other.name) for other in KINDS.values() for key in other.keys):
        if kind is None or key not in kind.keys:
            others[key] = f"{others[key]} or {name}" if key in others else name
    return others


def problems_together(tables: RawTables) -> Iterator[str]:
    """What is wrong across keys, read from the raw tables: also where a key alone is wrong already."""
    kind, mode = _named(KINDS, tables.get("kind")), _named(MODES, _mode_name(tables))
    preset = typed_in(table_in(tables, "model"), "preset", str)
    if preset and preset not in (known := any_preset_names() if kind is None else kind.preset_names()):
        of_kind = (
            "" if kind is None or preset not in any_preset_names() else f" that kind '{kind.name}' serves"
        )
        yield (
            f"model.preset: there is no preset {shown(preset)}{of_kind}, known are "
            f"{', '.join(known) or 'none'}{'' if kind is None else kind.no_preset}"
        )
    yield from _model_problems(tables, kind)
    if kind is not None:
        yield from _tables_of_other_kinds(tables, kind)
    unlisted = typed_in(table_in(tables, "endpoint"), "unlisted_flags", list) or ()
    yield from text_problems(table_in(tables, "text"), [flag for flag in unlisted if isinstance(flag, str)])
    adapter = table_in(tables, "adapter")
    for key in FIXED_SETTINGS:
        if key in adapter:
            yield f"adapter.{key} is not a known key: the deployment fixes it"
    for key in sorted(SECRET & set(adapter)):
        yield f"adapter.{key} is not a known key: IAM guards the endpoint, and SageMaker hands no key on"
    yield from variant_problems(tables) if mode is None else mode.placement_problems(tables)
    yield from _gpu_layer_problems(adapter, instance_types_in(tables))
    if mode is None:  # what would go with an unknown one is not known
        yield from endpoint_problems(tables, kind)
        return
    if mode.has_endpoint:  # without one whole tables are refused
        yield from _useless_keys(tables, kind, mode)
    yield from mode.problems(tables, kind)


def problems_aside(tables: RawTables) -> Iterator[str]:
    """As `problems_together`, of what says nothing of container, model and instances.

    Where nothing else is wrong, all can be said of these.
    """
    kind = _named(KINDS, tables.get("kind"))
    if kind is not None and not kind.runs_adapter and "accepted_findings" in tables:
        yield f"[accepted_findings] is for images that are built, kind = '{kind.name}' has none; remove it"
    yield from _arn_problems(tables)
    yield from _egress_problems(tables)
    yield from builds_problems(tables, builds_image=kind.runs_adapter if kind is not None else None)
    yield from existing_problems(tables)


def _named(registry: Mapping[str, _Entry], name: object) -> _Entry | None:
    return registry.get(name) if isinstance(name, str) else None


def _mode_name(tables: RawTables) -> object:
    return table_in(tables, "endpoint").get("mode", default_of(EndpointTable, "mode"))


def _tables_of_other_kinds(tables: RawTables, kind: ServingKind) -> Iterator[str]:
    for table in dict.fromkeys(other.table for other in KINDS.values()):
        if table != kind.table and table in tables:
            yield (
                f"[{table}] does not go with kind = '{kind.name}': {kind.container} is set with "
                f"[{kind.table}]"
            )


def _arn_problems(tables: RawTables) -> Iterator[str]:
    """What lies in another region or account than the file's."""
    yield from _of_another_region(tables, "encryption", "kms_key_arn", "a key")
    boundary, account = typed_in(tables, "permissions_boundary", str), typed_in(tables, "account", str)
    policy = Arn.parse(boundary or "")
    if policy is not None and account and policy.account not in {"aws", account}:
        yield f"permissions_boundary: {shown(boundary)} is not of account {account}, IAM takes only its own"
    for table, key in (("alarms", "topic_arn"), ("async", "success_topic_arn"), ("async", "error_topic_arn")):
        yield from _of_another_region(tables, table, key, "a topic")


def _of_another_region(tables: RawTables, table: str, key: str, what: str) -> Iterator[str]:
    text, region = typed_in(table_in(tables, table), key, str), typed_in(tables, "region", str)
    arn = Arn.parse(text or "")
    if arn is not None and region and arn.region != region:
        yield f"{table}.{key}: {shown(text)} is not in {region}, {what} serves its own region only"


def _egress_problems(tables: RawTables) -> Iterator[str]:
    """Where the stack's own security group lets HTTPS out, which is to S3 and no further."""
    if not isinstance(tables.get("network"), Mapping):
        return
    network, region = table_in(tables, "network"), typed_in(tables, "region", str) or "REGION"
    key, given = "network.s3_prefix_list_id", "s3_prefix_list_id" in network
    if network.get("security_group_ids"):
        if given:
            yield f"{key} is for a security group of the stack's own, and yours are named; remove it"
    elif table_in(tables, "endpoint").get("network_isolation") is False:
        if given:
            yield f"{key} does not go with model.hf_repo: the container downloads from the hub; remove it"
    elif not given:
        yield (
            f"{key} is missing: the stack's own security group lets HTTPS out to S3 alone; write the id that "
            "`aws ec2 describe-managed-prefix-lists --filters "
            f"Name=prefix-list-name,Values=com.amazonaws.{region}.s3` tells, or security_group_ids of yours"
        )


def _useless_keys(tables: RawTables, kind: ServingKind | None, mode: InferenceMode) -> Iterator[str]:
    for path, endpoints in keys_of_others(kind, mode).items():
        table, key = path.split(".")
        if key in table_in(tables, table):
            yield f"{path} is for {endpoints} endpoints only; remove it"


def _model_problems(tables: RawTables, kind: ServingKind | None) -> Iterator[str]:
    model, endpoint = table_in(tables, "model"), table_in(tables, "endpoint")
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
    file = typed_in(model, "hf_file", str)
    if file and (count := files_of_split(file)) != 1:
        yield (
            f"model.hf_file: {shown(file)} is one of {count} files of a split model; name a whole "
            "file, or merge them with llama-gguf-split and host the result by a preset"
        )
    if kind is not None and kind.hub_problem is not None:
        yield kind.hub_problem
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
    if layers is None or not types:
        return
    preferred = types[0]  # CPU types behind those with GPUs have no layers there, whatever the file says
    try:
        on_gpu = accelerator_of(preferred) == "cuda"
    except ValueError:  # reported as a problem of the endpoint table
        return
    if on_gpu and layers == 0:
        yield f"adapter.gpu_layers = 0: {preferred} has a GPU that would idle; use -1 for all layers"
    if not on_gpu and layers != 0:
        yield f"adapter.gpu_layers = {layers!r}: {preferred} has no GPU, remove it"
