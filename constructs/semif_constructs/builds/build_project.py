"""A CodeBuild project that builds from a source zip in the model bucket, and what all such projects share."""

from collections.abc import Mapping
from typing import Literal

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from semif_constructs.builds.build_network import BuildNetwork
from semif_constructs.builds.model_bucket import SOURCES_PREFIX, ModelBucket
from semif_constructs.iam.nag_findings import acknowledge, acknowledge_wildcard

X86_BUILD_IMAGE = "aws/codebuild/amazonlinux-x86_64-standard:5.0"
ARM_BUILD_IMAGE = "aws/codebuild/amazonlinux-aarch64-standard:3.0"
"""AWS's managed Amazon Linux 2023 images, named with their version; both bring Python 3.11 and newer."""

PYTHON_INDEX = "PIP_INDEX_URL"
"""The variable that pip reads, as all of its options: another package index than PyPI."""

BuildComputeType = Literal["BUILD_GENERAL1_SMALL", "BUILD_GENERAL1_MEDIUM"]


class BuildProject(Construct):
    """A project with a role of its own that may write its log and read its source, and no more.

    Every build is started on an exact source (`semif build`): a zip under `sources/` whose key is its
    SHA-256, given as location override, with the buildspec inside. The project itself names a key that never
    exists, so a build that is started by hand without a source fails at once and says what is missing.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        arm: bool,
        bucket: ModelBucket,
        buildspec_file: str,
        compute_type: BuildComputeType,
        description: str,
        encryption_key: kms.IKey | None,
        environment: Mapping[str, str | None],
        network: BuildNetwork | None,
        privileged: bool,
        timeout_minutes: int,
    ) -> None:
        """Make the project.

        `environment` holds the variables that are the same for every build; None leaves one out, and a start
        adds its own. `network` is the VPC that builds run in, None: CodeBuild's own network.
        `buildspec_file` is a path inside the source zip. `arm` builds on Arm instead of x86 machines.
        `encryption_key` encrypts the log, whose service its policy must let in, and what CodeBuild may store.
        """
        super().__init__(scope, construct_id)
        self.log_group = logs.LogGroup(
            self,
            "Log",
            encryption_key=encryption_key,
            removal_policy=RemovalPolicy.DESTROY,
            retention=logs.RetentionDays.THREE_MONTHS,
        )
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "codebuild.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            ),
            description=f"what a build may do that {description}",
        )
        bucket.grant_read_sources(self.role)
        acknowledge_wildcard(
            self,
            bucket.sources_arn,
            "every build has a source of its own; its key, a hash, is not known before",
        )
        iam.Grant.add_to_principal(
            grantee=self.role,
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resource_arns=[self.log_group.log_group_arn],
        )
        self.project = codebuild.CfnProject(
            self,
            "Project",
            artifacts=codebuild.CfnProject.ArtifactsProperty(type="NO_ARTIFACTS"),
            description=description,
            encryption_key=encryption_key.key_arn if encryption_key is not None else None,
            environment=codebuild.CfnProject.EnvironmentProperty(
                compute_type=compute_type,
                environment_variables=[
                    codebuild.CfnProject.EnvironmentVariableProperty(name=name, type="PLAINTEXT", value=value)
                    for name, value in sorted(environment.items())
                    if value is not None
                ],
                image=ARM_BUILD_IMAGE if arm else X86_BUILD_IMAGE,
                image_pull_credentials_type="CODEBUILD",
                privileged_mode=privileged,
                type="ARM_CONTAINER" if arm else "LINUX_CONTAINER",
            ),
            logs_config=codebuild.CfnProject.LogsConfigProperty(
                cloud_watch_logs=codebuild.CfnProject.CloudWatchLogsConfigProperty(
                    group_name=self.log_group.log_group_name, status="ENABLED"
                )
            ),
            queued_timeout_in_minutes=60,
            service_role=self.role.role_arn,
            source=codebuild.CfnProject.SourceProperty(
                build_spec=buildspec_file,
                location=f"{bucket.bucket.bucket_name}/{SOURCES_PREFIX}start-with-semif-build.zip",
                type="S3",
            ),
            timeout_in_minutes=timeout_minutes,
            vpc_config=network.config if network is not None else None,
        )
        self.project.node.add_dependency(self.role)
        if network is not None:
            self.project.node.add_dependency(network.policy(self, self.role))
        self.node.default_child = self.project
        acknowledge(
            self.project,
            "AwsSolutions-CB4",
            "the project makes no artifacts that CodeBuild would encrypt; what a build stores is encrypted "
            "by the bucket or the repository",
        )

    @property
    def project_name(self) -> str:
        """The project's name, as CloudFormation chose it."""
        return self.project.ref
