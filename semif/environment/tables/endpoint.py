"""The base of all tables, and those of what answers; what holds across them is in problems.py."""

from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from semif.environment.tables.names import ModeName
from semif.environment.tables.values import (
    MAX_COUNT,
    CooldownSeconds,
    EachOnce,
    EndpointName,
    FlagName,
    HubFilePath,
    HubRepository,
    HubRevision,
    InstanceCount,
    KeyArn,
    Percent,
    PrefixListId,
    Schedule,
    SecurityGroupId,
    SubnetId,
    TimeoutSeconds,
    TimeZone,
    TopicArn,
    VpcId,
)
from semif.models.presets import ModelFormat
from semif.sagemaker.placement import MAX_VOLUME_GB
from semif.sagemaker.update_strategies import ALARM_SECONDS, MAX_WAIT_SECONDS, Strategy
from semif_adapter.contract.described import DescribedModel


class FileTable(DescribedModel, BaseModel):  # the latter by name, for ruff
    """Base of every table of the file: immutable, nothing coerced, nothing unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ModelTable(FileTable):
    """`[model]`: what is served, a preset of models/ or a file of a Hugging Face repository."""

    preset: Annotated[str, StringConstraints(min_length=1)] | None = None
    """A file of models/, without its ending."""
    format: ModelFormat = "tar.gz"
    """How a preset's model is published: as an archive, or as files that need no unpacking at start."""
    hf_repo: HubRepository | None = None
    """Of kind text: a Hugging Face repository, OWNER/NAME, that the container downloads from at start."""
    hf_file: HubFilePath | None = None
    """The GGUF in it."""
    revision: HubRevision | None = None
    """The commit in it."""


class EndpointTable(FileTable):
    """`[endpoint]`: where it runs. Exactly one of instance_type and instance_pool."""

    mode: ModeName = "realtime"
    """realtime: callers wait for answers; async: a queue, answers in S3; batch: jobs over files alone."""
    instance_type: str | None = None
    """The instance type, such as ml.c6i.8xlarge."""
    instance_pool: list[str] | None = None
    """One to five instance types in order of preference, CPUs behind GPUs: a fallback, not load balancing."""
    provision_timeout_seconds: int | None = None
    """Time to find capacity in all types of a pool together, 300 to 3600; unset: SageMaker's default."""
    initial_instance_count: InstanceCount = 1
    """How many instances: of each job in mode batch, else all the time unless there is [scaling]."""
    startup_timeout_seconds: TimeoutSeconds | None = None
    """From the container's start to its first healthy /ping; unset: scaled from the model's size."""
    model_download_timeout_seconds: TimeoutSeconds | None = None
    """For fetching and unpacking the model before that; unset: scaled from the model's size."""
    network_isolation: bool = True
    """Whether the container has no network at all; false for a model from Hugging Face, and only there."""
    volume_size_gb: Annotated[int, Field(ge=1, le=MAX_VOLUME_GB)] | None = None
    """Size of each instance's volume; left out where a type has its own disks, which take its place."""
    inference_ami_version: str | None = None
    """The host image, whose NVIDIA driver must fit the container's CUDA; for GPU types, and only for them."""
    unlisted_flags: Annotated[list[FlagName], Field(max_length=20), *EachOnce] = []
    """Flags of llama-server that [text] may set beyond those that are listed: of a newer container."""
    endpoint_name: EndpointName | None = None
    """The endpoint's name, once in its account and region; unset: semif- and the environment's name."""
    expires_after_hours: Annotated[int, Field(ge=1, le=8760)] | None = None
    """Hours after each deployment at which the endpoint is deleted; unset: it stays."""

    @property
    def instance_types(self) -> tuple[str, ...]:
        """Every instance type that may be used, the preferred one first."""
        return tuple(self.instance_pool) if self.instance_pool else (cast(str, self.instance_type),)


class NetworkTable(FileTable):
    """`[network]`: an existing VPC for the endpoint's network interfaces. Nothing is looked up."""

    vpc_id: VpcId
    """The VPC; a security group of the stack's own is made there where none is named."""
    subnet_ids: Annotated[list[SubnetId], Field(min_length=2, max_length=16), *EachOnce]
    """Two or more, in different availability zones, with a way to S3."""
    security_group_ids: Annotated[list[SecurityGroupId], Field(max_length=5), *EachOnce] = []
    """Up to five; none: one that lets nothing in, and HTTPS out to S3."""
    s3_prefix_list_id: PrefixListId | None = None
    """The region's prefix list of S3, to which the stack's own security group lets HTTPS out."""


class EncryptionTable(FileTable):
    """`[encryption]`: a customer's key in place of the keys that AWS manages."""

    kms_key_arn: KeyArn
    """For buckets, image repository, builds, logs, topics and the instances' volumes."""


class AsyncTable(FileTable):
    """`[async]`: of endpoints with mode = "async". Everything has a default."""

    invocation_timeout_seconds: Annotated[int, Field(ge=60, le=3600)] = 900
    """Longest work on one request in a container; the adapter's deadline is 5 seconds less."""
    concurrent_invocations_per_instance: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Most requests that are sent to one container at once; unset: as many as it works on together."""
    expiry_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """When requests and answers are deleted from the bucket, in days."""
    success_topic_arn: TopicArn | None = None
    """An existing topic of the same region that is told of each answer; unset: the stack makes one."""
    error_topic_arn: TopicArn | None = None
    """An existing topic of the same region that is told of each failure; unset: the stack makes one."""


class DataCaptureTable(FileTable):
    """`[data_capture]`: a share of the requests and their answers, kept in a bucket: callers' texts."""

    sampling_percent: Annotated[int, Field(ge=1, le=100)]
    """How many of a hundred requests are captured, chosen at random by SageMaker."""
    expiry_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """When what was captured is deleted from the bucket, in days."""


class ScalingTable(FileTable):
    """`[scaling]`: between how many instances, and by what. Without it their number stays as it is."""

    min_instance_count: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 1
    """The fewest instances; 0 on asynchronous endpoints alone."""
    max_instance_count: Annotated[int, Field(ge=1, le=MAX_COUNT)]
    """The most instances, which bounds the cost."""
    concurrent_requests_per_instance: Annotated[float, Field(gt=0, le=1024)] = 4.0
    """What is kept up to on realtime endpoints: requests at work or waiting in one container."""
    backlog_per_instance: Annotated[float, Field(gt=0, le=1_000_000)] = 16.0
    """What is kept up to on asynchronous endpoints: requests at work or in the queue, for each instance."""
    scale_out_cooldown_seconds: CooldownSeconds | None = None
    """Time for added instances to start before more are added; unset: half of both start-up timeouts."""
    scale_in_cooldown_seconds: CooldownSeconds | None = None
    """Time between taking instances away; unset: both start-up timeouts, so long it takes to get one back."""
    schedule: Annotated[dict[Schedule, int], Field(default_factory=dict, max_length=20)]
    """The fewest instances from a time on: `"cron(0 7 ? * MON-FRI *)" = 4`, and later fewer again."""
    schedule_timezone: TimeZone = "UTC"
    """The time zone of the schedule."""


class DeploymentTable(FileTable):
    """`[deployment]`: how the endpoint moves to another model or placement, and back on an alarm."""

    strategy: Strategy
    """all-at-once, canary (one step, then the rest), linear (equal steps), rolling (no second fleet)."""
    wait_seconds: Annotated[
        int, Field(json_schema_extra={"minimum": ALARM_SECONDS, "maximum": MAX_WAIT_SECONDS})
    ] = 600
    """How long the alarms are watched after each step, 300 to 3600."""


class AlarmsTable(FileTable):
    """`[alarms]`: when somebody is told, through an SNS topic. Without it nobody is."""

    topic_arn: TopicArn | None = None
    """An existing topic of the same region; unset: the stack makes one."""
    error_percent: Percent = 1.0
    """Share of requests that ended in a fault, of the container or of the platform."""
    refusal_percent: Percent = 5.0
    """Share of requests that were refused for lack of room or time; kind decision only."""
    model_p95_seconds: Annotated[float, Field(gt=0, le=60)] = 10.0
    """95th percentile of the container's time, waiting included; realtime endpoints only."""
    overhead_seconds: Annotated[float, Field(gt=0, le=60)] = 0.5
    """Mean of the time that SageMaker adds; realtime endpoints only."""
    min_allowed_token_mass: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Least mean probability on the answer letters; kind decision with letters only."""
    backlog_age_seconds: Annotated[int, Field(ge=60, le=86_400)] = 900
    """Age of the oldest waiting request; asynchronous endpoints only."""


def hub_file_url(repository: str, file: str, revision: str) -> str:
    """The address of one file at one commit: the same bytes for ever, or none."""
    return f"https://huggingface.co/{repository}/resolve/{revision}/{file}"
