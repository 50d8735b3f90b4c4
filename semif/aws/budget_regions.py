"""The regions whose CloudFormation can make a budget; AWS Budgets itself knows no regions."""

BUDGET_REGIONS = frozenset(
    (
        "ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "ca-central-1",
        "eu-central-1", "eu-west-1", "eu-west-2", "eu-west-3", "sa-east-1", "us-east-1", "us-east-2",
        "us-west-1", "us-west-2",
    )
)  # fmt: skip
"""Where CloudFormation has the type `AWS::Budgets::Budget`, by its registries as cfn-lint 1.58 carries them
(of 2026-10-20; read, not seen). Of other partitions none: their money is not US dollars, or not known to be.
"""


def budget_region_problem(region: str) -> str | None:
    """A line where CloudFormation has no `AWS::Budgets::Budget` in `region`, or not in US dollars."""
    if region in BUDGET_REGIONS:
        return None
    return (
        f"budget: CloudFormation makes none in US dollars in {region}, it does in "
        f"{', '.join(sorted(BUDGET_REGIONS))}; remove [budget], and make one by hand"
    )
