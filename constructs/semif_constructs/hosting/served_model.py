"""A SageMaker Model: an image, a model archive and variables, and the role that the container runs with."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from semif.errors import SemifError
from semif.images.image_ref import ImageRef
from semif.sagemaker.log_groups import ENDPOINT_LOGS, TRANSFORM_LOG_GROUP, log_group
from semif_constructs.iam.image_access import PULL_ACTIONS, repository_arn
from semif_constructs.iam.nag_findings import acknowledge_wildcard


class ServedModel(Construct):
    """A Model without a name of its own, so that another image, archive or setting makes a new one beside it.

    Its container has no network: all it needs is in the image and the model data. In a VPC too: there
    SageMaker alone fetches the data through the subnets. A container that downloads its model itself gets
    a network instead of data.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        encryption_key: kms.IKey | None = None,
        endpoint_name: str,
        environment: Mapping[str, str],
        image: ImageRef,
        model_bucket_name: str | None = None,
        model_key: str | None = None,
        network_isolation: bool = True,
        role: iam.IRole | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        subnets: Sequence[ec2.ISubnet] = (),
        transform_jobs: bool = False,
    ) -> None:
        """Make the Model, and its role where there is none.

        `model_key` is the archive's key in the bucket, or the prefix of the uncompressed files, which ends in
        a slash; `encryption_key` is what the bucket encrypts them with. Without bucket and key,
        `network_isolation` must be False: the container downloads its model.
        `endpoint_name` is the one endpoint that will use the Model: the role may write that endpoint's log.
        With `transform_jobs` it may write theirs instead, which all of an account share.
        `environment` holds the container's variables. `role` can be assumed by SageMaker and is given what
        the Model needs. `subnets` (two or more, in different availability zones, with a way to S3) and
        `security_groups` place the network interfaces; without them SageMaker's own network is used.

        Raises SemifError if SageMaker could not pull `image`, or only one of the two places is given.
        """
        super().__init__(scope, construct_id)
        image_arn = repository_arn(self, image)
        if image_arn is None:
            raise SemifError(
                f"image = {str(image)!r}: SageMaker pulls from private ECR registries only "
                "(ACCOUNT.dkr.ecr.REGION.amazonaws.com); copy it to one"
            )
        if bool(subnets) != bool(security_groups):
            named = "subnets" if subnets else "security_groups"
            raise SemifError(f"{named} alone place no network interface; give subnets and security_groups")
        self.role = role or self._execution_role(endpoint_name)
        if network_isolation is (model_bucket_name is None or model_key is None):
            raise SemifError(
                "a container has either model data (model_bucket_name and model_key) and no network, or a "
                "network (network_isolation=False) and no model data"
            )
        if transform_jobs:
            policies = [self._access_to_image_and_log(TRANSFORM_LOG_GROUP, TRANSFORM_LOG_GROUP, image_arn)]
        else:
            policies = [self._access_to_image_and_log(log_group(endpoint_name), ENDPOINT_LOGS, image_arn)]
        data: dict[str, Any] = {}
        if model_bucket_name is not None and model_key is not None:
            policies.append(self._access_to_data(model_bucket_name, model_key, encryption_key))
            data = _model_data(model_bucket_name, model_key)
        if subnets:
            policies.append(self._access_to_network(subnets, security_groups))
        self.model = sagemaker.CfnModel(
            self,
            "Model",
            enable_network_isolation=network_isolation,
            execution_role_arn=self.role.role_arn,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                environment=dict(environment),
                image=str(image),
                **data,
            ),
            vpc_config=_vpc_config(subnets, security_groups),
        )
        # SageMaker checks the role's permissions when it creates the Model.
        self.model.node.add_dependency(self.role, *policies)

    @property
    def model_name(self) -> str:
        """The Model's name, as CloudFormation chose it."""
        return self.model.attr_model_name

    def _execution_role(self, endpoint_name: str) -> iam.Role:
        account = Stack.of(self).account
        return iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "sagemaker.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": account}}
            ),
            description=f"runs the model of {endpoint_name}",
        )

    def _access_to_image_and_log(self, log: str, namespace: str, image_arn: str) -> iam.Policy:
        stack = Stack.of(self)
        # SageMaker writes the log with this role, and makes its group where there is none.
        group = f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:log-group:{log}"
        streams = f"{group}:log-stream:*"
        policy = iam.Policy(
            self,
            "Hosting",
            roles=[self.role],
            statements=[
                iam.PolicyStatement(actions=list(PULL_ACTIONS), resources=[image_arn]),
                iam.PolicyStatement(actions=["ecr:GetAuthorizationToken"], resources=["*"]),
                iam.PolicyStatement(
                    actions=[
                        "logs:CreateLogGroup",
                        "logs:CreateLogStream",
                        "logs:DescribeLogStreams",
                        "logs:PutLogEvents",
                    ],
                    resources=[group, streams],
                ),
                iam.PolicyStatement(
                    actions=["cloudwatch:PutMetricData"],
                    resources=["*"],
                    conditions={"StringEquals": {"cloudwatch:namespace": ["AWS/SageMaker", namespace]}},
                ),
            ],
        )
        acknowledge_wildcard(
            policy,
            "*",
            "ecr:GetAuthorizationToken and cloudwatch:PutMetricData know no resources; a token opens no "
            "repository, and the metrics are limited to SageMaker's namespaces",
        )
        acknowledge_wildcard(policy, streams, "SageMaker names the log streams after its instances")
        return policy

    def _access_to_data(self, bucket_name: str, key: str, encryption_key: kms.IKey | None) -> iam.Policy:
        """A policy for this model's data alone, with an id of its own.

        A deployment of another model so adds its policy and takes this one away only at the very end: until
        then, and after a rollback, the instances of the old Model can still fetch theirs.
        """
        # Of what CloudFormation sees: a token's own text carries a number that differs between syntheses.
        place = Stack.of(self).resolve(f"{bucket_name}/{key}")
        written = place if isinstance(place, str) else json.dumps(place, sort_keys=True)
        digest = hashlib.sha256(written.encode()).hexdigest()
        bucket = f"arn:{Stack.of(self).partition}:s3:::{bucket_name}"
        objects = f"{bucket}/{key}*" if key.endswith("/") else f"{bucket}/{key}"
        statements = [iam.PolicyStatement(actions=["s3:GetObject"], resources=[objects])]
        if key.endswith("/"):
            statements.append(
                iam.PolicyStatement(
                    actions=["s3:ListBucket"],
                    conditions={"StringLike": {"s3:prefix": [f"{key}*"]}},
                    resources=[bucket],
                )
            )
        if encryption_key is not None:
            statements.append(
                iam.PolicyStatement(actions=["kms:Decrypt"], resources=[encryption_key.key_arn])
            )
        policy = iam.Policy(self, f"Archive{digest[:8]}", roles=[self.role], statements=statements)
        if key.endswith("/"):
            acknowledge_wildcard(policy, objects, "the prefix holds the files of one model and nothing else")
        return policy

    def _access_to_network(
        self, subnets: Sequence[ec2.ISubnet], security_groups: Sequence[ec2.ISecurityGroup]
    ) -> iam.Policy:
        """What SageMaker needs to make network interfaces in these subnets and groups, and nowhere else.

        The actions are those of SageMaker's developer guide for an execution role with a VPC.
        """
        stack = Stack.of(self)

        def arn(resource: str, name: str) -> str:
            return f"arn:{stack.partition}:ec2:{stack.region}:{stack.account}:{resource}/{name}"

        interfaces = arn("network-interface", "*")
        policy = iam.Policy(
            self,
            "Network",
            roles=[self.role],
            statements=[
                iam.PolicyStatement(
                    actions=["ec2:CreateNetworkInterface"],
                    resources=[
                        interfaces,
                        *(arn("subnet", subnet.subnet_id) for subnet in subnets),
                        *(arn("security-group", group.security_group_id) for group in security_groups),
                    ],
                ),
                iam.PolicyStatement(
                    actions=[
                        "ec2:CreateNetworkInterfacePermission",
                        "ec2:DeleteNetworkInterface",
                        "ec2:DeleteNetworkInterfacePermission",
                    ],
                    resources=[interfaces],
                ),
                iam.PolicyStatement(
                    actions=[
                        "ec2:DescribeDhcpOptions",
                        "ec2:DescribeNetworkInterfaces",
                        "ec2:DescribeSecurityGroups",
                        "ec2:DescribeSubnets",
                        "ec2:DescribeVpcs",
                    ],
                    resources=["*"],
                ),
            ],
        )
        acknowledge_wildcard(policy, interfaces, "the interfaces' ids are not known before they are made")
        acknowledge_wildcard(policy, "*", "EC2's Describe actions know no resources")
        return policy


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
