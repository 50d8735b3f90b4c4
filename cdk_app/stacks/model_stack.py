"""What the stacks that serve a model have in common: the Model with its role, placed in the network."""

from collections.abc import Sequence

from aws_cdk import CfnOutput
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk_app.stacks.environment_stack import EnvironmentStack
from semif.environment.environment import Environment
from semif.environment.tables.endpoint import NetworkTable
from semif.images.image_ref import ImageRef
from semif.lock.lock_file import TEMPLATE_METADATA, Lock
from semif.lock.locked_model import ArchivedModel, HubModel, UnpackedModel
from semif_adapter.contract.settings import Settings
from semif_constructs.hosting.served_model import ServedModel


class ModelStack(EnvironmentStack):
    """`Semif-NAME-Endpoint`. Image and model are plain values from the lock, nothing is imported.

    The stack belongs to the lock's account and region, where image and archive are, even where the
    environment leaves them open: the CDK then refuses credentials of another account. It carries the lock in
    its metadata.
    """

    def __init__(self, scope: Construct, *, description: str, environment: Environment, lock: Lock) -> None:
        """Make the Model of a lock that was checked against `environment`."""
        super().__init__(
            scope,
            environment.endpoint_stack,
            account=lock.account,
            description=description,
            environment=environment,
            region=lock.region,
        )
        self.template_options.metadata = {TEMPLATE_METADATA: lock.content()}
        # The same ids for both kinds: an environment that changes its kind keeps its endpoint.
        network = environment.network
        self._groups = self._security_groups(network)
        self._subnets = self.subnets(network.subnet_ids) if network is not None else []
        pinned = lock.model
        self._in_s3 = None if isinstance(pinned, HubModel) else pinned
        self._bucket = self._bucket_of(self._in_s3)
        preferred, *rest = environment.placements
        self.model = self._served(
            "Model", preferred, lock.image_uri, role=self._role(environment.existing.role_arn)
        )
        self.fallback_model: ServedModel | None = None
        """For the CPU types that end a pool of GPU types: the same archive, and the same role."""
        if rest and lock.fallback_image_uri is not None:
            self.fallback_model = self._served(
                "FallbackModel", rest[0], lock.fallback_image_uri, role=self.model.role
            )
        CfnOutput(self, "ModelName", value=self.model.model_name)

    def _served(
        self, construct_id: str, environment: Environment, image: str, *, role: iam.IRole | None = None
    ) -> ServedModel:
        """The lock's model in `image`, with the variables that the environment has on one accelerator."""
        return ServedModel(
            self,
            construct_id,
            environment=_variables(environment, self._in_s3),
            image=ImageRef.parse(image),
            model_bucket=self._bucket,
            model_key=self._in_s3.key if self._in_s3 is not None else None,
            network_isolation=environment.endpoint.network_isolation,
            role=role,
            security_groups=self._groups,
            subnets=self._subnets,
        )

    def _bucket_of(self, model: ArchivedModel | UnpackedModel | None) -> s3.IBucket | None:
        """The bucket that the lock names, encrypted with the environment's key."""
        if model is None:
            return None
        return self.existing_bucket("ModelBucket", model.bucket)

    def _role(self, arn: str | None) -> iam.IRole | None:
        """The role that is there already; None: the Model gets one of its own."""
        if arn is None:
            return None
        # The name of the policy that grants go to: without it the same in every stack that has this role.
        return iam.Role.from_role_arn(
            self, "ExistingRole", arn, default_policy_name=f"{self.stack_name}-Granted"
        )

    def _security_groups(self, network: NetworkTable | None) -> Sequence[ec2.ISecurityGroup]:
        """The groups by their ids, or one that lets nothing in, and HTTPS out to where the model is."""
        if network is None:
            return []
        return self.security_groups(network.security_group_ids or [self._own_security_group(network)])

    def _own_security_group(self, network: NetworkTable) -> str:
        """Out goes HTTPS: to S3, or anywhere for a container that downloads its model from a hub."""
        to_s3 = network.s3_prefix_list_id
        group = ec2.CfnSecurityGroup(
            self,
            "SecurityGroup",
            group_description="Semif endpoint: nothing in, HTTPS out",
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    cidr_ip="0.0.0.0/0" if to_s3 is None else None,
                    description="the model, from a hub" if to_s3 is None else "S3, for the model archive",
                    destination_prefix_list_id=to_s3,
                    from_port=443,
                    ip_protocol="tcp",
                    to_port=443,
                )
            ],
            vpc_id=network.vpc_id,
        )
        return group.attr_group_id


def _variables(environment: Environment, model: ArchivedModel | UnpackedModel | None) -> dict[str, str]:
    """The container's variables; our adapter starts with the manifest that the lock pins and no other."""
    variables = environment.container_variables
    if model is not None and environment.serving_kind.runs_adapter:
        variables |= Settings(manifest_sha256=model.manifest_sha256).to_env()
    return variables
