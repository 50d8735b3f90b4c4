"""The throw-away environment, from the file of the one that is proved: what its endpoint runs stays the same.

Numbers of instances, scaling, alarms and updates become the smallest that show something. It has one name in
all its forms, so that there is one bucket, one image and one lock, built once.
"""

from typing import Any

from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.sagemaker.instances import instance_type
from semif.sagemaker.placement import fallback_types
from semif.sagemaker.transform_rules import type_problem
from semif.sagemaker.update_strategies import ALARM_SECONDS
from semif.verify.step import PREFIX, Tables

MAX_IN_FLIGHT = 4
"""Requests that the container takes at once: so few are exceeded by one machine's threads."""
MOST_INSTANCES = 2
"""That scaling may come to."""
_OF_ENDPOINTS = (
    "instance_pool",
    "inference_ami_version",
    "model_download_timeout_seconds",
    "provision_timeout_seconds",
    "startup_timeout_seconds",
    "volume_size_gb",
)
"""Keys of [endpoint] that Batch Transform does not take."""
_LEFT_OUT = ("async", "scaling", "deployment", "alarms", "data_capture", "registry", "budget")
"""Tables that each form says anew, or does without: nobody approves what is thrown away, and a budget would
tell of nothing in that time."""
_OF_THE_PROVED = ("endpoint_name", "expires_after_hours")
"""Keys of [endpoint] that are left out: a name that is taken, an end that may come too early."""


def words(tables: Tables) -> Tables:
    """An endpoint of a published container, which runs as it is."""
    return _bare(tables, mode="realtime")


def realtime(tables: Tables) -> Tables:
    """An endpoint that scales, and goes back on alarms, wide enough for a slow machine; all is captured."""
    form = _bare(tables, mode="realtime")
    form["adapter"] = {**form.get("adapter", {}), "max_in_flight": MAX_IN_FLIGHT}
    form["scaling"] = {
        "min_instance_count": 1,
        "max_instance_count": MOST_INSTANCES,
        "concurrent_requests_per_instance": 1.0,
    }
    form["deployment"] = {"strategy": "all-at-once", "wait_seconds": ALARM_SECONDS}
    form["alarms"] = {"model_p95_seconds": 60.0, "overhead_seconds": 60.0}
    form["data_capture"] = {"sampling_percent": 100, "expiry_days": 1}
    return form


def with_setting(tables: Tables, **settings: int) -> Tables:
    """A realtime endpoint with other settings of the adapter, so that it has to move."""
    form = realtime(tables)
    return {**form, "adapter": {**form["adapter"], **settings}}


def queue(tables: Tables) -> Tables:
    """An asynchronous endpoint that scales to zero as soon as it may."""
    form = _bare(tables, mode="async")
    form["scaling"] = {"min_instance_count": 0, "max_instance_count": 1}
    form["async"] = {"invocation_timeout_seconds": 120, "expiry_days": 1}
    form["adapter"] = {
        key: value for key, value in form.get("adapter", {}).items() if key != "deadline_seconds"
    }
    return form


def jobs(tables: Tables) -> Tables:
    """A Model for transform jobs, on the first of the types that Batch Transform has."""
    form = _bare(tables, mode="batch")
    endpoint = tables["endpoint"]
    types = endpoint.get("instance_pool") or [endpoint["instance_type"]]
    on_cpu = fallback_types(types)  # which run another image than the rest
    chosen = next((name for name in types if type_problem(name) is None and name not in on_cpu), types[0])
    kept = {key: value for key, value in form["endpoint"].items() if key not in _OF_ENDPOINTS}
    form["endpoint"] = {**kept, "instance_type": chosen}
    form["model"] = {key: value for key, value in form["model"].items() if key != "format"}
    return form


def no_jobs(environment: Environment) -> str | None:
    """Why the environment's model cannot run in transform jobs."""
    problems = [type_problem(name) for name in environment.endpoint.instance_types]
    return None if None in problems else problems[0]


def check_name(of: str) -> None:
    """Raise SemifError where `of` cannot be proved under a name of its own."""
    if of.startswith(PREFIX):
        raise SemifError(f"{of} is what `semif verify` makes; name the environment that it is made from")


def dearest_hour(environment: Environment) -> float:
    """US dollars of an instance's hour on the dearest type. Raises SemifError where a price is unknown."""
    prices = {name: instance_type(name).usd_per_hour for name in environment.endpoint.instance_types}
    unknown = [name for name, price in prices.items() if price is None]
    if unknown:
        raise SemifError(
            f"no price of {', '.join(unknown)} is known here, so no --max-cost could be kept; verify an "
            "environment on a type whose price `semif env show` tells"
        )
    return max(price for price in prices.values() if price is not None)


def _bare(tables: Tables, *, mode: str) -> dict[str, Any]:
    form = {key: value for key, value in tables.items() if key not in _LEFT_OUT}
    form["removal"] = "destroy"
    endpoint = {key: value for key, value in tables["endpoint"].items() if key not in _OF_THE_PROVED}
    form["endpoint"] = {**endpoint, "mode": mode, "initial_instance_count": 1}
    # Buckets of its own: what it put into one that is there already it could not take away again.
    role = form.pop("existing", {}).get("role_arn")
    if role is not None:
        form["existing"] = {"role_arn": role}
    return form
