"""A SageMaker Model: an image, a model archive and variables, and the role that the container runs with."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from aws_cdk import Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from semif.errors import ProblemsError
from semif.images.image_ref import ImageRef
from semif_constructs.iam.image_access import PULL_ACTIONS, repository_arn
from semif_constructs.iam.nag_findings import acknowledge_wildcard
from semif_constructs.iam.network_interfaces import allow_network_interfaces
from semif_constructs.iam.role_policy import role_policy

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class ServedModel(Construct):
    """A Model without a name of its own, so that another image, archive or setting makes a new one beside it.

    Its container has no network: all it needs is in the image and the model data. In a VPC too: there
    SageMaker alone fetches the data through the subnets. A container that downloads its model itself gets
    a network instead of data. Who uses the Model gives its role the rest: `ModelEndpoint` and `BatchFiles`
    let it write their log.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        environment: Mapping[str, str],
        image: ImageRef | None = None,
        image_digest: str | None = None,
        model_bucket: s3.IBucket | None = None,
        model_key: str | None = None,
        network_isolation: bool = True,
        repository: ecr.IRepository | None = None,
        role: iam.IRole | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        subnets: Sequence[ec2.ISubnet] = (),
    ) -> None:
        """Make the Model, and its role where there is none.

        The container's image is `image`, or in `repository` the one of `image_digest` (`sha256:` and 64
        hexadecimal digits). `model_key` is the archive's key in `model_bucket`, or the prefix of the
        uncompressed files, which ends in a slash; the role may use the bucket's encryption key where that is
        known. Without bucket and key, `network_isolation` must be False: the container downloads its model.
        `environment` holds the container's variables. `role` can be assumed by SageMaker and is given what
        the Model needs. `subnets` (two or more, in different availability zones, with a way to S3) and
        `security_groups` place the network interfaces; without them SageMaker's own network is used.

        Raises ProblemsError with everything that is wrong with the arguments.
        """
        super().__init__(scope, construct_id)
        problems = [
            *_image_problems(self, image, image_digest, repository),
            *_data_problems(model_bucket, model_key, network_isolation=network_isolation),
        ]
        if bool(subnets) != bool(security_groups):
            named = "subnets" if subnets else "security_groups"
            problems.append(f"{named} alone place no network interface; give subnets and security_groups")
        if problems:
            raise ProblemsError(self.node.path, problems)
        if repository is not None and image_digest is not None:
            uri, image_arn = repository.repository_uri_for_digest(image_digest), repository.repository_arn
        else:
            uri, image_arn = str(image), cast(str, repository_arn(self, cast(ImageRef, image)))
        self.role = role or self._execution_role()
        policies = [self._access_to_image(image_arn)]
        data: dict[str, Any] = {}
        if model_bucket is not None and model_key is not None:
            policies.append(self._access_to_data(model_bucket, model_key))
            data = _model_data(model_bucket.bucket_name, model_key)
        if subnets:
            policies.append(self._access_to_network(subnets, security_groups))
        self.model = sagemaker.CfnModel(
            self,
            "Model",
            enable_network_isolation=network_isolation,
            execution_role_arn=self.role.role_arn,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                environment=dict(environment),
                image=uri,
                **data,
            ),
            vpc_config=_vpc_config(subnets, security_groups),
        )
        self.node.default_child = self.model
        # SageMaker checks the role's permissions when it creates the Model.
        self.model.node.add_dependency(self.role, *policies)

    @property
    def model_name(self) -> str:
        """The Model's name, as CloudFormation chose it."""
        return self.model.attr_model_name

    def _execution_role(self) -> iam.Role:
        account = Stack.of(self).account
        return iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "sagemaker.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": account}}
            ),
            description=f"runs the model {self.node.path}",
        )

    def _access_to_image(self, image_arn: str) -> iam.Policy:
        policy = role_policy(
            self,
            "Hosting",
            self.role,
            [
                iam.PolicyStatement(actions=list(PULL_ACTIONS), resources=[image_arn]),
                iam.PolicyStatement(actions=["ecr:GetAuthorizationToken"], resources=["*"]),
            ],
        )
        acknowledge_wildcard(
            policy, "*", "ecr:GetAuthorizationToken knows no resources, and a token opens no repository"
        )
        return policy

    def _access_to_data(self, bucket: s3.IBucket, key: str) -> iam.Policy:
        """A policy for this model's data alone, with an id of its own.

        A deployment of another model so adds its policy and takes this one away only at the very end: until
        then, and after a rollback, the instances of the old Model can still fetch theirs.
        """
        suffix = self._suffix(f"{bucket.bucket_name}/{key}")
        unpacked = key.endswith("/")
        objects = bucket.arn_for_objects(f"{key}*" if unpacked else key)
        statements = [iam.PolicyStatement(actions=["s3:GetObject"], resources=[objects])]
        if unpacked:
            statements.append(
                iam.PolicyStatement(
                    actions=["s3:ListBucket"],
                    conditions={"StringLike": {"s3:prefix": [f"{key}*"]}},
                    resources=[bucket.bucket_arn],
                )
            )
        if bucket.encryption_key is not None:
            statements.append(
                iam.PolicyStatement(actions=["kms:Decrypt"], resources=[bucket.encryption_key.key_arn])
            )
        policy = role_policy(self, f"Archive{suffix}", self.role, statements)
        if unpacked:
            acknowledge_wildcard(policy, objects, "the prefix holds the files of one model and nothing else")
        return policy

    def _access_to_network(
        self, subnets: Sequence[ec2.ISubnet], security_groups: Sequence[ec2.ISecurityGroup]
    ) -> iam.Policy:
        """What SageMaker needs to make network interfaces in these subnets and groups, and nowhere else.

        The actions are those of SageMaker's developer guide for an execution role with a VPC, which allows
        them on every interface. As with the model's data, a deployment into other subnets adds its policy:
        the interfaces in the old ones can be deleted until the old instances are gone.
        """
        places = [
            *(subnet.subnet_id for subnet in subnets),
            *(group.security_group_id for group in security_groups),
        ]
        policy = role_policy(self, f"Network{self._suffix(places)}", self.role)
        handing_on = ["ec2:CreateNetworkInterfacePermission", "ec2:DeleteNetworkInterfacePermission"]
        allow_network_interfaces(policy, subnets, security_groups, further_actions=handing_on)
        return policy

    def _suffix(self, value: Any) -> str:
        """Eight hexadecimal digits of `value` as CloudFormation sees it, for an id that changes with it."""
        # A token's own text carries a number that differs between syntheses.
        resolved = Stack.of(self).resolve(value)
        written = resolved if isinstance(resolved, str) else json.dumps(resolved, sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()[:8]


def _image_problems(
    scope: Construct,
    image: ImageRef | None,
    image_digest: str | None,
    repository: ecr.IRepository | None,
) -> Iterator[str]:
    if (repository is None) != (image_digest is None) or (image is None) == (repository is None):
        yield "the image is either image, or repository and image_digest; give one of the two"
    if image is not None and repository_arn(scope, image) is None:
        yield (
            f"image = {str(image)!r}: SageMaker pulls from private ECR registries only "
            "(ACCOUNT.dkr.ecr.REGION.amazonaws.com); copy it to one"
        )
    known = image_digest is not None and not Token.is_unresolved(image_digest)
    if image_digest is not None and known and not _DIGEST.fullmatch(image_digest):
        yield f"image_digest = {image_digest!r}: a digest is sha256: and 64 hexadecimal digits"


def _data_problems(
    model_bucket: s3.IBucket | None, model_key: str | None, *, network_isolation: bool
) -> Iterator[str]:
    if network_isolation is (model_bucket is None or model_key is None):
        yield (
            "a container has either model data (model_bucket and model_key) and no network, or a network "
            "(network_isolation=False) and no model data"
        )


def _model_data(bucket_name: str, key: str) -> dict[str, Any]:
    """An archive's address, or the prefix of files that SageMaker copies as they are."""
    address = f"s3://{bucket_name}/{key}"
    if not key.endswith("/"):
        return {"model_data_url": address}
    source = sagemaker.CfnModel.S3DataSourceProperty(
        compression_type="None", s3_data_type="S3Prefix", s3_uri=address
    )
    return {"model_data_source": sagemaker.CfnModel.ModelDataSourceProperty(s3_data_source=source)}


def _vpc_config(
    subnets: Sequence[ec2.ISubnet], security_groups: Sequence[ec2.ISecurityGroup]
) -> sagemaker.CfnModel.VpcConfigProperty | None:
    if not subnets:
        return None
    return sagemaker.CfnModel.VpcConfigProperty(
        security_group_ids=[group.security_group_id for group in security_groups],
        subnets=[subnet.subnet_id for subnet in subnets],
    )
