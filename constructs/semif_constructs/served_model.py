"""A SageMaker Model: an image, a model archive and variables, and the role that the container runs with."""

import hashlib
from collections.abc import Mapping

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from semif.errors import SemifError
from semif.pins import ImageRef
from semif_constructs.findings import acknowledge_wildcard
from semif_constructs.image_access import grant_pull, repository_arn


class ServedModel(Construct):
    """A Model without a name of its own, so that another image, archive or setting makes a new one beside it.

    Its container has no network: all it needs is in the image and the archive.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        environment: Mapping[str, str],
        image: ImageRef,
        model_bucket_name: str,
        model_key: str,
    ) -> None:
        """Make the Model and its role.

        `model_key` is the archive's key in the bucket. `endpoint_name` is the one endpoint that will use the
        Model: the role may write that endpoint's log. `environment` holds the container's variables. Raises
        SemifError if SageMaker could not pull `image`.
        """
        super().__init__(scope, construct_id)
        image_arn = repository_arn(self, image)
        if image_arn is None:
            raise SemifError(
                f"image = {str(image)!r}: SageMaker pulls from private ECR registries only "
                "(ACCOUNT.dkr.ecr.REGION.amazonaws.com); copy it to one"
            )
        self.role = self._execution_role(endpoint_name, image_arn)
        access = self._access_to_archive(model_bucket_name, model_key)
        self.model = sagemaker.CfnModel(
            self,
            "Model",
            enable_network_isolation=True,
            execution_role_arn=self.role.role_arn,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                environment=dict(environment),
                image=str(image),
                model_data_url=f"s3://{model_bucket_name}/{model_key}",
            ),
        )
        # SageMaker checks the role's permissions when it creates the Model.
        self.model.node.add_dependency(self.role, access)

    @property
    def model_name(self) -> str:
        """The Model's name, as CloudFormation chose it."""
        return self.model.attr_model_name

    def _execution_role(self, endpoint_name: str, image_arn: str) -> iam.Role:
        stack = Stack.of(self)
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "sagemaker.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": stack.account}}
            ),
            description=f"hosts the endpoint {endpoint_name}",
        )
        grant_pull(role, image_arn)
        iam.Grant.add_to_principal(grantee=role, actions=["ecr:GetAuthorizationToken"], resource_arns=["*"])
        # SageMaker makes the log group with the first line, and writes it with this role.
        group = (
            f"arn:{stack.partition}:logs:{stack.region}:{stack.account}"
            f":log-group:/aws/sagemaker/Endpoints/{endpoint_name}"
        )
        streams = f"{group}:log-stream:*"
        iam.Grant.add_to_principal(
            grantee=role,
            actions=[
                "logs:CreateLogGroup",
                "logs:CreateLogStream",
                "logs:DescribeLogStreams",
                "logs:PutLogEvents",
            ],
            resource_arns=[group, streams],
        )
        iam.Grant.add_to_principal(
            grantee=role,
            actions=["cloudwatch:PutMetricData"],
            resource_arns=["*"],
            conditions={
                "StringEquals": {"cloudwatch:namespace": ["AWS/SageMaker", "/aws/sagemaker/Endpoints"]}
            },
        )
        acknowledge_wildcard(
            self,
            "*",
            "ecr:GetAuthorizationToken and cloudwatch:PutMetricData know no resources; a token opens no "
            "repository, and the metrics are limited to SageMaker's namespaces",
        )
        acknowledge_wildcard(self, streams, "SageMaker names the log streams after its instances")
        return role

    def _access_to_archive(self, bucket_name: str, key: str) -> iam.Policy:
        """A policy for this archive alone, with an id of its own.

        A deployment of another archive so adds its policy and takes this one away only at the very end: until
        then, and after a rollback, the instances of the old Model can still fetch theirs.
        """
        digest = hashlib.sha256(f"{bucket_name}/{key}".encode()).hexdigest()
        return iam.Policy(
            self,
            f"Archive{digest[:8]}",
            roles=[self.role],
            statements=[
                iam.PolicyStatement(
                    actions=["s3:GetObject"],
                    resources=[f"arn:{Stack.of(self).partition}:s3:::{bucket_name}/{key}"],
                )
            ],
        )
