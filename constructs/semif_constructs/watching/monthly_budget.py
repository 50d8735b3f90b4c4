"""A budget for what carries a tag: somebody is told what it costs, nothing is stopped."""

from aws_cdk import Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

SPENT_PERCENT, FORECAST_PERCENT = 80, 100
"""Of the limit, at which somebody is told."""

_Budget = budgets.CfnBudget


class MonthlyBudget(Construct):
    """A monthly cost budget that tells a topic at 80 % spent, and when the forecast goes over it.

    Costs are known by the tag only from when its key is activated as a cost allocation tag, by hand and once,
    in the billing console of the management account, or of an account alone ("User-defined cost allocation
    tags", AWS Billing User Guide, read 2026-11-30, not seen). Until then the budget counts nothing.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        monthly_usd: float,
        tag_key: str,
        tag_value: str,
        topic: sns.ITopic,
    ) -> None:
        """Watch the costs of what carries the tag, in US dollars.

        `topic` is of the same account; its policy lets AWS Budgets publish from here on, where it is made in
        this app. An encrypted topic's key must let budgets.amazonaws.com in.
        """
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"],
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": f"arn:{stack.partition}:budgets::{stack.account}:*"},
                },
                principals=[iam.ServicePrincipal("budgets.amazonaws.com")],
                resources=[topic.topic_arn],
            )
        )
        subscriber = _Budget.SubscriberProperty(address=topic.topic_arn, subscription_type="SNS")
        self.budget = _Budget(
            self,
            "Budget",
            budget=_Budget.BudgetDataProperty(
                budget_limit=_Budget.SpendProperty(amount=monthly_usd, unit="USD"),
                budget_type="COST",
                # Without the prefix of user-defined tags it would match nothing, and say so nowhere.
                cost_filters={"TagKeyValue": [f"user:{tag_key}${tag_value}"]},
                time_unit="MONTHLY",
            ),
            notifications_with_subscribers=[
                _Budget.NotificationWithSubscribersProperty(
                    notification=_Budget.NotificationProperty(
                        comparison_operator="GREATER_THAN",
                        notification_type=kind,
                        threshold=percent,
                        threshold_type="PERCENTAGE",
                    ),
                    subscribers=[subscriber],
                )
                for kind, percent in (("ACTUAL", SPENT_PERCENT), ("FORECASTED", FORECAST_PERCENT))
            ],
        )
        self.budget.node.add_dependency(topic)  # and so on its policy, which AWS Budgets must find
        self.node.default_child = self.budget
