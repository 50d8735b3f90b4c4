"""The endpoint: where a Model is hosted, under a name that stays."""

from collections.abc import Iterator, Sequence

from aws_cdk import Annotations, Names
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from semif.errors import ProblemsError
from semif.sagemaker.log_groups import ENDPOINT_LOGS, log_group
from semif.sagemaker.placement import (
    fallback_problems,
    fallback_types,
    placement_problems,
    takes_volume,
    volume_problems,
    volume_warnings,
)
from semif_constructs.hosting.async_inference import AsyncInference
from semif_constructs.hosting.data_capture import DataCapture
from semif_constructs.hosting.endpoint_base import EndpointBase, ImportedEndpoint
from semif_constructs.hosting.served_model import ServedModel
from semif_constructs.iam.container_log import allow_container_log
from semif_constructs.iam.role_policy import role_policy
from semif_constructs.iam.volume_key import volume_key_statement
from semif_constructs.signals.endpoint_metrics import VARIANT_NAME

MAX_ENDPOINT_NAME = 63
"""SageMaker's API reference, EndpointName of CreateEndpoint (read 2026-11-30)."""


class ModelEndpoint(EndpointBase):
    """An endpoint with one production variant, on one instance type or on an ordered pool of up to five.

    The endpoint keeps its name; its configuration has none, because SageMaker cannot change one: another
    Model or another placement makes a new configuration, to which the endpoint moves before the old one goes.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        async_inference: AsyncInference | None = None,
        container_startup_health_check_timeout_seconds: int,
        creates_log_group: bool = True,
        data_capture: DataCapture | None = None,
        deployment_config: sagemaker.CfnEndpoint.DeploymentConfigProperty | None = None,
        encryption_key: kms.IKey | None = None,
        endpoint_name: str | None = None,
        fallback_model: ServedModel | None = None,
        inference_ami_version: str | None = None,
        initial_instance_count: int = 1,
        instance_pool: Sequence[str] | None = None,
        instance_type: str | None = None,
        model: ServedModel,
        model_data_download_timeout_seconds: int,
        provision_timeout_seconds: int | None = None,
        retain_instance_count: bool = False,
        volume_size_gb: int | None = None,
    ) -> None:
        """Host `model`, under `endpoint_name` or one that is made of the construct's path and stays.

        The model's role may write the endpoint's log; where an `EndpointLog` holds its group, say False to
        `creates_log_group`, and the role cannot make one. With `async_inference` the endpoint is
        asynchronous: it answers by a queue alone, and the model's role gets what that needs. `data_capture`,
        of a realtime endpoint alone, keeps a share of the requests and their answers.

        Exactly one of `instance_type` and `instance_pool` (in order of preference). A pool of GPU types may
        end in CPU types, which run `fallback_model`: the same archive in an image without CUDA, under the
        role of `model`. Both timeouts of the start take 60 to 3600 seconds, `provision_timeout_seconds` of a
        pool 300 to 3600.
        `inference_ami_version` is for GPU instances, and theirs must fit the image's CUDA. `volume_size_gb`
        (1 to 512) is each instance's volume. `encryption_key` encrypts the volumes. Instance types with disks
        of their own take neither size nor key: with one of them the volume gets none, and a warning says so.

        `deployment_config` (update_policy.py) says how the endpoint moves to another configuration; without
        it, all at once as soon as the new instances are healthy. `retain_instance_count` keeps the number of
        instances that scaling has come to, in place of `initial_instance_count`.

        Raises ProblemsError with everything that is wrong with the arguments.
        """
        super().__init__(scope, construct_id)
        problems = [
            *placement_problems(
                instance_type=instance_type,
                instance_pool=instance_pool,
                provision_timeout_seconds=provision_timeout_seconds,
                inference_ami_version=inference_ami_version,
            ),
            *_bound_problems(
                container_startup_health_check_timeout_seconds=container_startup_health_check_timeout_seconds,
                model_data_download_timeout_seconds=model_data_download_timeout_seconds,
            ),
            *volume_problems(volume_size_gb),
        ]
        if initial_instance_count < 1:
            problems.append(f"initial_instance_count = {initial_instance_count}: a variant keeps at least 1")
        types = tuple(instance_pool or filter(None, [instance_type]))
        if not problems:
            problems.extend(fallback_problems(types, has_model=fallback_model is not None))
        if fallback_model is not None and fallback_model.role is not model.role:
            problems.append("fallback_model has a role of its own; give it role=model.role, which may serve")
        if async_inference is not None and data_capture is not None:
            problems.append("data_capture is for realtime endpoints; leave it or async_inference out")
        if problems:
            raise ProblemsError(self.node.path, problems)
        self._set_name(
            endpoint_name or Names.unique_resource_name(self, max_length=MAX_ENDPOINT_NAME, separator="-"),
            asynchronous=async_inference is not None,
        )
        self.initial_instance_count = initial_instance_count
        self.instance_types = types
        encrypted = encryption_key is not None
        for warning in volume_warnings(types, volume_size_gb=volume_size_gb, encrypted=encrypted):
            Annotations.of(self).add_warning_v2("semif:instancesWithDisks", warning)
        with_volume = takes_volume(types)
        volume_key = encryption_key if with_volume else None
        self.config = sagemaker.CfnEndpointConfig(
            self,
            "Config",
            async_inference_config=async_inference.config if async_inference is not None else None,
            data_capture_config=data_capture.config if data_capture is not None else None,
            kms_key_id=volume_key.key_arn if volume_key is not None else None,
            production_variants=[
                sagemaker.CfnEndpointConfig.ProductionVariantProperty(
                    container_startup_health_check_timeout_in_seconds=container_startup_health_check_timeout_seconds,
                    inference_ami_version=inference_ami_version,
                    initial_instance_count=initial_instance_count,
                    initial_variant_weight=1,
                    instance_pools=_pools(instance_pool, fallback_model),
                    instance_type=instance_type,
                    model_data_download_timeout_in_seconds=model_data_download_timeout_seconds,
                    model_name=model.model_name,
                    routing_config=None if self.asynchronous else _least_busy(),
                    variant_instance_provision_timeout_in_seconds=provision_timeout_seconds,
                    variant_name=VARIANT_NAME,
                    volume_size_in_gb=volume_size_gb if with_volume else None,
                )
            ],
        )
        self.config.node.add_dependency(
            self._serving_policy(model.role, volume_key, creates_log_group=creates_log_group)
        )
        if async_inference is not None:
            self.config.node.add_dependency(async_inference.grant_serve(model.role))
        if data_capture is not None:
            self.config.node.add_dependency(data_capture.grant_capture(model.role))
        self.endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            deployment_config=deployment_config,
            endpoint_config_name=self.config.attr_endpoint_config_name,
            endpoint_name=self.endpoint_name,
            retain_all_variant_properties=retain_instance_count or None,
        )
        self.node.default_child = self.endpoint

    @staticmethod
    def from_endpoint_name(
        scope: Construct, construct_id: str, endpoint_name: str, *, asynchronous: bool = False
    ) -> EndpointBase:
        """An endpoint that is there already, in the account and region of `scope`'s stack.

        `asynchronous` says that it answers by a queue.
        """
        return ImportedEndpoint(scope, construct_id, asynchronous=asynchronous, endpoint_name=endpoint_name)

    def _serving_policy(
        self, role: iam.IRole, volume_key: kms.IKey | None, *, creates_log_group: bool
    ) -> iam.Policy:
        """What the Model's role needs for this endpoint: its log, and the key of its volumes."""
        statements = [] if volume_key is None else [volume_key_statement(volume_key)]
        policy = role_policy(self, "Serving", role, statements)
        allow_container_log(
            policy,
            creates_log_group=creates_log_group,
            log_group=log_group(self.endpoint_name),
            namespace=ENDPOINT_LOGS,
        )
        return policy


def _least_busy() -> sagemaker.CfnEndpointConfig.RoutingConfigProperty:
    """For realtime endpoints; from a queue an instance takes what it has room for."""
    return sagemaker.CfnEndpointConfig.RoutingConfigProperty(routing_strategy="LEAST_OUTSTANDING_REQUESTS")


def _pools(
    instance_pool: Sequence[str] | None, fallback_model: ServedModel | None
) -> list[sagemaker.CfnEndpointConfig.InstancePoolProperty] | None:
    """The pools with priorities 1, 2, … in their order; the CPU types behind GPU types with their Model."""
    if instance_pool is None:
        return None
    on_cpu = fallback_types(instance_pool)
    override = fallback_model.model_name if fallback_model is not None else None
    return [
        sagemaker.CfnEndpointConfig.InstancePoolProperty(
            instance_type=instance_type,
            model_name_override=override if instance_type in on_cpu else None,
            priority=priority,
        )
        for priority, instance_type in enumerate(instance_pool, start=1)
    ]


def _bound_problems(**timeouts: int) -> Iterator[str]:
    for name, seconds in timeouts.items():
        if not 60 <= seconds <= 3600:
            yield f"{name} = {seconds}: allowed are 60 to 3600"
