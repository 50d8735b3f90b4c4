"""Mode `batch`: no endpoint; transform jobs ask the model all of a file and are gone."""

from collections.abc import Iterator
from typing import Any

from semif.environment.environment_file import EnvironmentFile
from semif.environment.kinds.kind import ServingKind
from semif.environment.modes.mode import InferenceMode
from semif.environment.tables.raw import RawTables, table_in
from semif.sagemaker.log_groups import TRANSFORM_LOG_GROUP
from semif.sagemaker.transform_rules import (
    DEADLINE_SECONDS,
    GPU_AMI_VERSION,
    MAX_INSTANCES,
    MAX_INVOCATION_SECONDS,
    type_problem,
)
from semif_adapter.contract.settings import MOST_QUEUED_TOKENS

GPU_DRIVER_WARNING = (
    f"the hosts of transform jobs have NVIDIA's driver 535 at most ({GPU_AMI_VERSION}), older than CUDA 13's "
    "own: the container starts only with CUDA's compatibility libraries, which nobody has seen; try a short "
    "file first, the adapter refuses to start without its GPU"
)
LOG_WARNING = (
    "log_retention_days and the KMS key do not reach the containers' log: jobs write to "
    f"{TRANSFORM_LOG_GROUP}, which all jobs of the account share"
)
_MODE = "endpoint.mode = 'batch'"
_NO_ENDPOINT = "a transform job has its instances for as long as it runs, and there is no endpoint"
_TABLES = {
    "async": "its files are kept for 30 days",
    "scaling": "give initial_instance_count, or --instances to a job",
    "deployment": "a new model is simply the next job's",
    "alarms": "a job tells how it ended",
    "data_capture": "its lines and answers are files already",
    "budget": "a job ends by itself",
}
_HAS_NONE = "Batch Transform has no such setting"
_KEYS = {
    "instance_pool": "a transform job takes one type, write instance_type",
    "startup_timeout_seconds": _HAS_NONE,
    "model_download_timeout_seconds": _HAS_NONE,
    "volume_size_gb": "Batch Transform sizes the volumes itself",
    "inference_ami_version": f"jobs on GPUs take {GPU_AMI_VERSION}",
    "endpoint_name": "there is no endpoint to name",
    "expires_after_hours": "there is no endpoint to delete",
}
"""Of [endpoint], each with the reason why it is not taken."""


class Batch(InferenceMode):
    """Transform jobs over files."""

    name = "batch"
    adjective = "batch"
    keys = ("existing.files_bucket",)
    manner = "answers by transform jobs"
    has_endpoint = False
    quota = "transform job"
    keys_not_taken = frozenset(f"endpoint.{key}" for key in _KEYS)
    derived_from = "as transform jobs have it"
    sizing_problem = (
        "has no endpoint: each transform job has the instances that `semif batch --instances` asks for"
    )

    def ready(self, endpoint_name: str) -> str:
        """That there is a model and nothing that runs."""
        return (
            f"the model of {endpoint_name} is ready for transform jobs; between jobs nothing runs. "
            "Run one with"
        )

    def asking_command(self, _kind: ServingKind, command_line: str, file: str, /) -> str:
        """`semif batch`."""
        return f"semif batch {command_line} {file}.jsonl"

    def placement_problems(self, _tables: RawTables, /) -> Iterator[str]:
        """None of a production variant, which there is not; `problems` has those of a job."""
        return iter(())

    def problems(self, tables: RawTables, kind: ServingKind | None, /) -> Iterator[str]:
        """Rules of Batch Transform; what is for endpoints is refused by whole tables."""
        if kind is not None and kind.transform_problem is not None:
            yield (
                f"{_MODE} does not go with kind = '{kind.name}': {kind.transform_problem}; write "
                "mode = 'async', or kind = 'decision'"
            )
        for table, instead in _TABLES.items():
            if table in tables:
                yield f"[{table}] does not go with {_MODE}: {_NO_ENDPOINT}; remove it, {instead}"
        endpoint = table_in(tables, "endpoint")
        for key, reason in _KEYS.items():
            if key in endpoint:
                yield f"endpoint.{key} does not go with {_MODE}: {reason}; remove it"
        if table_in(tables, "model").get("format") == "prefix":
            # https://github.com/aws/sagemaker-python-sdk/issues/4777
            yield (
                f"model.format = 'prefix' does not go with {_MODE}: CreateTransformJob refuses a Model with "
                "a ModelDataSource; remove it, an archive is the default"
            )
        name, count = endpoint.get("instance_type"), endpoint.get("initial_instance_count")
        if isinstance(name, str):
            yield from filter(None, [type_problem(name)])
        elif name is None and "instance_pool" not in endpoint:
            yield "endpoint.instance_type is missing; a transform job takes one type"
        if isinstance(count, int) and count > MAX_INSTANCES:
            yield f"endpoint.initial_instance_count = {count}: a transform job has at most {MAX_INSTANCES}"
        seconds = table_in(tables, "adapter").get("deadline_seconds")
        if isinstance(seconds, int | float) and seconds > DEADLINE_SECONDS:
            yield (
                f"adapter.deadline_seconds = {seconds:g}: SageMaker waits {MAX_INVOCATION_SECONDS} s for a "
                f"line, and the adapter must refuse before that; allowed are up to {DEADLINE_SECONDS:g}"
            )

    def derived(self, file: EnvironmentFile, _kind: ServingKind, /) -> dict[str, Any]:
        """Nobody waits for a line: it has the most time and room that is possible."""
        most = {"deadline_seconds": DEADLINE_SECONDS, "max_queued_tokens": MOST_QUEUED_TOKENS}
        return {
            f"adapter.{key}": value for key, value in most.items() if key not in file.adapter.model_fields_set
        }

    def warnings(self, file: EnvironmentFile, /) -> Iterator[str]:
        """What does not reach the hosts of jobs."""
        if file.encryption is not None or "log_retention_days" in file.model_fields_set:
            yield LOG_WARNING
        if file.accelerator == "cuda":
            yield GPU_DRIVER_WARNING
