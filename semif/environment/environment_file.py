"""`environments/*.toml` as one typed value, and what follows from it alone: in every kind and every mode."""

from typing import Annotated, Literal

from pydantic import Field

from semif.environment.memory_need import scaled_download_seconds, scaled_startup_seconds
from semif.environment.tables.account import BudgetTable, ExistingTable
from semif.environment.tables.builds import BuildsTable
from semif.environment.tables.decider import DeciderTable
from semif.environment.tables.endpoint import (
    AlarmsTable,
    AsyncTable,
    DataCaptureTable,
    DeploymentTable,
    EncryptionTable,
    EndpointTable,
    FileTable,
    ModelTable,
    NetworkTable,
    ScalingTable,
)
from semif.environment.tables.names import KindName
from semif.environment.tables.registry import RegistryTable
from semif.environment.tables.values import (
    Acceptance,
    AccountId,
    BootstrapQualifier,
    EnvironmentName,
    FindingId,
    PolicyArn,
    Region,
    RetentionDays,
    TagKey,
    TagValue,
)
from semif.models.any_preset import load_any_preset
from semif.models.presets import AnyPreset
from semif.sagemaker.instances import Accelerator, accelerator_of
from semif.sagemaker.llama_server_variables import VariableValue
from semif.sagemaker.placement import longest_start_seconds
from semif_adapter.contract.settings import Settings

ENVIRONMENT_TAG = "semif:environment"
"""The tag whose value is the environment's name, on all that is made for it."""


class EnvironmentFile(FileTable):
    """The keys and tables of a file. `Environment` checks them together, and adds what kind and mode say."""

    name: EnvironmentName
    """The file's name without its ending."""
    kind: KindName
    """decision: our adapter answers with probabilities; text: the published container with completions;
    decider: the published container for Strands Decider with probabilities."""
    account: AccountId | None = None
    """The only account to deploy to; unset: the credentials decide."""
    region: Region | None = None
    """The only region to deploy to; unset: the credentials' configuration decides."""
    removal: Literal["destroy", "retain"]
    """What `semif destroy` leaves behind: nothing, or the bucket and the image repository."""
    permissions_boundary: PolicyArn | None = None
    """A managed policy that bounds every role of the deployment."""
    bootstrap_qualifier: BootstrapQualifier | None = None
    """Of the `cdk bootstrap` whose roles and bucket deploy it; unset: the CDK's default."""
    log_retention_days: RetentionDays = 90
    """How long the lines of the containers are kept."""
    tags: Annotated[dict[TagKey, TagValue], Field(default_factory=dict, max_length=40)]
    """Tags of both stacks and of all that they make, and of transform jobs."""
    accepted_findings: Annotated[dict[FindingId, Acceptance], Field(default_factory=dict, max_length=100)]
    """Critical findings of the image's scan that do not stop its lock, by id, each with who and why."""
    model: ModelTable
    endpoint: EndpointTable
    network: NetworkTable | None = None
    encryption: EncryptionTable | None = None
    builds: BuildsTable | None = None
    async_: Annotated[AsyncTable, Field(alias="async", default_factory=AsyncTable)]
    """The queue, the bucket and the topics of an asynchronous endpoint."""
    scaling: ScalingTable | None = None
    deployment: DeploymentTable | None = None
    alarms: AlarmsTable | None = None
    registry: RegistryTable | None = None
    data_capture: DataCaptureTable | None = None
    existing: Annotated[ExistingTable, Field(default_factory=ExistingTable)]
    """What the account has already, in place of what the stacks would make."""
    budget: BudgetTable | None = None
    adapter: Settings = Settings.from_env({})
    """Settings of our adapter; kind decision only."""
    text: Annotated[dict[str, VariableValue], Field(default_factory=dict)]
    """Flags of llama-server as variables of the published container, SM_LLAMA_CPP_...; kind text only."""
    decider: DeciderTable = DeciderTable()
    """How Strands Decider's server runs; kind decider only."""

    @property
    def accelerator(self) -> Accelerator:
        """What llama.cpp runs on, on the preferred instance type; only the end of a pool may have another."""
        return accelerator_of(self.endpoint.instance_types[0])

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
        """What the start of an instance usually takes: half of what download and start may take at most."""
        return (self.startup_timeout_seconds + self.model_download_timeout_seconds) // 2

    @property
    def longest_start_seconds(self) -> int:
        """What it may take at most until an instance serves, its placement included."""
        return longest_start_seconds(
            download_seconds=self.model_download_timeout_seconds,
            pool=self.endpoint.instance_pool is not None,
            provision_timeout_seconds=self.endpoint.provision_timeout_seconds,
            startup_seconds=self.startup_timeout_seconds,
        )

    @property
    def scale_out_cooldown_seconds(self) -> int:
        """The file's, or as long as an instance usually takes to start."""
        seconds = self.scaling.scale_out_cooldown_seconds if self.scaling else None
        return self.start_seconds if seconds is None else seconds

    @property
    def scale_in_cooldown_seconds(self) -> int:
        """The file's, or twice as long as an instance usually takes to start."""
        seconds = self.scaling.scale_in_cooldown_seconds if self.scaling else None
        return 2 * self.start_seconds if seconds is None else seconds

    @property
    def preset(self) -> AnyPreset | None:
        """What is built and served; None where the container downloads its model itself.

        Raises SemifError for an unknown preset.
        """
        return load_any_preset(self.model.preset) if self.model.preset is not None else None

    @property
    def model_bytes(self) -> int | None:
        """Size of the model's files, None where it is not known. Raises SemifError for an unknown preset."""
        preset = self.preset
        return preset.bytes if preset is not None else None

    @property
    def endpoint_name(self) -> str:
        """The endpoint's fixed name, the file's or one of ours: models and images change behind it."""
        return self.endpoint.endpoint_name or f"semif-{self.name}"

    @property
    def aws_tags(self) -> dict[str, str]:
        """Tags of all that is made for the environment: the file's, and its name."""
        return {**self.tags, ENVIRONMENT_TAG: self.name}

    @property
    def artifacts_stack(self) -> str:
        """Name of the stack with the bucket, the repository and the builds."""
        return f"Semif-{self.name}-Artifacts"

    @property
    def endpoint_stack(self) -> str:
        """Name of the stack with the role, the model and the endpoint."""
        return f"Semif-{self.name}-Endpoint"
