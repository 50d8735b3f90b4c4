"""The end of a throw-away endpoint: a schedule that deletes it once."""

import json

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from semif_constructs.hosting.endpoint_base import EndpointBase
from semif_constructs.iam.nag_findings import acknowledge_wildcard

_RETRY_SECONDS = 24 * 3600
"""The longest that EventBridge Scheduler retries: SageMaker deletes no endpoint that is being changed."""


class EndpointExpiry(Construct):
    """Deletes one endpoint at a time that the stack is told, and nothing else.

    What belongs to the endpoint stays, and bills nothing but alarms and storage. CloudFormation does not hear
    of it: its stack still has an endpoint, and must be deleted before the next one is made. The schedule
    stays too, done, until its stack goes: CloudFormation's type has no ActionAfterCompletion (as of
    aws-cdk-lib 2.275), and could not update one that is gone.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, at: str, endpoint: EndpointBase, scaled: bool = False
    ) -> None:
        """Delete `endpoint` `at` a time in UTC, `yyyy-mm-ddThh:mm:ss`, which may be a parameter's value.

        `scaled` says that Application Auto Scaling has it registered: SageMaker then deregisters it with the
        rights of who deletes it ("does not have application-autoscaling:DeregisterScalableTarget permission
        to deregister the scalable target", as people were told who lacked them; read 2026-11-30, not seen).
        """
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": stack.account}}
            ),
            description=f"deletes the endpoint {endpoint.endpoint_name} at its end",
        )
        iam.Grant.add_to_principal(
            grantee=self.role,
            actions=["sagemaker:DeleteEndpoint"],
            resource_arns=[endpoint.endpoint_arn],
        )
        if scaled:
            targets = stack.format_arn(
                service="application-autoscaling",
                resource="scalable-target",
                resource_name="*",
                arn_format=ArnFormat.SLASH_RESOURCE_NAME,
            )
            iam.Grant.add_to_principal(
                grantee=self.role,
                actions=["application-autoscaling:DeregisterScalableTarget"],
                conditions={"StringEquals": {"application-autoscaling:service-namespace": "sagemaker"}},
                resource_arns=[targets],
            )
            acknowledge_wildcard(
                self.role, targets, "Application Auto Scaling makes up the ids; SageMaker's targets alone"
            )
        self.schedule = scheduler.CfnSchedule(
            self,
            "Schedule",
            description=f"the end of the endpoint {endpoint.endpoint_name}",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            schedule_expression=f"at({at})",
            schedule_expression_timezone="UTC",
            target=scheduler.CfnSchedule.TargetProperty(
                arn=f"arn:{stack.partition}:scheduler:::aws-sdk:sagemaker:deleteEndpoint",
                input=json.dumps({"EndpointName": endpoint.endpoint_name}),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=_RETRY_SECONDS, maximum_retry_attempts=185
                ),
                role_arn=self.role.role_arn,
            ),
        )
        self.schedule.node.add_dependency(self.role)
        self.node.default_child = self.schedule
