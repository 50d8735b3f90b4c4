"""`environments/*.toml`: what each deployment is, read into one typed value.

All problems of a file are reported at once, each with its key, the value received and what is allowed.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from semif.environment.memory_need import (
    MemoryNeed,
    decision_need,
    memory_problems,
    memory_warnings,
    scaled_download_seconds,
    scaled_startup_seconds,
    text_need,
)
from semif.environment.problems import problems_together
from semif.environment.tables import (
    AccountId,
    AlarmsTable,
    AsyncTable,
    DeploymentTable,
    EncryptionTable,
    EndpointTable,
    EnvironmentName,
    Kind,
    ModelTable,
    NetworkTable,
    PolicyArn,
    Region,
    RetentionDays,
    ScalingTable,
    Table,
    TagKey,
    TagValue,
    hub_url,
)
from semif.errors import SemifError, shown
from semif.models.presets import Preset, load_preset
from semif.project.root import project_root
from semif.project.toml_file import read_toml
from semif.sagemaker.instances import Accelerator, accelerator_of
from semif.sagemaker.llama_server_variables import VariableValue, with_defaults
from semif.sagemaker.placement import volume_warnings
from semif.sagemaker.transform_rules import DEADLINE_SECONDS, GPU_DRIVER_WARNING, LOG_WARNING
from semif_adapter.contract.settings import MOST_QUEUED_TOKENS, Settings

DEADLINE_MARGIN_SECONDS = 5
"""The adapter gives a request up so long before SageMaker does, to say why; 55 of 60 seconds in realtime."""
UNKNOWN_SIZE = "the memory is not checked: the size of a file on Hugging Face is not known here"
LOG_OF_SAGEMAKER = (
    "log_retention_days and the KMS key do not reach the endpoint's log: with a model from Hugging Face "
    "there is no Artifacts stack to hold it, so SageMaker makes it, without a key and kept for ever"
)


class Environment(Table):
    """One named deployment. Read with `load_environment`."""

    name: EnvironmentName
    """The file's name without its ending."""
    kind: Kind
    """decision: our adapter answers with probabilities; text: the published container with completions."""
    account: AccountId | None = None
    """The only account to deploy to; unset: the credentials decide."""
    region: Region | None = None
    """The only region to deploy to; unset: the credentials' configuration decides."""
    removal: Literal["destroy", "retain"]
    """What `semif destroy` leaves behind: nothing, or the bucket and the image repository."""
    permissions_boundary: PolicyArn | None = None
    """A managed policy that bounds every role of the deployment."""
    log_retention_days: RetentionDays = 90
    """How long the lines of the containers are kept."""
    tags: Annotated[dict[TagKey, TagValue], Field(default_factory=dict, max_length=40)]
    """Tags of both stacks and of all that they make."""
    model: ModelTable
    endpoint: EndpointTable
    network: NetworkTable | None = None
    encryption: EncryptionTable | None = None
    async_: Annotated[AsyncTable, Field(alias="async", default_factory=AsyncTable)]
    """The queue, the bucket and the topics of an asynchronous endpoint."""
    scaling: ScalingTable | None = None
    deployment: DeploymentTable | None = None
    alarms: AlarmsTable | None = None
    adapter: Settings = Settings.from_env({})
    """Settings of our adapter; kind decision only."""
    text: Annotated[dict[str, VariableValue], Field(default_factory=dict)]
    """Flags of llama-server as variables of the published container, SM_LLAMA_CPP_...; kind text only."""

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, tables: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Check the tables together as well, even where a key alone is wrong already."""
        found = _as_errors(problems_together(tables) if isinstance(tables, Mapping) else ())
        try:
            environment = handler(tables)
            if not found:
                need = environment.memory_need
                types = environment.endpoint.instance_types
                found = _as_errors(memory_problems(need, types) if need is not None else ())
        except ValidationError as error:
            found = [cast(InitErrorDetails, details) for details in error.errors(include_url=False)] + found
        if found:
            raise ValidationError.from_exception_data(cls.__name__, found)
        return environment

    @property
    def accelerator(self) -> Accelerator:
        """What llama.cpp runs on; the same for every instance type of the environment."""
        return accelerator_of(self.endpoint.instance_types[0])

    @property
    def settings(self) -> Settings:
        """The adapter's settings in the container. On a GPU all layers go there unless the file says less.

        In asynchronous mode the deadline follows from the invocation timeout, and the queue has room for all
        that is sent at once; in batch mode both are the most that is possible, unless the file has them.
        """
        fixed: dict[str, object] = {"endpoint_name": self.endpoint_name}
        if self.accelerator == "cuda" and self.adapter.gpu_layers == 0:
            fixed["gpu_layers"] = -1
        if self.endpoint.mode == "async":
            timeout = self.async_.invocation_timeout_seconds
            fixed["deadline_seconds"] = float(timeout - DEADLINE_MARGIN_SECONDS)
            if "max_queued_tokens" not in self.adapter.model_fields_set:
                longest = self.adapter.max_decisions * self.adapter.context_tokens
                fixed["max_queued_tokens"] = min(self.concurrent_invocations * longest, MOST_QUEUED_TOKENS)
        if self.endpoint.mode == "batch":
            waiting = {"deadline_seconds": DEADLINE_SECONDS, "max_queued_tokens": MOST_QUEUED_TOKENS}
            fixed |= {key: most for key, most in waiting.items() if key not in self.adapter.model_fields_set}
        return self.adapter.model_copy(update=fixed)

    @property
    def concurrent_invocations(self) -> int:
        """Most requests that the queue of an asynchronous endpoint sends to one container at once.

        The file's, or as many as the container keeps prompts of at once: they keep it busy, and none of them
        waits long for another.
        """
        given = self.async_.concurrent_invocations_per_instance
        if given is not None:
            return given
        if self.kind == "text":
            return int(self.container_variables["SM_LLAMA_CPP_PARALLEL"])
        return min(self.adapter.streams, self.adapter.max_in_flight)

    @property
    def answers_with_letters(self) -> bool:
        """Whether the adapter reads the letters of options. Raises SemifError for an unknown preset."""
        preset = self.preset
        if self.kind != "decision" or preset is None:
            return False
        return (self.adapter.readout or preset.prompt.readout) == "letters"

    @property
    def container_variables(self) -> dict[str, str]:
        """The container's environment: the adapter's settings, or llama-server's, bounded."""
        if self.kind == "decision":
            return self.settings.to_env()
        model = self.model
        source = {}
        if model.hf_repo and model.hf_file and model.revision:
            source["SM_LLAMA_CPP_MODEL_URL"] = hub_url(model.hf_repo, model.hf_file, model.revision)
        return source | with_defaults(self.text, on_gpu=self.accelerator == "cuda")

    @property
    def startup_timeout_seconds(self) -> int:
        """From the container's start to its first healthy `/ping`: the file's, or scaled from the model."""
        return self.endpoint.startup_timeout_seconds or scaled_startup_seconds(self.model_bytes or 0)

    @property
    def model_download_timeout_seconds(self) -> int:
        """For fetching and unpacking the model: the file's, or scaled from the model."""
        return self.endpoint.model_download_timeout_seconds or scaled_download_seconds(self.model_bytes or 0)

    @property
    def min_instance_count(self) -> int:
        """The fewest instances that the endpoint has once it is there."""
        return self.scaling.min_instance_count if self.scaling else self.endpoint.initial_instance_count

    @property
    def max_instance_count(self) -> int:
        """The most instances that the endpoint may come to."""
        return self.scaling.max_instance_count if self.scaling else self.endpoint.initial_instance_count

    @property
    def start_seconds(self) -> int:
        """What the start of an instance usually takes: half of what it may take at most."""
        return (self.startup_timeout_seconds + self.model_download_timeout_seconds) // 2

    @property
    def scale_out_cooldown_seconds(self) -> int:
        """The file's, or as long as an instance usually takes to start."""
        given = self.scaling.scale_out_cooldown_seconds if self.scaling else None
        return self.start_seconds if given is None else given

    @property
    def scale_in_cooldown_seconds(self) -> int:
        """The file's, or twice as long as an instance usually takes to start."""
        given = self.scaling.scale_in_cooldown_seconds if self.scaling else None
        return 2 * self.start_seconds if given is None else given

    @property
    def preset(self) -> Preset | None:
        """What is built and served; None where the container downloads its model itself.

        Raises SemifError for an unknown preset.
        """
        return load_preset(self.model.preset) if self.model.preset is not None else None

    @property
    def model_bytes(self) -> int | None:
        """Size of the model's file, None where it is not known. Raises SemifError for an unknown preset."""
        preset = self.preset
        return preset.model.bytes if preset is not None else None

    @property
    def memory_need(self) -> MemoryNeed | None:
        """What the model and its server take, estimated, None where the model's size is not known.

        Raises SemifError for an unknown preset.
        """
        preset = self.preset
        if preset is None:
            return None
        if self.kind == "text":
            return text_need(preset, self.container_variables, on_gpu=self.accelerator == "cuda")
        return decision_need(preset, self.settings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is no mistake, but not what the file may lead to expect."""
        return (
            *(memory_warnings(need) if (need := self.memory_need) is not None else [UNKNOWN_SIZE]),
            *([LOG_OF_SAGEMAKER] if self.preset is None else []),
            *(self._batch_warnings() if self.endpoint.mode == "batch" else []),
            *(self._queue_warnings() if self.endpoint.mode == "async" else []),
            *volume_warnings(
                self.endpoint.instance_types,
                volume_size_gb=self.endpoint.volume_size_gb,
                encrypted=self.encryption is not None,
            ),
        )

    def _queue_warnings(self) -> Iterator[str]:
        """Where the age of the oldest request sets off an alarm though all is well."""
        if self.alarms is None:
            return
        age = f"alarms.backlog_age_seconds = {self.alarms.backlog_age_seconds}"
        if self.alarms.backlog_age_seconds < self.async_.invocation_timeout_seconds:
            yield (
                f"{age}: a request may work for {self.async_.invocation_timeout_seconds} s "
                "(async.invocation_timeout_seconds), and may count as long as it does; give more"
            )
        if self.min_instance_count == 0 and self.alarms.backlog_age_seconds < self.start_seconds:
            yield (
                f"{age}: the first request of an empty endpoint waits for an instance, whose start usually "
                f"takes {self.start_seconds} s; give more"
            )

    def _batch_warnings(self) -> Iterator[str]:
        if self.encryption is not None or "log_retention_days" in self.model_fields_set:
            yield LOG_WARNING
        if self.accelerator == "cuda":
            yield GPU_DRIVER_WARNING

    @property
    def endpoint_name(self) -> str:
        """The endpoint's fixed name: models and images change behind it."""
        return f"semif-{self.name}"

    @property
    def artifacts_stack(self) -> str:
        """Name of the stack with the bucket, the repository and the builds."""
        return f"Semif-{self.name}-Artifacts"

    @property
    def endpoint_stack(self) -> str:
        """Name of the stack with the role, the model and the endpoint."""
        return f"Semif-{self.name}-Endpoint"


def environment_names() -> tuple[str, ...]:
    """Names of the project's environments, sorted."""
    return tuple(sorted(path.stem for path in environments_folder().glob("*.toml")))


def environments_folder() -> Path:
    """The folder of the environment files and of their locks."""
    return project_root() / "environments"


def load_environment(name: str) -> Environment:
    """The environment `environments/<name>.toml`.

    Raises SemifError if there is none of that name, ProblemsError with all problems of its file.
    """
    known = environment_names()
    if name not in known:
        raise SemifError(f"there is no environment {shown(name)}, known are {', '.join(known) or 'none'}")
    return read_environment(environments_folder() / f"{name}.toml")


def read_environment(path: Path) -> Environment:
    """The environment of one file, named after it. Raises ProblemsError with all problems of the file."""
    return read_toml(path, Environment, {"name": path.stem})


def _as_errors(problems: Iterable[str]) -> list[InitErrorDetails]:
    return [
        {"type": "value_error", "loc": (), "input": None, "ctx": {"error": ValueError(problem)}}
        for problem in problems
    ]
