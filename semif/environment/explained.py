"""Everything that an environment file comes to, and where each value is from: what `semif env show` tells."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from semif.environment.cost import instance_cost
from semif.environment.environment import Environment
from semif.environment.kinds import KINDS
from semif.environment.memory_need import USABLE_SHARE, MemoryNeed
from semif.environment.modes import MODES
from semif.environment.problems import FIXED_SETTINGS, keys_of_others
from semif.errors import SemifError
from semif.sagemaker.instances import PRICES_OF, InstanceType, instance_type
from semif_adapter.contract.settings import SECRET

FROM_FILE, FROM_DEFAULT, FROM_MODEL, FROM_PLACEMENT = (
    "from the file",
    "default",
    "from the model's size",
    "from the instance type",
)
"""A mode has words of its own for what it derives."""
_NOT_SETTABLE = {*FIXED_SETTINGS, *SECRET}


def resolved(environment: Environment) -> dict[str, Any]:
    """The environment as plain values for JSON. Raises SemifError where the preset's file is wrong."""
    need, cost = environment.memory_need, instance_cost(environment)
    return {
        "environment": environment.name,
        "kind": environment.kind,
        "stacks": [environment.artifacts_stack, environment.endpoint_stack],
        "endpoint_name": environment.endpoint_name,
        "settings": [
            {"key": key, "value": value, "source": source} for key, value, source in _settings(environment)
        ],
        "container_variables": environment.container_variables,
        "pins": {
            "base_image": _base_image(environment),
            "model": _model(environment),
        },
        "memory_needed": None if need is None else _memory(need),
        "fallback": None if environment.fallback is None else _fallback(environment.fallback),
        "cost": {
            "usd_per_hour": cost.per_hour,
            "usd_per_month_least": cost.month_least,
            "usd_per_month_most": cost.month_most,
            "prices_of": PRICES_OF,
            "lines": list(cost.lines),
        },
        "instances": [_instance(instance_type(name)) for name in environment.endpoint.instance_types],
        "warnings": list(environment.warnings),
    }


def _fallback(environment: Environment) -> dict[str, Any]:
    """What is other on the CPU types that end a pool of GPU types."""
    need = environment.memory_need
    return {
        "instance_types": list(environment.endpoint.instance_types),
        "base_image": _base_image(environment),
        "container_variables": environment.container_variables,
        "memory_needed": None if need is None else _memory(need),
    }


def _model(environment: Environment) -> dict[str, Any]:
    preset, table = environment.preset, environment.model
    if preset is None:
        return {
            "source": f"hf://{table.hf_repo}",
            "revision": table.revision,
            "file": table.hf_file,
            "bytes": None,
            "sha256": None,
            "preset": None,
            "manifest_sha256": None,
        }
    return {
        **preset.pins(),
        "preset": preset.name,
        "manifest_sha256": preset.manifest().sha256,
    }


def _memory(need: MemoryNeed) -> dict[str, int | None]:
    return {
        "weights_bytes": need.weights,
        "context_bytes": need.context,
        "context_tokens": need.context_tokens,
        "saved_prompts_bytes": need.saved_prompts,
        "overhead_bytes": need.overhead,
        "memory_bytes": need.host_bytes,
        "gpu_memory_bytes": need.gpu_bytes,
    }


def _settings(environment: Environment) -> Iterator[tuple[str, Any, str]]:
    """Key, value and source of every setting that the environment's kind and mode have."""
    scaled = {
        "endpoint.startup_timeout_seconds": environment.startup_timeout_seconds,
        "endpoint.model_download_timeout_seconds": environment.model_download_timeout_seconds,
        "scaling.scale_out_cooldown_seconds": environment.scale_out_cooldown_seconds,
        "scaling.scale_in_cooldown_seconds": environment.scale_in_cooldown_seconds,
    }
    mode, derived = environment.inference_mode, environment.derived
    useless = keys_of_others(environment.serving_kind, mode).keys() | mode.keys_not_taken
    for key, value, in_file in _written(environment):
        if key in useless:
            continue
        if in_file:
            yield key, value, FROM_FILE
        elif key == "model.format" and environment.preset is None:
            continue  # the container downloads the file; nothing is published
        elif key == "adapter.gpu_layers":
            yield key, environment.settings.gpu_layers, FROM_PLACEMENT
        elif key in derived:
            yield key, derived[key], mode.derived_from
        elif key in scaled:
            yield key, scaled[key], FROM_MODEL if environment.model_bytes is not None else FROM_DEFAULT
        elif value is not None:
            yield key, value, FROM_DEFAULT


def _written(environment: Environment) -> Iterator[tuple[str, Any, bool]]:
    """Every key of the file's tables, its value, and whether the file has it."""
    kind, mode = environment.serving_kind, environment.inference_mode
    of_others = {other.table for other in KINDS.values()} - {kind.table}
    of_others |= {other.table for other in MODES.values() if other.table is not None} - {mode.table or ""}
    for attribute, field in type(environment).model_fields.items():
        name = field.alias or attribute
        value = getattr(environment, attribute)
        in_file = attribute in environment.model_fields_set
        if name in {"name", "kind"} or name in of_others:
            continue
        if isinstance(value, BaseModel):
            dumped = value.model_dump(mode="json", exclude=_NOT_SETTABLE)
            for key, item in dumped.items():
                yield f"{name}.{key}", item, key in value.model_fields_set
        elif value or in_file:
            yield name, value, in_file


def _base_image(environment: Environment) -> dict[str, str | None]:
    try:
        return {"pinned": str(environment.base_image), "problem": None}
    except SemifError as error:
        return {"pinned": None, "problem": str(error)}


def _instance(instance: InstanceType) -> dict[str, Any]:
    return {
        "instance_type": instance.name,
        "architecture": instance.architecture,
        "accelerator": instance.accelerator,
        "vcpus": instance.vcpus,
        "memory_bytes": instance.memory_bytes,
        "usable_memory_bytes": int(instance.memory_bytes * USABLE_SHARE),
        "gpus": instance.gpus,
        "gpu_memory_bytes": instance.gpu_memory_bytes,
        "usable_gpu_memory_bytes": int(instance.gpu_memory_bytes * USABLE_SHARE),
        "local_disk_gb": instance.local_disk_gb,
    }
