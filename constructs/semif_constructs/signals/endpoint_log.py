"""The log group that the containers of an endpoint write to."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from semif.sagemaker.log_groups import log_group


class EndpointLog(Construct):
    """The log group under the name that SageMaker uses.

    Where it is missing, SageMaker makes one with the first line: without a key, and kept for ever. It belongs
    into a stack that outlives the endpoint's: then the lines of a container that could not start are still
    there after the endpoint's stack has been rolled back.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        encryption_key: kms.IKey | None = None,
        endpoint_name: str,
        retention_days: int = 90,
    ) -> None:
        """Make the group for the endpoint `endpoint_name`.

        `encryption_key` encrypts it, whose policy must let CloudWatch Logs in. `retention_days` is one of the
        numbers that CloudWatch Logs offers. The group goes with its stack, whose next deployment could not
        make it if it were still there.
        """
        super().__init__(scope, construct_id)
        self.log_group = logs.CfnLogGroup(
            self,
            "Log",
            kms_key_id=encryption_key.key_arn if encryption_key is not None else None,
            log_group_name=log_group(endpoint_name),
            retention_in_days=retention_days,
        )
        self.log_group.apply_removal_policy(RemovalPolicy.DESTROY)
        self.node.default_child = self.log_group
