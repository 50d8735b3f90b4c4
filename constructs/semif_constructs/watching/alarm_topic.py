"""The SNS topic that alarms tell."""

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct


class AlarmTopic(Construct):
    """A topic that takes messages over TLS only, and from the alarms of one endpoint."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        encryption_key: kms.IKey | None = None,
        endpoint_name: str,
    ) -> None:
        """Make the topic for alarms whose names begin with `endpoint_name` and a hyphen.

        `encryption_key` encrypts what waits for delivery; its policy must let CloudWatch in, as that of the
        key that AWS manages does not. Messages name alarms and figures, and hold no user's text. There are no
        subscribers: who is told is for the people of the account to say.
        """
        super().__init__(scope, construct_id)
        self.topic = sns.Topic(self, "Topic", enforce_ssl=True, master_key=encryption_key)
        self.node.default_child = self.topic.node.default_child
        stack = Stack.of(self)
        alarms = stack.format_arn(
            service="cloudwatch",
            resource="alarm",
            resource_name=f"{endpoint_name}-*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"],
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": alarms},
                },
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                resources=[self.topic.topic_arn],
            )
        )
